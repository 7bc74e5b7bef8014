package attached

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

const fluxInside = `apiVersion: v1
kind: Namespace
metadata: {name: flux-system}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: source-controller, namespace: flux-system}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: k, namespace: flux-system, labels: {app.kubernetes.io/part-of: flux, app.kubernetes.io/component: kustomize-controller}}
`

func TestPreflight(t *testing.T) {
	deny := func(what ...string) func(*testing.T, *harness) {
		return func(_ *testing.T, w *harness) {
			for _, d := range what {
				w.api.Denied[d] = true
			}
		}
	}
	has := func(manifests string) func(*testing.T, *harness) {
		return func(t *testing.T, w *harness) { w.api.Put(t, manifests) }
	}
	for title, c := range map[string]struct {
		with   Reconciler
		do     func(*testing.T, *harness)
		theirs string
		says   []string // all of it; nothing for a cluster that can be used
		passes bool
	}{
		"fine":             {Flux, func(*testing.T, *harness) {}, "", nil, false},
		"fine for Argo CD": {ArgoCD, func(*testing.T, *harness) {}, "", nil, false},
		"another's build":  {Flux, func(_ *testing.T, w *harness) { w.api.Version = "v1.33.4-eks-99" }, "", nil, false},
		"too old for Flux": {Flux, func(_ *testing.T, w *harness) { w.api.Version = "v1.32.9+k3s1" }, "",
			[]string{"cluster drone, context mine of ", "runs Kubernetes v1.32.9+k3s1: Flux needs 1.33 or newer; upgrade"}, false},
		"not too old for Argo CD": {ArgoCD, func(_ *testing.T, w *harness) { w.api.Version = "v1.32.9+k3s1" }, "", nil, false},
		"no version":              {Flux, func(_ *testing.T, w *harness) { w.api.Version = "main" }, "", []string{`its version "main" is not understood`}, true},
		"a user": {Flux, deny("create customresourcedefinitions.apiextensions.k8s.io", "delete customresourcedefinitions.apiextensions.k8s.io", "patch namespaces"), "",
			[]string{"context mine of ", "may not patch namespaces; create, delete customresourcedefinitions.apiextensions.k8s.io: Flux cannot be installed there", "cluster-admin"}, false},
		"a user of status":          {Flux, deny("patch gitrepositories.source.toolkit.fluxcd.io/status"), "", []string{"may not patch gitrepositories.source.toolkit.fluxcd.io/status:"}, false},
		"a user of Argo CD":         {ArgoCD, deny("watch *.*"), "", []string{"may not watch *.*: Argo CD cannot"}, false},
		"no rights that Flux needs": {ArgoCD, deny("patch kustomizations.kustomize.toolkit.fluxcd.io"), "", nil, false},
		"no node":                   {Flux, func(_ *testing.T, w *harness) { w.api.Drop("v1/nodes/one") }, "", []string{"has no node that is ready: it has none: no pod can run there"}, true},
		"no node ready": {Flux, func(t *testing.T, w *harness) {
			w.api.Change(t, "v1/nodes/one", func(o object) {
				o["status"] = object{"conditions": []any{object{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "message": "Kubelet stopped posting"}}}
			})
		}, "", []string{"Node one is not Ready: NodeStatusUnknown: Kubelet stopped posting"}, true},
		"Flux of its own":           {Flux, has(fluxInside + "---\n" + definitions[strings.Index(definitions, "---\n")+4:]), "flux-system", nil, false},
		"Flux that is switched off": {Flux, has(strings.ReplaceAll(fluxInside, "kind: Deployment\n", "kind: Deployment\nspec: {replicas: 0}\n")), "", nil, false},
		"half a Flux": {Flux, has(strings.ReplaceAll(fluxInside, "component: kustomize-controller", "component: helm-controller")), "",
			[]string{"runs a part of Flux, and no kustomize-controller: a second one beside it would be in its way; install the rest"}, false},
		"Flux, for Argo CD": {ArgoCD, has(fluxInside), "", nil, false},
		"Argo CD of its own": {ArgoCD, has("apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: my-ctl, namespace: argocd, labels: {app.kubernetes.io/name: argocd-application-controller}}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-cm, namespace: argocd}"),
			"argocd", nil, false},
		"Argo CD elsewhere": {ArgoCD, has("apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: argocd-application-controller, namespace: ops}"),
			"", []string{"runs Argo CD in namespace ops, and the applications are in argocd"}, false},
		"settings of others": {ArgoCD, has("apiVersion: v1\nkind: Namespace\nmetadata: {name: argocd}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-cm, namespace: argocd}"),
			"", []string{"ConfigMap argocd/argocd-cm is there already: the sandbox needs that name"}, false},
		"a subscription of others": {Flux, has(definitions + "---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: dev, namespace: flux-system}"),
			"", []string{"GitRepository flux-system/dev is there already"}, false},
		"another's mark": {Flux, has(definitions + "---\napiVersion: v1\nkind: Secret\nmetadata: {name: dev-auth, namespace: flux-system, annotations: {kalypso.dev/sandbox: another}}"),
			"", []string{"Secret flux-system/dev-auth is there already"}, false},
		"what slept": {Flux, has(definitions + "---\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: theirs, namespace: default}"),
			"", []string{"Kustomization default/theirs is there, and nothing in the cluster acts on it: Flux, run by the sandbox, would"}, false},
		"all at once": {Flux, func(t *testing.T, w *harness) {
			w.api.Version = "v1.20.0"
			w.api.Drop("v1/nodes/one")
		}, "", []string{"Flux needs 1.33", "has no node"}, false},
	} {
		t.Run(title, func(t *testing.T) {
			w := newHarness(t)
			w.Requirements = requirementsOf(t, c.with)
			c.do(t, w)
			before := w.api.Paths()
			f, err := w.Preflight(t.Context(), name)
			if f.ReconcilerNamespace != c.theirs {
				t.Errorf("theirs %q, want %q", f.ReconcilerNamespace, c.theirs)
			}
			if len(c.says) == 0 {
				if err != nil {
					t.Fatal(err)
				}
				if f.Nodes != 1 || f.UID == "" || f.Server != w.api.URL {
					t.Errorf("%+v", f)
				}
				return
			}
			for _, says := range c.says {
				if err == nil || !strings.Contains(err.Error(), says) {
					t.Errorf("does not report %q: %v", says, err)
				}
			}
			if transient(err) != c.passes {
				t.Errorf("it passes: %v", !c.passes)
			}
			if len(w.api.Paths()) != len(before) || len(w.api.Deleted) > 0 {
				t.Error("looking has changed something")
			}
		})
	}
}

