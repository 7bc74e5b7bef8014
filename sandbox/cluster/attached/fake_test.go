package attached

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

type object = map[string]any

// fakeAPI is as much of an API server as there must be to look at a cluster, to
// put things there and to take them off: kinds come and go with their
// definitions and take their objects along, and so do namespaces; an object with
// finalizers stays until they are gone.
type fakeAPI struct {
	mu      sync.Mutex
	version string
	denied  map[string]bool // "verb resource.group"
	objects map[string]object
	made    int // so far, for IDs
	now     time.Time
	deleted []string // paths, in order
	// before is called before each write, without the lock.
	before func(method, path string) error
	// finalize is what a reconciler of the cluster's own does with an object that
	// is deleted; may be nil.
	finalize func(path string, o object)
	// keeps are paths of namespaces that never end.
	keeps map[string]bool
	url   string
}

// builtin are the kinds that are always there.
var builtin = map[string][]resource{
	"v1": {{"namespaces", "Namespace", false}, {"nodes", "Node", false}, {"configmaps", "ConfigMap", true},
		{"secrets", "Secret", true}, {"serviceaccounts", "ServiceAccount", true}, {"events", "Event", true}},
	"apps/v1":                 {{"deployments", "Deployment", true}, {"statefulsets", "StatefulSet", true}},
	"apiextensions.k8s.io/v1": {{"customresourcedefinitions", "CustomResourceDefinition", false}},
}

type resource struct {
	name, kind string
	namespaced bool
}

