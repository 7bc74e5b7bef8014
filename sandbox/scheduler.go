package sandbox

import (
	"context"
	"encoding/json"
	"os"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/gitea"
	"github.com/kalypso-dev/kalypso/sandbox/loopback"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"sigs.k8s.io/yaml"
)

const (
	schedulerDeadline = 30 * time.Second
	schedulerHookPath = "/webhook"
	statusLimit       = 2 * time.Second
)

// schedulerUnit is the scheduler, run as anyone would run it: this program,
// with a configuration file. It is a child so that nothing that goes wrong in
// it can take the sandbox down.
func (w *world) schedulerUnit(needs ...string) supervisor.Unit {
	config := w.home.Path("scheduler", "config.yaml")
	p := &supervisor.Process{
		Name:     "scheduler",
		Env:      childEnvironment(w.home),
		Dir:      w.home.Path("scheduler"),
		Log:      w.home.Log("scheduler"),
		Registry: w.home.Path("children"),
	}
	p.Prepare = func(context.Context) error {
		program, err := os.Executable()
		if err != nil {
			return err
		}
		p.Path = program
		p.Argv = []string{"kalypso", "scheduler", "run", "--config", config}
		if err := checkPort("scheduler", w.state.Ports["scheduler"]); err != nil {
			return &supervisor.PermanentError{Err: err}
		}
		b, err := w.schedulerConfig()
		if err != nil {
			return err
		}
		return writeFile(config, b, 0o600)
	}
	p.Check = func(ctx context.Context) error {
		_, err := w.askScheduler(ctx, "/healthz")
		return err
	}
	return supervisor.Unit{Name: "scheduler", Title: "Kalypso scheduler", Needs: needs, Component: p, Deadline: schedulerDeadline, Log: p.Log}
}

func (w *world) schedulerConfig() ([]byte, error) {
	return yaml.Marshal(map[string]any{
		"forge": map[string]any{
			"type":      "gitea",
			"url":       w.state.ForgeURL(),
			"user":      w.state.Scheduler.User,
			"tokenFile": w.gitea.TokenFile(gitea.SchedulerToken),
		},
		"controlPlane": map[string]any{
			"repo":   w.state.OrgURL() + "/" + w.workshop.controlPlane,
			"branch": "main",
		},
		"listen":        w.state.address("scheduler"),
		"webhookSecret": w.state.WebhookSecret,
		// nothing here reads them, and anybody on the machine could
		"metrics": false,
	})
}

// schedulerStatus is the scheduler's own account, nil while it does not
// answer.
func (w *world) schedulerStatus(ctx context.Context) json.RawMessage {
	b, err := w.askScheduler(ctx, "/status")
	if err != nil || !json.Valid(b) {
		return nil
	}
	return b
}

func (w *world) askScheduler(ctx context.Context, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, statusLimit)
	defer cancel()
	return loopback.Get(ctx, "http://"+w.state.address("scheduler")+path, w.state.WebhookSecret)
}