func TestServerThatCannotBeAsked(t *testing.T) {
	w := newHarness(t)
	file := w.Sources[name].Files[0]
	writeKubeconfig(t, dirOf(file), "http://127.0.0.1:1")
	_, err := w.Preflight(t.Context(), name)
	if err == nil || !transient(err) || !strings.Contains(err.Error(), "http://127.0.0.1:1, of context mine of "+file+", does not answer") {
		t.Error(err)
	}
	edit(t, file, "name: mine,", "name: gone,")
	if _, err = w.Preflight(t.Context(), name); err == nil || transient(err) || !strings.Contains(err.Error(), "there is no context mine in "+file+" any more") {
		t.Error(err)
	}
}

// TestAnotherClusterByNow is about a context that leads elsewhere while things
// are still on the former cluster.
func TestAnotherClusterByNow(t *testing.T) {
	w := newHarness(t)
	w.install(t)
	w.again()
	if _, err := w.Preflight(t.Context(), name); err != nil {
		t.Fatalf("the same cluster: %v", err)
	}
	w.api.Change(t, "v1/namespaces/kube-system", func(o object) { o["metadata"].(object)["uid"] = "other" })
	if _, err := w.Preflight(t.Context(), name); err == nil || transient(err) || !strings.Contains(err.Error(), "leads to another cluster than the one on which kalypso has made 7 objects") {
		t.Error(err)
	}
}

func TestInventoryLeavesOthersAlone(t *testing.T) {
	w := newHarness(t)
	w.api.Put(t, definitions+"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: default}\ndata: {a: theirs}")
	c := w.enter(t)
	apply(t, c, definitions)
	var foreign *cluster.ForeignError
	err := c.Apply(t.Context(), []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: default}\ndata: {a: ours}"))
	if !errors.As(err, &foreign) || !strings.HasPrefix(err.Error(), "ConfigMap default/settings is there already, and is not this sandbox's") {
		t.Error(err)
	}
	if r := w.record(t); len(r.Made) > 0 {
		t.Errorf("%v is recorded", r.Made)
	}
	w.api.Change(t, "apiextensions.k8s.io/v1/customresourcedefinitions/gitrepositories.source.toolkit.fluxcd.io", func(o object) {
		o["spec"].(object)["versions"] = []any{object{"name": "v1beta2", "served": true}}
	})
	if err := c.Apply(t.Context(), []byte(definitions)); err == nil || !strings.Contains(err.Error(), "gitrepositories.source.toolkit.fluxcd.io is there already, and does not serve v1") {
		t.Error(err)
	}
}

