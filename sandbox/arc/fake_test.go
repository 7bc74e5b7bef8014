package arc

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/testkit/kubefake"
	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	client "github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	subscription = "00000000-0000-4000-8000-000000000001"
	group        = "kalypso-rg"
	token        = "t0ken"
)

// fluxKinds are those of Flux that the emulator uses.
var fluxKinds = []schema.GroupVersionKind{
	{Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "GitRepository"},
	{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Kind: "Kustomization"},
}

type fakeClusters struct {
	names   []string
	clients map[string]*cluster.Client
}

func (c fakeClusters) Names() []string { return c.names }

func (c fakeClusters) Client(name string) (*cluster.Client, error) {
	if c.clients[name] == nil {
		return nil, ErrStopped
	}
	return c.clients[name], nil
}

// fixture is a fleet of one cluster, drone, with an emulator of it.
type fixture struct {
	api      *kubefake.API
	clusters fakeClusters
	dir      string
	url      string
	arm      *client.Client
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	w := &fixture{api: kubefake.New(t, fluxKinds...), dir: t.TempDir()}
	w.clusters = fakeClusters{names: []string{"drone"}, clients: map[string]*cluster.Client{"drone": w.api.Client(t)}}
	w.start(t)
	return w
}

// start makes a new emulator, as after a crash.
func (w *fixture) start(t *testing.T) {
	t.Helper()
	server := httptest.NewServer(New(Options{
		Subscription: subscription, Tenant: "tenant", ResourceGroup: group, Location: "eastus", Token: token,
		Clusters: w.clusters, Dir: w.dir, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}))
	t.Cleanup(server.Close)
	arm, err := client.Settings{Endpoint: server.URL, Token: token, Subscription: subscription}.Connect()
	if err != nil {
		t.Fatal(err)
	}
	w.url, w.arm = server.URL, arm
}

// request sends a raw request and returns the answer with its body.
func (w *fixture) request(t *testing.T, method, path, body string) (*http.Response, map[string]any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var out map[string]any
	b, err := io.ReadAll(response.Body)
	if err == nil && len(b) > 0 {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return response, out
}
