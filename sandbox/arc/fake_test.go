package arc

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	client "github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
	"sigs.k8s.io/yaml"
)

const (
	subscription = "00000000-0000-4000-8000-000000000001"
	group        = "kalypso-rg"
	token        = "t0ken"
)

// fakeAPI is as much of an API server as the emulator needs: it keeps objects
// by their path, and replaces what is applied. An object with a finalizer stays
// after its deletion.
type fakeAPI struct {
	mu      sync.Mutex
	objects map[string]map[string]any
}

var kinds = map[string]map[string]string{
	"v1":                             {"namespaces": "Namespace", "secrets": "Secret", "nodes": "Node"},
	"source.toolkit.fluxcd.io/v1":    {"gitrepositories": "GitRepository"},
	"kustomize.toolkit.fluxcd.io/v1": {"kustomizations": "Kustomization"},
}

func (f *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	path := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/apis/"), "/api/")
	if !f.discover(w, r.URL.Path, path) {
		f.object(w, r, path)
	}
}

func (f *fakeAPI) discover(w http.ResponseWriter, full, path string) bool {
	switch {
	case full == "/api":
		reply(w, 200, map[string]any{"kind": "APIVersions", "versions": []string{"v1"}})
	case full == "/apis":
		groups := []any{}
		for gv := range kinds {
			if name, version, ok := strings.Cut(gv, "/"); ok {
				v := map[string]any{"groupVersion": gv, "version": version}
				groups = append(groups, map[string]any{"name": name, "versions": []any{v}, "preferredVersion": v})
			}
		}
		reply(w, 200, map[string]any{"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
	case kinds[path] != nil:
		resources := []any{}
		for name, kind := range kinds[path] {
			resources = append(resources, map[string]any{"name": name, "kind": kind, "namespaced": kind != "Namespace" && kind != "Node", "verbs": []string{"get", "list", "patch", "delete", "create"}})
		}
		reply(w, 200, map[string]any{"kind": "APIResourceList", "groupVersion": path, "resources": resources})
	default:
		return false
	}
	return true
}

func (f *fakeAPI) object(w http.ResponseWriter, r *http.Request, path string) {
	change := map[string]any{}
	if b, err := io.ReadAll(r.Body); err == nil && len(b) > 0 {
		// applied objects come as JSON too
		_ = json.Unmarshal(b, &change)
	}
	there := f.objects[path]
	switch r.Method {
	case http.MethodGet:
		for gv, of := range kinds {
			for plural, kind := range of {
				if path == gv+"/"+plural {
					f.list(w, gv, plural, kind)
					return
				}
			}
		}
	case http.MethodPost:
		name := change["metadata"].(map[string]any)["name"].(string)
		path += "/" + name
		there = change
		f.objects[path] = there
	case http.MethodPatch:
		if r.Header.Get("Content-Type") == "application/apply-patch+yaml" {
			there = f.applied(path, there, change)
		} else if there != nil {
			merge(there, change)
			f.reap(path)
		}
	case http.MethodDelete:
		if there != nil {
			merge(there, map[string]any{"metadata": map[string]any{"deletionTimestamp": "2026-01-01T00:00:00Z"}})
			f.reap(path)
		}
	}
	if there == nil {
		reply(w, 404, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404})
		return
	}
	reply(w, 200, there)
}

func (f *fakeAPI) applied(path string, there, change map[string]any) map[string]any {
	if there != nil {
		if status := there["status"]; status != nil {
			change["status"] = status
		}
		meta := maps.Clone(there["metadata"].(map[string]any))
		maps.Copy(meta, change["metadata"].(map[string]any))
		change["metadata"] = meta
	}
	f.objects[path] = change
	return change
}

func (f *fakeAPI) reap(path string) {
	meta := f.objects[path]["metadata"].(map[string]any)
	if meta["deletionTimestamp"] != nil && meta["finalizers"] == nil {
		delete(f.objects, path)
	}
}

func (f *fakeAPI) list(w http.ResponseWriter, gv, plural, kind string) {
	items := []any{}
	for _, p := range slices.Sorted(maps.Keys(f.objects)) {
		if strings.HasPrefix(p, gv+"/") && strings.Contains(p, "/"+plural+"/") {
			items = append(items, f.objects[p])
		}
	}
	reply(w, 200, map[string]any{"kind": kind + "List", "apiVersion": gv, "items": items})
}

func reply(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}

// put places objects of a YAML stream on the cluster.
func (f *fakeAPI) put(t *testing.T, manifests string) {
	t.Helper()
	objects, err := cluster.Decode([]byte(manifests))
	if err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, o := range objects {
		for plural, kind := range kinds[o.GetAPIVersion()] {
			if kind != o.GetKind() {
				continue
			}
			path := o.GetAPIVersion() + "/" + plural + "/" + o.GetName()
			if o.GetNamespace() != "" {
				path = o.GetAPIVersion() + "/namespaces/" + o.GetNamespace() + "/" + plural + "/" + o.GetName()
			}
			f.objects[path] = o.Object
		}
	}
}

// change merges YAML into an object, as a controller or a user would.
func (f *fakeAPI) change(t *testing.T, path, text string) {
	t.Helper()
	var m map[string]any
	if err := yaml.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.objects[path] == nil {
		t.Fatalf("no %s, but %q", path, slices.Sorted(maps.Keys(f.objects)))
	}
	merge(f.objects[path], m)
	f.reap(path)
}

func (f *fakeAPI) names() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.objects))
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
	api      *fakeAPI
	crash    func() // of the API server
	clusters fakeClusters
	dir      string
	url      string
	arm      *client.Client
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	w := &fixture{api: &fakeAPI{objects: map[string]map[string]any{}}, dir: t.TempDir()}
	server := httptest.NewServer(w.api)
	t.Cleanup(server.Close)
	w.crash = func() {
		server.CloseClientConnections()
		server.Close()
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	config := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: %q}}]
users: [{name: u, user: {}}]
`, server.URL)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := cluster.NewClient(file, "")
	if err != nil {
		t.Fatal(err)
	}
	w.clusters = fakeClusters{names: []string{"drone"}, clients: map[string]*cluster.Client{"drone": c}}
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

// merge is RFC 7396.
func merge(into, from map[string]any) {
	for k, v := range from {
		inner, isMap := v.(map[string]any)
		old, wasMap := into[k].(map[string]any)
		switch {
		case v == nil:
			delete(into, k)
		case isMap && wasMap:
			merge(old, inner)
		default:
			into[k] = v
		}
	}
}
