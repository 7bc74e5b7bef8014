package stack

import (
	"bytes"
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
	hubDeadline = 30 * time.Second
	// hubInterval is how often the hub asks for the clusters that are not watched.
	hubInterval = "5s"
	// hubWebhookPath is where the hub takes the forge's webhooks, and hubFluxPath below what it
	// takes the events of Flux.
	hubWebhookPath, hubFluxPath = "/hooks/forge", "/hooks/flux/"
)

// hubUnit is the hub, run as anyone would run it: this program, with a configuration file.
// It reads what is there: a cluster that is not up yet, or a scheduler, is waited for by
// nobody.
func (st *Stack) hubUnit(needs ...string) supervisor.Unit {
	p := st.configuredProcess(state.Hub, state.HubConfig, func(_ context.Context, config string) (path string, argv []string, content []byte, err error) {
		if path, err = os.Executable(); err == nil {
			content, err = st.hubConfig()
		}
		return path, []string{"kalypso", "hub", "run", "--config", config, "--sandbox", string(st.home)}, content, err
	})
	p.Check = func(ctx context.Context) error {
		return loopback.Answers(ctx, "http://"+st.state.Address(state.Hub)+"/healthz")
	}
	return supervisor.Unit{Name: p.Name, Title: "Kalypso hub", Needs: needs, Component: p, Deadline: hubDeadline, Log: p.Log}
}

// hubConfig writes the files that the hub's configuration names, and returns that.
func (st *Stack) hubConfig() ([]byte, error) {
	scheduler, err := st.schedulerConfig(st.state.HubUser.User, gitea.HubToken)
	if err != nil {
		return nil, err
	}
	if token, err := os.ReadFile(st.gitea.TokenFile(gitea.HubToken)); err == nil {
		st.hubToken.Store(new(string(token)))
	}
	files := map[string][]byte{state.HubScheduler: scheduler, "fleet-token": []byte(st.state.ArmToken())}
	for name, content := range files {
		if err := state.WriteFile(st.home.Path(state.Hub, name), content); err != nil {
			return nil, err
		}
	}
	return yaml.Marshal(map[string]any{
		"scheduler": map[string]any{"config": state.HubScheduler, "url": "http://" + st.state.Address("scheduler")},
		"listen":    st.state.Address(state.Hub),
		"store":     map[string]any{"sqlite": state.HubDatabase},
		"observe": []any{
			map[string]any{"kubeconfig": st.home.Kubeconfig()},
			map[string]any{"endpoint": map[string]any{"url": st.state.FleetURL(), "tokenFile": "fleet-token"}, "interval": hubInterval},
		},
		"chain": st.state.Spec().ControlPlane.Environments,
	})
}

// notifyHub hands a webhook that is signed on to the hub. What it misses it finds by polling.
func (st *Stack) notifyHub(header http.Header, body []byte) {
	r, err := http.NewRequest(http.MethodPost, "http://"+st.state.Address(state.Hub)+hubWebhookPath, bytes.NewReader(body))
	if err == nil {
		r.Header = header
		var response *http.Response
		if response, err = loopback.Client.Do(r); err == nil {
			err = response.Body.Close()
		}
	}
	if err != nil {
		st.log.Warn("webhook not handed to the hub", "reason", err)
	}
}
