// Package kubefake is a Kubernetes API server in memory, over HTTP: with it, what
// reads and writes a cluster is tested through the client that it really uses.
// Server-side apply and its conflicts are those of Kubernetes' own library.
package kubefake

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
)

// Object is one of the cluster's, as JSON.
type Object = map[string]any

// API is the server. Objects are named by paths such as
// "v1/namespaces/default/configmaps/settings". Kinds and namespaces take their
// objects along when they go; an object with finalizers stays until these are gone.
type API struct {
	*httptest.Server
	Version string
	Denied  map[string]bool // "verb resource.group" that the user may not
	// Before is called ahead of each write; its error is the answer.
	Before func(method, path string) error
	// Written is called after each apply and patch, and may change the object.
	Written func(path string, o Object)
	// Finalize is what a controller does with an object that is being deleted.
	Finalize func(path string, o Object)
	Keeps    map[string]bool // namespaces that do not end
	Writes   []string        // paths of all applies and patches, in order
	Deleted  []string        // paths, in order

	mu      sync.Mutex
	woken   chan struct{} // closed by the next change
	kinds   []schema.GroupVersionKind
	objects map[string]*unstructured.Unstructured
	made    int
}

var (
	builtin = []schema.GroupVersionKind{
		{Version: "v1", Kind: "Namespace"}, {Version: "v1", Kind: "Node"}, {Version: "v1", Kind: "ConfigMap"},
		{Version: "v1", Kind: "Secret"}, {Version: "v1", Kind: "ServiceAccount"}, {Version: "v1", Kind: "Event"},
		{Group: "apps", Version: "v1", Kind: "Deployment"}, {Group: "apps", Version: "v1", Kind: "StatefulSet"},
		{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
	}
	clusterWide = []string{"Namespace", "Node", "CustomResourceDefinition"}
	// now is the time at which all objects are made.
	now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
)

// New starts a server of an empty cluster. It has kinds beside the built-in ones,
// and those that are defined on it.
func New(t testing.TB, kinds ...schema.GroupVersionKind) *API {
	t.Helper()
	a := &API{
		Version: "v1.34.1", Denied: map[string]bool{}, Keeps: map[string]bool{},
		kinds: slices.Concat(builtin, kinds), objects: map[string]*unstructured.Unstructured{}, woken: make(chan struct{}),
	}
	a.Server = httptest.NewServer(a)
	t.Cleanup(a.Close)
	return a
}

// Client connects to the server.
func (a *API) Client(t testing.TB) *cluster.Client {
	t.Helper()
	c, err := cluster.ForConfig(&rest.Config{Host: a.URL})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Put makes objects of a YAML stream, or replaces them, as another user would.
func (a *API) Put(t testing.TB, manifests string) {
	t.Helper()
	all, err := cluster.Decode([]byte(manifests))
	if err != nil {
		t.Fatal(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, o := range all {
		kind := o.GroupVersionKind()
		if !slices.Contains(a.served(), kind) {
			t.Fatalf("no such kind: %v", o.Object)
		}
		if err := a.store(pathOf(kind, o.GetNamespace(), o.GetName()), o, "other"); err != nil {
			t.Fatal(err)
		}
	}
}

// Get returns an object.
func (a *API) Get(t testing.TB, path string) (o Object) {
	t.Helper()
	a.Change(t, path, func(there Object) { o = runtime.DeepCopyJSON(there) })
	return o
}

// Change edits an object, as a controller or another user would.
func (a *API) Change(t testing.TB, path string, edit func(Object)) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.objects[path] == nil {
		t.Fatalf("no %s, but %q", path, slices.Sorted(maps.Keys(a.objects)))
	}
	edit(a.objects[path].Object)
	a.reap(path)
}

// Merge is [API.Change] by a merge patch in YAML.
func (a *API) Merge(t testing.TB, path, patch string) {
	t.Helper()
	b, err := yaml.YAMLToJSON([]byte(patch))
	if err != nil {
		t.Fatal(err)
	}
	a.Change(t, path, func(o Object) {
		merged, err := merge(o, b)
		if err != nil {
			t.Fatal(err)
		}
		clear(o)
		maps.Copy(o, merged)
	})
}

// Drop removes an object at once, whatever its finalizers.
func (a *API) Drop(path string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.objects, path)
	a.wake()
}

// Paths are those of all objects, sorted.
func (a *API) Paths() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Sorted(maps.Keys(a.objects))
}

// served are the kinds that there are at the moment.
func (a *API) served() []schema.GroupVersionKind {
	all := slices.Clone(a.kinds)
	for _, o := range a.objects {
		group, kind := defined(o)
		versions, _, _ := unstructured.NestedSlice(o.Object, "spec", "versions")
		for _, v := range versions {
			if m := v.(Object); kind != "" && m["served"] == true {
				all = append(all, schema.GroupVersionKind{Group: group, Version: m["name"].(string), Kind: kind})
			}
		}
	}
	return all
}

// defined is the kind that an object defines, "" for one that defines none.
func defined(o *unstructured.Unstructured) (group, kind string) {
	if o.GetKind() != "CustomResourceDefinition" {
		return "", ""
	}
	group, _, _ = unstructured.NestedString(o.Object, "spec", "group")
	kind, _, _ = unstructured.NestedString(o.Object, "spec", "names", "kind")
	return group, kind
}

func pathOf(kind schema.GroupVersionKind, namespace, name string) string {
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	if namespace != "" {
		namespace = "namespaces/" + namespace
	}
	return path.Join(kind.GroupVersion().String(), namespace, resource.Resource, name)
}

// store writes an object as its manager has it now.
func (a *API) store(path string, o *unstructured.Unstructured, manager string) error {
	live := a.live(path, o)
	m, err := fieldManager(o.GroupVersionKind())
	if err != nil {
		return err
	}
	made, err := m.Update(live, o, manager)
	if err != nil {
		return err
	}
	a.keep(path, made)
	return nil
}

// live is what there is for an object, without content for a new one.
func (a *API) live(path string, o *unstructured.Unstructured) *unstructured.Unstructured {
	if there := a.objects[path]; there != nil {
		return there.DeepCopy()
	}
	empty := &unstructured.Unstructured{Object: Object{}}
	empty.SetGroupVersionKind(o.GroupVersionKind())
	return empty
}

// keep does with an object what an API server does with what is written.
func (a *API) keep(path string, object runtime.Object) {
	o := object.(*unstructured.Unstructured)
	a.made++
	o.SetResourceVersion(fmt.Sprint(a.made))
	if o.GetUID() == "" {
		o.SetUID(types.UID(fmt.Sprintf("uid-%d", a.made)))
	}
	if created := o.GetCreationTimestamp(); created.IsZero() {
		o.SetCreationTimestamp(metav1.NewTime(now))
	}
	if o.GetKind() == "CustomResourceDefinition" {
		o.Object["status"] = Object{"conditions": []any{Object{"type": "Established", "status": "True"}}}
	}
	text, _, _ := unstructured.NestedStringMap(o.Object, "stringData")
	for k, v := range text {
		_ = unstructured.SetNestedField(o.Object, base64.StdEncoding.EncodeToString([]byte(v)), "data", k)
	}
	delete(o.Object, "stringData")
	a.objects[path] = o
	a.reap(path)
}

// reap removes an object that is deleted and has no finalizers, with all in it.
func (a *API) reap(path string) {
	defer a.wake()
	o := a.objects[path]
	group, kind := defined(o)
	switch {
	case o.GetDeletionTimestamp() == nil || len(o.GetFinalizers()) > 0:
		return
	case a.Keeps[path]:
		o.Object["status"] = Object{"conditions": []any{Object{
			"type": "NamespaceContentRemaining", "status": "True", "message": "Some resources are remaining: pods. has 1 resource instances",
		}}}
		return
	}
	maps.DeleteFunc(a.objects, func(p string, other *unstructured.Unstructured) bool {
		return p == path || o.GetKind() == "Namespace" && other.GetNamespace() == o.GetName() ||
			kind != "" && other.GroupVersionKind().GroupKind() == schema.GroupKind{Group: group, Kind: kind}
	})
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/apis/"), "/api/")
	review := strings.HasSuffix(path, "selfsubjectaccessreviews")
	if r.Method != http.MethodGet && a.Before != nil && !review {
		if err := a.Before(r.Method, path); err != nil {
			answer(w, nil, apierrors.NewInternalError(err))
			return
		}
	}
	if r.Method == http.MethodGet && r.URL.Query().Has("watch") {
		a.watch(w, r, path)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	var o any
	switch {
	case err != nil:
	case review:
		o, err = a.review(body)
	case r.Method == http.MethodGet:
		o, err = a.read(r, path)
	case r.Method == http.MethodPatch:
		o, err = a.patch(r, path, body)
	case r.Method == http.MethodPut:
		o, err = a.update(path, body)
	case r.Method == http.MethodDelete:
		o, err = a.delete(path, body)
	default:
		err = fmt.Errorf("%s %s is not faked", r.Method, path)
	}
	answer(w, o, err)
}

func answer(w http.ResponseWriter, o any, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		var status *apierrors.StatusError
		if !errors.As(err, &status) {
			status = apierrors.NewInternalError(err)
		}
		status.ErrStatus.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
		w.WriteHeader(int(status.ErrStatus.Code))
		o = status.ErrStatus
	}
	_ = json.NewEncoder(w).Encode(o)
}

// review answers whether the user may do something.
func (a *API) review(body []byte) (any, error) {
	var review struct {
		Spec struct {
			ResourceAttributes struct{ Verb, Group, Resource, Subresource string }
		}
	}
	if err := json.Unmarshal(body, &review); err != nil {
		return nil, err
	}
	of := review.Spec.ResourceAttributes
	what := strings.TrimSuffix(of.Verb+" "+of.Resource+"."+of.Group, ".")
	if of.Subresource != "" {
		what += "/" + of.Subresource
	}
	return Object{"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "status": Object{"allowed": !a.Denied[what]}}, nil
}

// read answers with an object, with those of a kind, or with the kinds.
func (a *API) read(r *http.Request, path string) (any, error) {
	if o := a.objects[path]; o != nil {
		return o.Object, nil
	}
	groups, resources := metav1.APIGroupList{}, metav1.APIResourceList{GroupVersion: path}
	for _, kind := range a.served() {
		gv := kind.GroupVersion()
		resource, _ := meta.UnsafeGuessKindToResource(kind)
		if rest, ok := strings.CutPrefix(path, gv.String()+"/"); ok && (rest == resource.Resource || strings.HasSuffix(rest, "/"+resource.Resource)) {
			return a.list(r, kind, path)
		}
		version := metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: gv.Version}
		if gv.Group != "" && !slices.ContainsFunc(groups.Groups, func(g metav1.APIGroup) bool { return g.Name == gv.Group }) {
			groups.Groups = append(groups.Groups, metav1.APIGroup{Name: gv.Group, Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version})
		}
		if gv.String() == path {
			resources.APIResources = append(resources.APIResources, metav1.APIResource{
				Name: resource.Resource, Kind: kind.Kind, Namespaced: !slices.Contains(clusterWide, kind.Kind),
				Verbs: []string{"get", "list", "patch", "delete", "create"},
			})
		}
	}
	switch {
	case path == "/version":
		return Object{"gitVersion": a.Version}, nil
	case path == "/api":
		return metav1.APIVersions{Versions: []string{"v1"}}, nil
	case path == "/apis":
		return groups, nil
	case len(resources.APIResources) > 0:
		return resources, nil
	}
	return nil, notFound(path)
}

func notFound(path string) error { return apierrors.NewNotFound(schema.GroupResource{}, path) }

func (a *API) list(r *http.Request, kind schema.GroupVersionKind, folder string) (any, error) {
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		return nil, err
	}
	items := []any{}
	everywhere := folder == pathOf(kind, "", "")
	for _, p := range slices.Sorted(maps.Keys(a.objects)) {
		o := a.objects[p]
		if o.GroupVersionKind() == kind && selector.Matches(labels.Set(o.GetLabels())) && (everywhere || path.Dir(p) == folder) {
			items = append(items, o.Object)
		}
	}
	return Object{"kind": kind.Kind + "List", "apiVersion": kind.GroupVersion().String(), "items": items}, nil
}