func newFakeAPI(t *testing.T) *fakeAPI {
	f := &fakeAPI{
		version: "v1.34.1", denied: map[string]bool{}, objects: map[string]object{}, keeps: map[string]bool{},
		now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	f.url = server.URL
	for _, name := range []string{"kube-system", "default"} {
		f.put(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+name+"}")
	}
	f.put(t, "apiVersion: v1\nkind: Node\nmetadata: {name: one}\nstatus: {conditions: [{type: Ready, status: 'True'}]}")
	return f
}

// source writes a kubeconfig for the server.
func (f *fakeAPI) source(t *testing.T) Source {
	t.Helper()
	return Source{Files: []string{writeKubeconfig(t, t.TempDir(), f.url)}, Context: "mine"}
}

func writeKubeconfig(t *testing.T, dir, server string) string {
	t.Helper()
	file := filepath.Join(dir, "kubeconfig")
	config := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: other
contexts:
- {name: mine, context: {cluster: c, user: u, namespace: elsewhere}}
- {name: other, context: {cluster: c, user: u}}
clusters: [{name: c, cluster: {server: %q}}]
users: [{name: u, user: {token: secret}}]
`, server)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// put makes objects that somebody else has.
func (f *fakeAPI) put(t *testing.T, manifests string) {
	t.Helper()
	for m := range strings.SplitSeq(manifests, "\n---\n") {
		o := object{}
		if err := yaml.Unmarshal([]byte(m), &o); err != nil {
			t.Fatal(err)
		}
		f.mu.Lock()
		path := f.pathOf(o)
		if path == "" {
			t.Fatalf("no such kind: %v", o)
		}
		f.create(path, o)
		f.mu.Unlock()
	}
}

// change edits an object in place.
func (f *fakeAPI) change(t *testing.T, path string, edit func(object)) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.objects[path] == nil {
		t.Fatalf("no %s", path)
	}
	edit(f.objects[path])
}

// paths are all objects.
func (f *fakeAPI) paths() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.objects))
}

func (f *fakeAPI) kinds() map[string][]resource {
	all := maps.Clone(builtin)
	for _, o := range f.objects {
		if o["kind"] != "CustomResourceDefinition" {
			continue
		}
		group, _, _ := unstructured.NestedString(o, "spec", "group")
		names, _, _ := unstructured.NestedStringMap(object{"n": map[string]any{"plural": nested(o, "plural"), "kind": nested(o, "kind")}}, "n")
		for _, v := range served(&unstructured.Unstructured{Object: o}) {
			all[group+"/"+v] = append(all[group+"/"+v], resource{names["plural"], names["kind"], true})
		}
	}
	return all
}

func nested(o object, key string) any {
	s, _, _ := unstructured.NestedString(o, "spec", "names", key)
	return s
}

func (f *fakeAPI) pathOf(o object) string {
	u := &unstructured.Unstructured{Object: o}
	for _, r := range f.kinds()[u.GetAPIVersion()] {
		if r.kind == u.GetKind() {
			p := u.GetAPIVersion()
			if r.namespaced {
				p += "/namespaces/" + u.GetNamespace()
			}
			return p + "/" + r.name + "/" + u.GetName()
		}
	}
	return ""
}

func (f *fakeAPI) create(path string, o object) object {
	u := &unstructured.Unstructured{Object: o}
	f.made++
	u.SetUID(types.UID(fmt.Sprintf("uid-%d", f.made)))
	u.SetResourceVersion(fmt.Sprint(f.made))
	if created := u.GetCreationTimestamp(); created.IsZero() {
		_ = unstructured.SetNestedField(o, f.now.Format(time.RFC3339), "metadata", "creationTimestamp")
	}
	if u.GetKind() == "CustomResourceDefinition" {
		o["status"] = object{"conditions": []any{object{"type": "Established", "status": "True"}}}
	}
	f.objects[path] = o
	return o
}

func (f *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/apis/"), "/api/")
	if r.Method != http.MethodGet && f.before != nil && !strings.Contains(path, "selfsubject") {
		if err := f.before(r.Method, path); err != nil {
			fail(w, 500, "InternalError", err.Error())
			return
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	body := object{}
	if b, err := io.ReadAll(r.Body); err == nil && len(b) > 0 {
		_ = yaml.Unmarshal(b, &body)
	}
	if f.discover(w, r.URL.Path, path) {
		return
	}
	if strings.HasSuffix(path, "selfsubjectaccessreviews") {
		a := body["spec"].(object)["resourceAttributes"].(object)
		of := access{group: a["group"].(string), resource: a["resource"].(string)}
		if sub, ok := a["subresource"].(string); ok {
			of.resource += "/" + sub
		}
		name := fmt.Sprint(a["verb"], " ", of)
		body["status"] = object{"allowed": !f.denied[name]}
		reply(w, 201, body)
		return
	}
	switch r.Method {
	case http.MethodGet:
		f.read(w, path, r.URL.Query().Get("labelSelector"))
	case http.MethodPatch:
		f.patch(w, r, path, body)
	case http.MethodPut:
		f.update(w, path, body)
	case http.MethodDelete:
		f.remove(w, path, body)
	}
}

func (f *fakeAPI) discover(w http.ResponseWriter, full, path string) bool {
	kinds := f.kinds()
	switch {
	case full == "/version":
		reply(w, 200, object{"gitVersion": f.version})
	case full == "/api":
		reply(w, 200, object{"kind": "APIVersions", "versions": []string{"v1"}})
	case full == "/apis":
		groups := []any{}
		for _, gv := range slices.Sorted(maps.Keys(kinds)) {
			if group, version, ok := strings.Cut(gv, "/"); ok {
				v := object{"groupVersion": gv, "version": version}
				groups = append(groups, object{"name": group, "versions": []any{v}, "preferredVersion": v})
			}
		}
		reply(w, 200, object{"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
	case kinds[path] != nil:
		all := []any{}
		for _, k := range kinds[path] {
			all = append(all, object{"name": k.name, "kind": k.kind, "namespaced": k.namespaced, "verbs": []string{"get", "list", "patch", "delete", "create"}})
		}
		reply(w, 200, object{"kind": "APIResourceList", "groupVersion": path, "resources": all})
	default:
		return false
	}
	return true
}

// read answers with an object, or with all of a kind that have a label.
func (f *fakeAPI) read(w http.ResponseWriter, path, label string) {
	if o := f.objects[path]; o != nil {
		reply(w, 200, o)
		return
	}
	for gv, all := range f.kinds() {
		for _, k := range all {
			rest, ok := strings.CutPrefix(path, gv+"/")
			if !ok || rest != k.name && !strings.HasSuffix(rest, "/"+k.name) {
				continue
			}
			items := []any{}
			for _, p := range slices.Sorted(maps.Keys(f.objects)) {
				u := &unstructured.Unstructured{Object: f.objects[p]}
				if _, has := u.GetLabels()[label]; label != "" && !has {
					continue
				}
				if u.GetAPIVersion() == gv && u.GetKind() == k.kind && (rest == k.name || strings.HasPrefix(p, path+"/")) {
					items = append(items, f.objects[p])
				}
			}
			reply(w, 200, object{"kind": k.kind + "List", "apiVersion": gv, "items": items})
			return
		}
	}
	fail(w, 404, "NotFound", "there is no "+path)
}

// patch applies. It knows of one manager besides ours: whoever made an object
// that we did not make.
func (f *fakeAPI) patch(w http.ResponseWriter, r *http.Request, path string, body object) {
	there := f.objects[path]
	if there == nil {
		u := &unstructured.Unstructured{Object: body}
		if u.GetNamespace() != "" && f.objects["v1/namespaces/"+u.GetNamespace()] == nil {
			fail(w, 404, "NotFound", "there is no namespace "+u.GetNamespace())
			return
		}
		_ = unstructured.SetNestedSlice(body, []any{object{"manager": "kalypso"}}, "metadata", "managedFields")
		reply(w, 201, f.create(path, body))
		return
	}
	ours := len((&unstructured.Unstructured{Object: there}).GetManagedFields()) > 0
	if !ours && r.URL.Query().Get("force") != "true" {
		fail(w, 409, "Conflict", "another manager has it")
		return
	}
	merge(there, body)
	reply(w, 200, there)
}

func (f *fakeAPI) update(w http.ResponseWriter, path string, body object) {
	there := f.objects[path]
	if there == nil {
		fail(w, 404, "NotFound", "there is no "+path)
		return
	}
	version := func(o object) string { return (&unstructured.Unstructured{Object: o}).GetResourceVersion() }
	if version(there) != version(body) {
		fail(w, 409, "Conflict", "it has been changed")
		return
	}
	f.objects[path] = body
	f.reap(path)
	reply(w, 200, body)
}

func (f *fakeAPI) remove(w http.ResponseWriter, path string, options object) {
	there := f.objects[path]
	if there == nil {
		fail(w, 404, "NotFound", "there is no "+path)
		return
	}
	u := &unstructured.Unstructured{Object: there}
	if uid, given, _ := unstructured.NestedString(options, "preconditions", "uid"); given && uid != string(u.GetUID()) {
		fail(w, 409, "Conflict", "the IDs differ")
		return
	}
	f.deleted = append(f.deleted, path)
	_ = unstructured.SetNestedField(there, f.now.Format(time.RFC3339), "metadata", "deletionTimestamp")
	if f.finalize != nil {
		f.finalize(path, there)
	}
	f.reap(path)
	reply(w, 200, there)
}

// reap takes away an object that is deleted and not held, with all that is in
// it.
func (f *fakeAPI) reap(path string) {
	u := &unstructured.Unstructured{Object: f.objects[path]}
	if u.GetDeletionTimestamp() == nil || len(u.GetFinalizers()) > 0 {
		return
	}
	switch {
	case f.keeps[path]:
		_ = unstructured.SetNestedSlice(u.Object, []any{object{
			"type": "NamespaceContentRemaining", "status": "True", "message": "Some resources are remaining: pods. has 1 resource instances",
		}}, "status", "conditions")
		return
	case u.GetKind() == "Namespace":
		for p := range f.objects {
			if strings.Contains(p, "/namespaces/"+u.GetName()+"/") {
				delete(f.objects, p)
			}
		}
	case u.GetKind() == "CustomResourceDefinition":
		for p, o := range f.objects {
			if o["kind"] == nested(u.Object, "kind") {
				delete(f.objects, p)
			}
		}
	}
	delete(f.objects, path)
}

func merge(into, from object) {
	for k, v := range from {
		inner, ok := v.(object)
		if old, is := into[k].(object); ok && is {
			merge(old, inner)
			continue
		}
		into[k] = v
	}
}

func reply(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}

func fail(w http.ResponseWriter, code int, reason, message string) {
	reply(w, code, object{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message, "code": code})
}