// TestInventoryIsNotOvertaken has another user make the object between the look and the
// write.
func TestInventoryIsNotOvertaken(t *testing.T) {
	w := newHarness(t)
	c := w.enter(t)
	w.api.Before = func(_, path string) error {
		w.api.Before = nil
		w.api.Put(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: default}\ndata: {a: theirs}")
		return nil
	}
	var foreign *cluster.ForeignError
	err := c.Apply(t.Context(), []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: default}\ndata: {a: ours}"))
	if !errors.As(err, &foreign) {
		t.Errorf("took over what another has made: %v", err)
	}
	notes, err := w.take(t.Context())
	if err != nil || len(notes) != 1 || !strings.Contains(notes[0], "is another than") {
		t.Errorf("%v, %q", err, notes)
	}
	if !slices.Contains(w.api.Paths(), "v1/namespaces/default/configmaps/settings") {
		t.Error("what another has made is gone")
	}
}

// TestOwnObjectsAreChanged: what a sandbox has made it may change, also in a
// later process, and when it was killed before it could note the ID.
func TestOwnObjectsAreChanged(t *testing.T) {
	w := newHarness(t)
	c := w.enter(t)
	apply(t, c, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: default}\ndata: {a: one}")
	r := w.record(t)
	if len(r.Made) != 1 || r.Made[0].UID == "" || r.Since.IsZero() || r.Cluster == "" || r.Name != name || r.Sandbox != "5a5a" {
		t.Errorf("%+v", r)
	}
	r.Made[0].UID = ""
	if err := r.write(RecordFile(w.Dir, name)); err != nil {
		t.Fatal(err)
	}
	w.again()
	apply(t, w.enter(t), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: default}\ndata: {a: two}")
	o := w.api.Get(t, "v1/namespaces/default/configmaps/settings")
	if o["data"].(object)["a"] != "two" || w.record(t).Made[0].UID == "" {
		t.Errorf("%v, %+v", o, w.record(t))
	}
	// another user has deleted it, and it is made again
	w.api.Drop("v1/namespaces/default/configmaps/settings")
	apply(t, w.client(t), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: default}")
	made := w.api.Get(t, "v1/namespaces/default/configmaps/settings")["metadata"].(object)
	if r := w.record(t); len(r.Made) != 1 || string(r.Made[0].UID) != made["uid"] {
		t.Errorf("%+v", r.Made)
	}
}

func TestUnit(t *testing.T) {
	w := newHarness(t)
	// a removal was cut off before
	w.install(t)
	r := w.record(t)
	r.Removing = true
	if err := r.write(RecordFile(w.Dir, name)); err != nil {
		t.Fatal(err)
	}
	w.again()
	renewed := 0
	w.Renewed = func(string) { renewed++ }
	c := w.Units(name)[0].Component.(*supervisor.Background)
	ctx, cancel := context.WithCancel(t.Context())
	ended, ready := make(chan error, 1), make(chan struct{})
	go func() { ended <- c.Run(ctx, func(string) {}, func() { close(ready) }) }()
	select {
	case <-ready:
	case err := <-ended:
		t.Fatal(err)
	}
	if r := w.record(t); len(r.Made) > 0 || r.Removing || r.Cluster == "" {
		t.Errorf("the removal is not finished: %+v", r)
	}
	if err := c.Check(t.Context()); err != nil || renewed != 1 {
		t.Errorf("%v, renewed %d times", err, renewed)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}

	w.api.Version = "v1.20.0"
	var permanent *supervisor.PermanentError
	if err := c.Run(t.Context(), func(string) {}, func() {}); !errors.As(err, &permanent) || !strings.Contains(err.Error(), "Flux needs") {
		t.Errorf("too old: %v", err)
	}
	writeKubeconfig(t, dirOf(w.Sources[name].Files[0]), "http://127.0.0.1:1")
	ctx, cancel = context.WithTimeout(t.Context(), quickly)
	defer cancel()
	if err := c.Run(ctx, func(string) {}, func() {}); err == nil || errors.As(err, &permanent) || !strings.Contains(err.Error(), "an answer of cluster drone: not after") {
		t.Errorf("nothing listens: %v", err)
	}
	edit(t, w.Sources[name].Files[0], "name: mine,", "name: gone,")
	if err := c.Run(t.Context(), func(string) {}, func() {}); !errors.As(err, &permanent) {
		t.Errorf("no context: %v", err)
	}
}
