package stack

import (
	"context"
	"net/http"
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
	// rolloutInterval is how often the clusters are asked while a rollout waits for them.
	rolloutInterval = "3s"
	statusLimit     = 2 * time.Second
)

// schedulerUnit is the scheduler, run as anyone would run it: this program,
// with a configuration file. It is a child so that nothing that goes wrong in
// it can take the sandbox down.
func (st *Stack) schedulerUnit(needs ...string) supervisor.Unit {
	p := st.configuredProcess("scheduler", "config.yaml", func(_ context.Context, config string) (path string, argv []string, content []byte, err error) {
		if path, err = os.Executable(); err == nil {
			content, err = st.schedulerConfig(st.state.Scheduler.User, gitea.SchedulerToken)
		}
		if token, readErr := os.ReadFile(st.gitea.TokenFile(gitea.SchedulerToken)); readErr == nil {
			st.schedulerToken.Store(new(string(token)))
		}
		return path, []string{"kalypso", "scheduler", "run", "--config", config}, content, err
	})
	p.Check = func(ctx context.Context) error {
		_, err := st.askScheduler(ctx, "/healthz")
		return err
	}
	return supervisor.Unit{Name: p.Name, Title: "Kalypso scheduler", Needs: needs, Component: p, Deadline: schedulerDeadline, Log: p.Log}
}

// configuredProcess is a child with a port and a folder of its name, and in that
// folder a configuration file, which is written before each start with the
// content that command returns.
func (st *Stack) configuredProcess(name, file string, command func(ctx context.Context, config string) (path string, argv []string, content []byte, err error)) *supervisor.Process {
	config := st.home.Path(name, file)
	p := st.host.Process(name, st.home.Path(name))
	p.Prepare = func(ctx context.Context) error {
		if err := st.state.PortFree(name); err != nil {
			return err
		}
		path, argv, content, err := command(ctx, config)
		if err != nil {
			return err
		}
		p.Path, p.Argv = path, argv
		return state.WriteFile(config, content)
	}
	return p
}

// schedulerConfig is the configuration of a scheduler that uses the forge with an account.
func (st *Stack) schedulerConfig(user, token string) ([]byte, error) {
	fleetToken := st.home.Path("scheduler", "fleet-token")
	if err := state.WriteFile(fleetToken, []byte(st.state.ArmToken())); err != nil {
		return nil, err
	}
	return yaml.Marshal(map[string]any{
		"forge": map[string]any{
			"type":      "gitea",
			"url":       st.state.ForgeURL(),
			"user":      user,
			"tokenFile": st.gitea.TokenFile(token),
		},
		"controlPlane": map[string]any{
			"repo":   st.state.OrgURL() + "/" + st.state.Spec().ControlPlane.Repository,
			"branch": st.state.Spec().DefaultBranch(st.state.Spec().ControlPlane.Repository),
		},
		"addresses": st.state.Addresses(),
		// applications may be there; what is on this machine is on the forge
		"allowedHosts": []string{"github.com"},
		"listen":       st.state.Address("scheduler"),
		// what rollouts wait for
		"observe": []any{
			map[string]any{"kubeconfig": st.home.Kubeconfig(), "interval": rolloutInterval},
			map[string]any{"endpoint": map[string]any{"url": st.state.FleetURL(), "tokenFile": fleetToken}},
		},
		"webhookSecret": st.state.WebhookSecret,
		// nothing here reads them, and anybody on the machine could
		"metrics": false,
	})
}

func (st *Stack) askScheduler(ctx context.Context, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, statusLimit)
	defer cancel()
	return loopback.Call(ctx, http.MethodGet, "http://"+st.state.Address("scheduler")+path, st.state.WebhookSecret)
}
