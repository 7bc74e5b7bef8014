package kind

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

// answerLimit is how long an engine may take for a question that it answers in
// milliseconds. One that takes longer hangs.
var answerLimit = 2 * time.Second

// Engine is a container engine: the program that talks to it, and what of the
// environment leads the program to it. It is kept with the sandbox, so
// that its containers are found again from a shell with other settings.
type Engine struct {
	Program     string            `json:"program"`               // docker, podman or nerdctl
	Environment map[string]string `json:"environment,omitempty"` // those of engineVariables that were set
}

var programs = []string{"docker", "podman", "nerdctl"}

// engineVariables are all that the programs look at to find their engine.
var engineVariables = []string{
	"DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH",
	"CONTAINER_HOST", "CONTAINER_CONNECTION", "CONTAINERD_ADDRESS",
	"KIND_EXPERIMENTAL_DOCKER_NETWORK",
}

// chooser is kind's own variable for the choice among the programs.
const chooser = "KIND_EXPERIMENTAL_PROVIDER"

// FindEngine chooses the engine as kind does: the one that the variable
// KIND_EXPERIMENTAL_PROVIDER names, or the first program that is installed. It
// does not connect to the engine. The error names what to install.
func FindEngine() (Engine, error) {
	e := Engine{Program: os.Getenv(chooser), Environment: map[string]string{}}
	switch {
	case e.Program == "":
		i := slices.IndexFunc(programs, func(p string) bool {
			_, err := exec.LookPath(p)
			return err == nil
		})
		if i < 0 {
			return Engine{}, errors.New("no container engine: neither docker nor podman nor nerdctl is installed; kind clusters need one, and without --provider kind none is needed")
		}
		e.Program = programs[i]
	case !slices.Contains(programs, e.Program):
		return Engine{}, fmt.Errorf("%s=%s: choose one of %s", chooser, e.Program, strings.Join(programs, ", "))
	}
	for _, name := range engineVariables {
		if value, ok := os.LookupEnv(name); ok {
			e.Environment[name] = value
		}
	}
	return e, nil
}

// Use makes this process talk to the engine, also through kind, which takes
// where it is from the environment.
func (e Engine) Use() error {
	for _, name := range engineVariables {
		value, ok := e.Environment[name]
		var err error
		if ok {
			err = os.Setenv(name, value)
		} else {
			err = os.Unsetenv(name)
		}
		if err != nil {
			return err
		}
	}
	return os.Setenv(chooser, e.Program)
}

// HangsError is about an engine that does not answer.
type HangsError struct {
	Program string
	Limit   time.Duration
}

func (e *HangsError) Error() string {
	return fmt.Sprintf("%s hangs: no answer within %s", e.Program, e.Limit)
}

// Answers returns nil when the engine answers.
func (e Engine) Answers(ctx context.Context) error {
	_, err := e.quick(ctx, "version", "--format", "{{.Client.Version}} {{.Server.Version}}")
	if err != nil && e.Program == "podman" {
		// a podman without a service has no server version
		_, err = e.quick(ctx, "info", "--format", "{{.Host.OS}}")
	}
	return err
}

// quick runs a command that an engine answers at once.
func (e Engine) quick(ctx context.Context, args ...string) (string, error) {
	short, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	out, err := e.run(short, args...)
	if short.Err() != nil && ctx.Err() == nil {
		return "", &HangsError{e.Program, answerLimit}
	}
	return out, err
}

// run runs a command of the engine's program and returns what it prints. The
// error is in the program's own words.
func (e Engine) run(ctx context.Context, args ...string) (string, error) {
	cmd := e.command(ctx, args...)
	var out, wrong bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &wrong
	if err := cmd.Run(); err != nil {
		if text := strings.TrimSpace(wrong.String()); text != "" && ctx.Err() == nil {
			err = errors.New(text)
		}
		return "", fmt.Errorf("%s %s: %w", e.Program, args[0], err)
	}
	return strings.TrimSpace(out.String()), nil
}

// command is a command that ends with ctx, and does not wait for what it may
// have started itself.
func (e Engine) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, e.Program, args...)
	cmd.WaitDelay = time.Second
	return cmd
}

const (
	// BuiltImage is what `make kind-node-image` builds.
	BuiltImage = "kalypso/kind-node:v1.36.4"
	// PublishedImage is kind's own for the minor version that kalypso packs, as
	// the release notes of kind v0.33.0 name it
	// (github.com/kubernetes-sigs/kind/releases/tag/v0.33.0).
	PublishedImage = "kindest/node:v1.36.4@sha256:099e049362a1526b2db71494e1947aae99bd16290d7c895f2b7ea312e3cbfaed"
)

// NoImageError is about a node image that is not there and cannot be pulled.
type NoImageError struct {
	Engine Engine
	Image  string
	Err    error // of pulling it
}

func (e *NoImageError) Error() string {
	return fmt.Sprintf("the engine has no image %s for the clusters' nodes, and pulling it failed (%v): run `%s pull %s` where there is a network, or build one without a registry by `make kind-node-image`",
		e.Image, e.Err, e.Engine.Program, e.Image)
}

func (e *NoImageError) Unwrap() error { return e.Err }

// EnsureImage returns the image for nodes: the one that is wanted; when none
// is, the one built here, if there is one, and the published one otherwise. It
// pulls what the engine does not have, with its progress to report. The error
// is a *NoImageError, or about the engine.
func (e Engine) EnsureImage(ctx context.Context, wanted string, report func(string)) (string, error) {
	choice := []string{wanted}
	if wanted == "" {
		choice = []string{BuiltImage, PublishedImage}
	}
	for _, image := range choice {
		has, err := e.HasImage(ctx, image)
		if has || err != nil {
			return image, err
		}
	}
	image := choice[len(choice)-1]
	report("pulling " + image)
	if err := e.pull(ctx, image, report); err != nil {
		return "", &NoImageError{e, image, err}
	}
	return image, nil
}

// HasImage reports whether the engine has an image.
func (e Engine) HasImage(ctx context.Context, image string) (bool, error) {
	_, err := e.quick(ctx, "image", "inspect", "--format", "{{.Id}}", image)
	var hangs *HangsError
	if err == nil || errors.As(err, &hangs) {
		return err == nil, err
	}
	// the message for a missing image differs from engine to engine
	if answers := e.Answers(ctx); answers != nil {
		return false, answers
	}
	return false, nil
}

func (e Engine) pull(ctx context.Context, image string, report func(string)) error {
	cmd := e.command(ctx, "pull", image)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	var wrong strings.Builder
	cmd.Stderr = &wrong
	if err := supervisor.StartCommand(cmd); err != nil {
		return err
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		report(lines.Text())
	}
	if err := cmd.Wait(); err != nil {
		if text := lastLine(wrong.String()); text != "" {
			return fmt.Errorf("%s", text)
		}
		return err
	}
	return nil
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}
