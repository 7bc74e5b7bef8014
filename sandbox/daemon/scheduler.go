package daemon

import (
	"context"
	"os"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/gitea"
	"github.com/kalypso-dev/kalypso/sandbox/loopback"
	"github.com/kalypso-dev/kalypso/sandbox/state"
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
func (st *Stack) schedulerUnit(needs ...string) supervisor.Unit {
	config := st.home.Path("scheduler", "config.yaml")
	p := &supervisor.Process{
		Name:     "scheduler",
		Env:      childEnvironment(st.home),
		Dir:      st.home.Path("scheduler"),
		Log:      st.home.Log("scheduler"),
		Registry: st.home.Children(),
	}
	p.Prepare = func(context.Context) error {
		program, err := os.Executable()
		if err != nil {
			return err
		}
		p.Path = program
		p.Argv = []string{"kalypso", "scheduler", "run", "--config", config}
		if err := st.state.PortFree("scheduler"); err != nil {
			return err
		}
		b, err := st.schedulerConfig()
		if err != nil {
			return err
		}
		return state.WriteFile(config, b)
	}
	p.Check = func(ctx context.Context) error {
		_, err := st.askScheduler(ctx, "/healthz")
		return err
	}
	return supervisor.Unit{Name: "scheduler", Title: "Kalypso scheduler", Needs: needs, Component: p, Deadline: schedulerDeadline, Log: p.Log}
}

func (st *Stack) schedulerConfig() ([]byte, error) {
	return yaml.Marshal(map[string]any{
		"forge": map[string]any{
			"type":      "gitea",
			"url":       st.state.ForgeURL(),
			"user":      st.state.Scheduler.User,
			"tokenFile": st.gitea.TokenFile(gitea.SchedulerToken),
		},
		"controlPlane": map[string]any{
			"repo":   st.state.OrgURL() + "/" + st.state.Spec().ControlPlane,
			"branch": "main",
		},
		"listen":        st.state.Address("scheduler"),
		"webhookSecret": st.state.WebhookSecret,
		// nothing here reads them, and anybody on the machine could
		"metrics": false,
	})
}

func (st *Stack) askScheduler(ctx context.Context, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, statusLimit)
	defer cancel()
	return loopback.Get(ctx, "http://"+st.state.Address("scheduler")+path, st.state.WebhookSecret)
}
