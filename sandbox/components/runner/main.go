// Command runner runs the workflows of the sandbox's forge on this machine: it
// is a runner for Gitea's Actions that needs no container engine and no
// network. What a workflow means is the business of the library that Gitea's
// own runner is made of (github.com/nektos/act, as Gitea maintains it).
//
//	runner --config FILE   asks the forge for tasks; a task is one job of a run
//	runner job             is started for each task and runs it
//
// The process of a job is the subreaper of all that its steps start: whatever
// has detached itself from its step lives on for the next steps, and is killed
// when the job ends, is cancelled, or when the runner is gone, however it went.
// Where the runner is root on Linux, this process drops to a user of its own
// before it reads the workflow: it has no rights, and sees nothing of the sandbox
// but the job's own folder and what steps need. All jobs are the same user, and
// elsewhere the runner's: a job is kept from disturbing others by accident, not
// from malice.
//
// What the library leaves open is added here: secrets are hidden in logs, a
// cancelled job still runs its steps with if: always() or cancelled(), a job has
// a time limit, actions/checkout is served without its code, and a variable
// that is named after an environment is seen by that environment's jobs only.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	var err error
	switch {
	case len(os.Args) == 3 && os.Args[1] == "--config":
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		var c config
		if c, err = loadConfig(os.Args[2]); err == nil {
			err = newRunner(c, log).serve(ctx)
		}
	case len(os.Args) == 2 && os.Args[1] == "job":
		err = runJob(os.Stdin, log)
	default:
		err = errors.New("usage: runner --config FILE")
	}
	if err != nil {
		log.Error("the runner ends", "error", err)
		os.Exit(1)
	}
}

// config is what the sandbox starts the runner with.
type config struct {
	URL string `json:"url"` // the forge's root
	// Dir holds the runner's identity, the records of its tasks and the folders
	// of their jobs. It stays from one start to the next.
	Dir               string `json:"dir"`
	RegistrationToken string `json:"registrationToken"`
	Program           string `json:"program"` // the kalypso that jobs find first in their PATH
	// User is the ID of the user and of the group that jobs run as, 0 for those of
	// the runner. Such a user sees nothing below folders that are closed to others
	// but Program, the job's own folder, and these: folders that are made its own,
	// and files and folders that it may read.
	User     int      `json:"user"`
	Writable []string `json:"writable"`
	Visible  []string `json:"visible"`
	// Env is added to the environment of every job, and so is SecretEnv, whose
	// values are hidden in logs like the forge's own secrets.
	Env       map[string]string `json:"env"`
	SecretEnv map[string]string `json:"secretEnv"`
	// Poll is the pause between two requests for work; POST /wake shortens it.
	Poll   time.Duration `json:"poll"`
	Listen string        `json:"listen"`
	Secret string        `json:"secret"` // of those who may wake the runner and ask for its status
}

func loadConfig(file string) (c config, err error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return c, err
	}
	decoder := json.NewDecoder(bytes.NewReader(b))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&c); err != nil {
		return c, fmt.Errorf("%s: %w", file, err)
	}
	return c, nil
}

const (
	runnerName = "kalypso"
	capacity   = 4 // jobs at once
)

// labels are what a job can name in runs-on to run here: those of GitHub's own
// machines, and those that each self-hosted runner has, in two spellings, since
// GitHub does not look at the case and Gitea does.
func labels(system, arch string) []string {
	names := map[string]string{"linux": "Linux", "darwin": "macOS", "amd64": "X64", "arm64": "ARM64"}
	system, arch = names[system], names[arch]
	return []string{
		"ubuntu-latest", "ubuntu-24.04", "ubuntu-22.04", "self-hosted", "host",
		system, strings.ToLower(system), arch, strings.ToLower(arch),
	}
}
