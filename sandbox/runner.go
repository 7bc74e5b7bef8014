package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/gitea"
	"github.com/kalypso-dev/kalypso/sandbox/loopback"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

const (
	runnerDeadline = 30 * time.Second
	runnerHookPath = "/webhook"
	// runnerPoll finds what a lost webhook would have told, and work in
	// repositories that are not the organisation's.
	runnerPoll = 3 * time.Second
)

// runnerUnit runs the forge's workflows, as a child so that whatever a job
// does to it stays there. It needs the forge with its accounts.
func (w *world) runnerUnit(needs ...string) supervisor.Unit {
	config := w.home.Path("runner", "config.json")
	p := &supervisor.Process{
		Name:     "runner",
		Env:      childEnvironment(w.home),
		Dir:      w.home.Path("runner"),
		Log:      w.home.Log("runner"),
		Registry: w.home.Path("children"),
	}
	p.Prepare = func(ctx context.Context) error {
		p.Path = filepath.Join(w.staged("runner")(), "runner")
		p.Argv = []string{"runner", "--config", config}
		if err := w.state.portFree("runner"); err != nil {
			return err
		}
		b, err := w.runnerConfig(ctx)
		if err != nil {
			return err
		}
		return writeFile(config, b, 0o600)
	}
	p.Check = func(ctx context.Context) error {
		return loopback.Answers(ctx, "http://"+w.state.address("runner")+"/healthz")
	}
	return supervisor.Unit{Name: "runner", Title: "runner of workflows", Needs: needs, Component: p, Deadline: runnerDeadline, Log: p.Log}
}

// runnerConfig is the configuration of the component, see sandbox/components/runner.
func (w *world) runnerConfig(ctx context.Context) ([]byte, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	token, err := w.registrationToken(ctx)
	if err != nil {
		return nil, fmt.Errorf("registration token for the runner: %w", err)
	}
	return json.Marshal(map[string]any{
		"url":               w.state.ForgeURL(),
		"dir":               w.home.Path("runner"),
		"program":           program,
		"registrationToken": token,
		"poll":              runnerPoll,
		"listen":            w.state.address("runner"),
		"webhookSecret":     w.state.WebhookSecret,
		// what `kalypso ci` in a workflow asks about clusters, see its help
		"env": map[string]string{
			"KALYPSO_FORGE":            "gitea",
			"KALYPSO_ARM_ENDPOINT":     "http://" + w.state.address("arm"),
			"KALYPSO_ARM_SUBSCRIPTION": w.state.guid("subscription"),
			"KALYPSO_CI_KUBECONFIG":    w.home.Kubeconfig(),
			"KALYPSO_CI_PROGRAMS":      w.staged("samples")(),
			// the jobs' homes are thrown away
			"GOCACHE": w.home.Path("runner", "go-build"),
		},
		"secretEnv": map[string]string{"KALYPSO_ARM_TOKEN": w.state.armToken()},
	})
}

// scopedVariable is the name under which the forge keeps a variable of one
// environment: Gitea has no environments of its own, and its names have
// upper-case letters, digits and underscores only. The runner shows the variable
// to the jobs of that environment, under its plain name.
func scopedVariable(environment, name string) string {
	plain := strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToUpper(environment))
	return "ENV__" + plain + "__" + strings.ToUpper(name)
}

// registrationToken is by what the forge lets a new runner in. It is asked for
// at each start: whoever resets the forge resets its runners, too.
func (w *world) registrationToken(ctx context.Context) (string, error) {
	admin, err := os.ReadFile(w.gitea.TokenFile(gitea.AdminToken))
	if err != nil {
		return "", err
	}
	url := w.state.ForgeURL() + "/api/v1/admin/actions/runners/registration-token"
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	if err != nil {
		return "", err
	}
	request.Header.Set("Authorization", "token "+strings.TrimSpace(string(admin)))
	response, err := loopback.Client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	var answer struct {
		Token string `json:"token"`
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s answers %s", url, response.Status)
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return "", err
	}
	return answer.Token, nil
}

// runnerHook tells the runner of jobs that wait, so that none waits for a poll,
// and of pushes: they are told a third of a second before their jobs.
func (w *world) runnerHook() gitea.Hook {
	return gitea.Hook{
		URL:    "http://" + w.state.address("runner") + runnerHookPath,
		Secret: w.state.WebhookSecret,
		Events: []string{"push", "workflow_job"},
	}
}
