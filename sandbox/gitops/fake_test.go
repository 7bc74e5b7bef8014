package gitops

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
)

// fakeAPI is as much of an API server as these tests need: it keeps objects by
// their path, merges what is written into what is there, and establishes a
// kind as soon as it is defined.
type fakeAPI struct {
	mu      sync.Mutex
	objects map[string]map[string]any
	writes  []string
	// failAt makes the write of that number fail, counted from 1.
	failAt int
	// onWrite is called after each write with the path and the object.
	onWrite func(path string, object map[string]any)
}

func newFakeAPI(t *testing.T) (*fakeAPI, *cluster.Client) {
	t.Helper()
	api := &fakeAPI{objects: map[string]map[string]any{}}
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
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
	client, err := cluster.NewClient(file, "")
	if err != nil {
		t.Fatal(err)
	}
	return api, client
}

type served struct {
	Name       string   `json:"name"`
	Kind       string   `json:"kind"`
	Namespaced bool     `json:"namespaced"`
	Verbs      []string `json:"verbs"`
}

// discovery are the kinds by group version; those of Argo CD are there once
// they are defined.
func (f *fakeAPI) discovery() map[string][]served {
	verbs := []string{"get", "list", "patch"}
	all := map[string][]served{
		"v1":                      {{"namespaces", "Namespace", false, verbs}, {"configmaps", "ConfigMap", true, verbs}, {"secrets", "Secret", true, verbs}},
		"apiextensions.k8s.io/v1": {{"customresourcedefinitions", "CustomResourceDefinition", false, verbs}},
	}
	for _, o := range f.objects {
		if o["kind"] == "CustomResourceDefinition" {
			names := o["spec"].(map[string]any)["names"].(map[string]any)
			all["argoproj.io/v1alpha1"] = append(all["argoproj.io/v1alpha1"], served{names["plural"].(string), names["kind"].(string), true, verbs})
		}
	}
	return all
}

func (f *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	reply := func(code int, body any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(body)
	}
	path := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/apis/"), "/api/")
	kinds := f.discovery()
	switch {
	case r.URL.Path == "/api":
		reply(200, map[string]any{"kind": "APIVersions", "versions": []string{"v1"}})
	case r.URL.Path == "/apis":
		groups := []any{}
		for gv := range kinds {
			if group, version, ok := strings.Cut(gv, "/"); ok {
				v := map[string]any{"groupVersion": gv, "version": version}
				groups = append(groups, map[string]any{"name": group, "versions": []any{v}, "preferredVersion": v})
			}
		}
		reply(200, map[string]any{"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
	case kinds[path] != nil:
		reply(200, map[string]any{"kind": "APIResourceList", "groupVersion": path, "resources": kinds[path]})
	case r.Method == http.MethodPatch:
		f.write(path, r, reply)
	case f.objects[path] != nil:
		reply(200, f.objects[path])
	case strings.HasSuffix(path, "/applications"):
		items := []any{}
		for p, o := range f.objects {
			if strings.Contains(p, "/applications/") {
				items = append(items, o)
			}
		}
		reply(200, map[string]any{"kind": "ApplicationList", "apiVersion": "argoproj.io/v1alpha1", "items": items})
	default:
		reply(404, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404})
	}
}

func (f *fakeAPI) write(path string, r *http.Request, reply func(int, any)) {
	f.writes = append(f.writes, path)
	body, err := io.ReadAll(r.Body)
	var change map[string]any
	if err == nil {
		err = json.Unmarshal(body, &change)
	}
	if err != nil || len(f.writes) == f.failAt {
		reply(500, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "cut off", "code": 500})
		return
	}
	o := f.objects[path]
	if o == nil {
		o = map[string]any{}
		f.objects[path] = o
	}
	merge(o, change)
	if text, ok := o["stringData"].(map[string]any); ok {
		data := map[string]any{}
		for k, v := range text {
			data[k] = base64.StdEncoding.EncodeToString([]byte(v.(string)))
		}
		delete(o, "stringData")
		merge(o, map[string]any{"data": data})
	}
	if o["kind"] == "CustomResourceDefinition" {
		o["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Established", "status": "True"}}}
	}
	reply(200, o)
	if f.onWrite != nil {
		f.onWrite(path, o)
	}
}

func merge(into, from map[string]any) {
	for k, v := range from {
		inner, ok := v.(map[string]any)
		if old, is := into[k].(map[string]any); ok && is {
			merge(old, inner)
			continue
		}
		into[k] = v
	}
}

// at returns the object at a path, or fails the test.
func (f *fakeAPI) at(t *testing.T, path string) map[string]any {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.objects[path] == nil {
		var there []string
		for p := range f.objects {
			there = append(there, p)
		}
		slices.Sort(there)
		t.Fatalf("no %s, but %q", path, there)
	}
	return f.objects[path]
}

func (f *fakeAPI) put(path string, o map[string]any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.objects[path] = o
}