// wake has watches look at what there is. The caller holds the lock.
func (a *API) wake() {
	close(a.woken)
	a.woken = make(chan struct{})
}

// watch sends what there is of a kind, and then what changes, until the client has enough. Of the
// objects it sends the metadata alone.
func (a *API) watch(w http.ResponseWriter, r *http.Request, folder string) {
	sent := map[string]string{} // versions, by path
	for {
		a.mu.Lock()
		var kind schema.GroupVersionKind
		for _, k := range a.served() {
			if folder == pathOf(k, "", "") {
				kind = k
			}
		}
		resource := path.Base(folder)
		denied := a.Denied["watch "+resource+"."+kind.Group]
		events, woken := a.events(kind, sent), a.woken
		a.mu.Unlock()
		switch {
		case kind.Kind == "":
			answer(w, nil, notFound(folder))
			return
		case denied:
			answer(w, nil, apierrors.NewForbidden(schema.GroupResource{Group: kind.Group, Resource: resource}, "", errors.New("the user may not")))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		for _, e := range events {
			_ = json.NewEncoder(w).Encode(e)
		}
		_ = http.NewResponseController(w).Flush()
		select {
		case <-woken:
		case <-r.Context().Done():
			return
		}
	}
}

// events are those that bring a watch to what there is of a kind.
func (a *API) events(kind schema.GroupVersionKind, sent map[string]string) (all []Object) {
	add := func(event string, o *unstructured.Unstructured) {
		all = append(all, Object{"type": event, "object": Object{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": o.Object["metadata"]}})
	}
	there := map[string]bool{}
	for p, o := range a.objects {
		if o.GroupVersionKind() != kind {
			continue
		}
		there[p] = true
		now, _ := json.Marshal(o.Object)
		switch was, known := sent[p]; {
		case !known:
			add("ADDED", o)
		case was != string(now):
			add("MODIFIED", o)
		}
		sent[p] = string(now)
	}
	for p := range sent {
		if !there[p] {
			gone := &unstructured.Unstructured{Object: Object{}}
			gone.SetName(path.Base(p))
			add("DELETED", gone)
			delete(sent, p)
		}
	}
	return all
}

// patch applies, or merges.
func (a *API) patch(r *http.Request, path string, body []byte) (any, error) {
	a.Writes = append(a.Writes, path)
	there, manager := a.objects[path], r.URL.Query().Get("fieldManager")
	o := &unstructured.Unstructured{}
	if r.Header.Get("Content-Type") == string(types.ApplyPatchType) {
		if err := yaml.Unmarshal(body, &o.Object); err != nil {
			return nil, err
		}
		if ns := o.GetNamespace(); ns != "" && a.objects["v1/namespaces/"+ns] == nil {
			return nil, notFound("namespace " + ns)
		}
		m, err := fieldManager(o.GroupVersionKind())
		if err != nil {
			return nil, err
		}
		made, err := m.Apply(a.live(path, o), o, manager, r.URL.Query().Get("force") == "true")
		if err != nil {
			return nil, err
		}
		a.keep(path, made)
	} else {
		if there == nil {
			return nil, notFound(path)
		}
		var err error
		if o.Object, err = merge(there.Object, body); err != nil {
			return nil, err
		}
		if err := a.store(path, o, manager); err != nil {
			return nil, err
		}
	}
	written := a.objects[path]
	if written == nil {
		return o.Object, nil // its last finalizer has gone, and it, too
	}
	answer := written.DeepCopy().Object
	if a.Written != nil {
		a.Written(path, written.Object)
	}
	return answer, nil
}

func merge(o Object, patch []byte) (Object, error) {
	b, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	if b, err = jsonpatch.MergePatch(b, patch); err != nil {
		return nil, err
	}
	merged := &unstructured.Unstructured{}
	err = merged.UnmarshalJSON(b)
	return merged.Object, err
}

func (a *API) update(path string, body []byte) (any, error) {
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(body); err != nil {
		return nil, err
	}
	switch there := a.objects[path]; {
	case there == nil:
		return nil, notFound(path)
	case there.GetResourceVersion() != o.GetResourceVersion():
		return nil, apierrors.NewConflict(schema.GroupResource{}, path, errors.New("it has been changed"))
	}
	return o.Object, a.store(path, o, "other")
}

func (a *API) delete(path string, body []byte) (any, error) {
	o := a.objects[path]
	if o == nil {
		return nil, notFound(path)
	}
	var options metav1.DeleteOptions
	if err := json.Unmarshal(body, &options); err != nil {
		return nil, err
	}
	if p := options.Preconditions; p != nil && p.UID != nil && *p.UID != o.GetUID() {
		return nil, apierrors.NewConflict(schema.GroupResource{}, path, errors.New("the IDs differ"))
	}
	a.Deleted = append(a.Deleted, path)
	deleted := metav1.NewTime(now)
	o.SetDeletionTimestamp(&deleted)
	if a.Finalize != nil {
		a.mu.Unlock() // it may change other objects
		a.Finalize(path, o.Object)
		a.mu.Lock()
	}
	a.reap(path)
	return o.Object, nil
}

// fieldManager is Kubernetes' own, for kinds without a schema.
func fieldManager(kind schema.GroupVersionKind) (*managedfields.FieldManager, error) {
	return managedfields.NewDefaultFieldManager(managedfields.NewDeducedTypeConverter(), schemaless{}, schemaless{}, schemaless{}, kind, kind.GroupVersion(), "", nil)
}

// schemaless leaves objects as they are.
type schemaless struct{}

func (schemaless) Convert(_, _, _ any) error { return nil }

func (schemaless) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}

func (schemaless) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

func (schemaless) Default(runtime.Object) {}

func (schemaless) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	return o, nil
}
