package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/actions"
	"github.com/kalypso-dev/kalypso/sandbox/git"
	"github.com/kalypso-dev/kalypso/sandbox/loopback"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"sigs.k8s.io/yaml"
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
	config := w.home.Path("runner", "config.yaml")
	p := &supervisor.Process{
		Name:     "runner",
		Env:      childEnvironment(w.home),
		Dir:      w.home.Path("runner"),
		Log:      w.home.Log("runner"),
		Registry: w.home.Path("children"),
	}
	p.Prepare = func(ctx context.Context) error {
		program, err := os.Executable()
		if err != nil {
			return err
		}
		p.Path = program
		p.Argv = []string{"kalypso", "actions", "run", "--config", config}
		if err := w.state.portFree("runner"); err != nil {
			return err
		}
		b, err := w.runnerConfig(ctx, program)
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

func (w *world) runnerConfig(ctx context.Context, program string) ([]byte, error) {
	token, err := w.registrationToken(ctx)
	if err != nil {
		return nil, fmt.Errorf("registration token for the runner: %w", err)
	}
	return yaml.Marshal(actions.Config{
		URL:               w.state.ForgeURL(),
		Name:              "kalypso",
		Dir:               w.home.Path("runner"),
		Program:           program,
		RegistrationToken: token,
		Poll:              actions.Duration(runnerPoll),
		Listen:            w.state.address("runner"),
		WebhookSecret:     w.state.WebhookSecret,
		// what `kalypso ci` in a workflow asks about clusters, see its help
		Env: map[string]string{
			"KALYPSO_FORGE":            "gitea",
			"KALYPSO_ARM_ENDPOINT":     "http://" + w.state.address("arm"),
			"KALYPSO_ARM_SUBSCRIPTION": w.state.guid("subscription"),
			"KALYPSO_CI_KUBECONFIG":    w.home.Kubeconfig(),
			"KALYPSO_CI_PROGRAMS":      w.staged("samples")(),
			// the jobs' homes are thrown away
			"GOCACHE": w.home.Path("runner", "go-build"),
		},
		SecretEnv: map[string]string{"KALYPSO_ARM_TOKEN": w.state.armToken()},
	})
}

// registrationToken is by what the forge lets a new runner in. It is asked for
// at each start: whoever resets the forge resets its runners, too.
func (w *world) registrationToken(ctx context.Context) (string, error) {
	admin, err := os.ReadFile(w.gitea.TokenFile(git.AdminToken))
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
func (w *world) runnerHook() git.Hook {
	return git.Hook{
		URL:    "http://" + w.state.address("runner") + runnerHookPath,
		Secret: w.state.WebhookSecret,
		Events: []string{"push", "workflow_job"},
	}
}
