package attached

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-dev/kalypso/internal/testkit/kubefake"
)

func TestTakesOffWhatItHasPutThere(t *testing.T) {
	w := newHarness(t)
	w.api.Put(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: theirs}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: theirs, namespace: theirs}")
	before := w.api.Paths()
	w.install(t)
	notes, err := w.take(t.Context())
	if err != nil || len(notes) > 0 {
		t.Fatalf("%v, notes %q", err, notes)
	}
	if diff := cmp.Diff(before, w.api.Paths()); diff != "" {
		t.Errorf("not as before:\n%s", diff)
	}
	if !w.recordIsGone() {
		t.Error("the record is still there")
	}
	// what a reconciler applies by order of another goes after it, and kinds after their objects
	order := func(path string) int {
		return slices.IndexFunc(w.api.Deleted, func(p string) bool { return strings.HasSuffix(p, path) })
	}
	for _, c := range [][2]string{
		{"kustomizations/dev-dev", "deployments/web"}, {"kustomizations/app", "deployments/web"}, {"deployments/web", "namespaces/app"},
		{"secrets/dev-auth", "customresourcedefinitions/kustomizations.kustomize.toolkit.fluxcd.io"},
		{"customresourcedefinitions/kustomizations.kustomize.toolkit.fluxcd.io", "namespaces/flux-system"},
	} {
		if a, b := order(c[0]), order(c[1]); a < 0 || b < 0 || a > b {
			t.Errorf("%s is deleted %d., %s %d.", c[0], a, c[1], b)
		}
	}
	if notes, err := w.take(t.Context()); err != nil || len(notes) > 0 {
		t.Errorf("once more: %v, %q", err, notes)
	}
}

// TestFluxWasCutOff: what it has applied last is not in its account yet.
func TestFluxWasCutOff(t *testing.T) {
	w := newHarness(t)
	const labels = "labels: {kustomize.toolkit.fluxcd.io/name: %s, kustomize.toolkit.fluxcd.io/namespace: flux-system}}"
	others := fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata: {name: others, "+labels, "another")
	w.api.Put(t, others)
	before := w.api.Paths()
	w.install(t)
	w.api.Put(t, fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata: {name: late, "+labels, "dev-dev"))
	w.api.Put(t, fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: late, namespace: late, "+labels, "app"))
	if notes, err := w.take(t.Context()); err != nil || len(notes) > 0 {
		t.Fatalf("%v, notes %q", err, notes)
	}
	if diff := cmp.Diff(before, w.api.Paths()); diff != "" {
		t.Errorf("not as before:\n%s", diff)
	}
}

// TestRemovalIsCutOffAnywhere ends each write of a removal in turn.
func TestRemovalIsCutOffAnywhere(t *testing.T) {
	t.Parallel()
	w := newHarness(t)
	w.install(t)
	writes := 0
	w.api.Before = func(string, string) error { writes++; return nil }
	if _, err := w.take(t.Context()); err != nil {
		t.Fatal(err)
	}
	for cut := range writes {
		w := newHarness(t)
		before := w.api.Paths()
		w.install(t)
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		w.api.Before = func(string, string) error {
			if n++; n == cut+1 {
				cancel() // also where the wait would try again
			}
			if n > cut {
				return errors.New("cut off")
			}
			return nil
		}
		_, err := w.take(ctx)
		var left *LeftError
		if !errors.As(err, &left) || len(left.Objects) == 0 {
			t.Fatalf("cut off at write %d of %d: %v", cut+1, writes, err)
		}
		if r := w.record(t); !r.Removing {
			t.Errorf("cut off at write %d: it is not recorded that a removal has begun", cut+1)
		}
		w.api.Before = nil
		if notes, err := w.take(t.Context()); err != nil || len(notes) > 0 {
			t.Fatalf("cut off at write %d, then: %v, %q", cut+1, err, notes)
		}
		if diff := cmp.Diff(before, w.api.Paths()); diff != "" {
			t.Errorf("cut off at write %d, not as before:\n%s", cut+1, diff)
		}
	}
}

// TestInstallationIsCutOffAnywhere ends each write of an installation in turn;
// what it has done is taken off all the same.
func TestInstallationIsCutOffAnywhere(t *testing.T) {
	t.Parallel()
	for cut := range 7 {
		w := newHarness(t)
		before := w.api.Paths()
		n := 0
		w.api.Before = func(string, string) error {
			if n++; n > cut {
				return errors.New("cut off")
			}
			return nil
		}
		c := w.enter(t)
		err := errors.Join(c.Apply(t.Context(), []byte(definitions)), c.Apply(t.Context(), []byte(subscription)))
		if cut < 6 && err == nil {
			t.Fatalf("write %d was not cut off", cut+1)
		}
		w.api.Before = nil
		if _, err := w.take(t.Context()); err != nil {
			t.Fatalf("cut off at write %d: %v", cut+1, err)
		}
		if diff := cmp.Diff(before, w.api.Paths()); diff != "" {
			t.Errorf("cut off at write %d, not as before:\n%s", cut+1, diff)
		}
	}
}

// TestLeavesWhatIsOfOthers has users change what the sandbox has made.
func TestLeavesWhatIsOfOthers(t *testing.T) {
	t.Parallel()
	for title, c := range map[string]struct {
		do    func(*testing.T, *harness)
		stays []string // beside what was there before
		notes []string
	}{
		"one made in its place": {
			func(t *testing.T, w *harness) {
				w.api.Change(t, "v1/namespaces/kube-system/configmaps/kalypso-subscribed", func(o object) { o["metadata"].(object)["uid"] = "another" })
			},
			[]string{"v1/namespaces/kube-system/configmaps/kalypso-subscribed"},
			[]string{"ConfigMap kube-system/kalypso-subscribed stays: it is another"},
		},
		"something in its namespace": {
			func(t *testing.T, w *harness) {
				w.api.Put(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mine, namespace: flux-system}")
			},
			[]string{"v1/namespaces/flux-system", "v1/namespaces/flux-system/configmaps/mine"},
			[]string{"Namespace flux-system stays: it holds ConfigMap flux-system/mine"},
		},
		"something in a namespace of git's": {
			func(t *testing.T, w *harness) {
				w.api.Put(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: mine, namespace: app}")
			},
			[]string{"v1/namespaces/app", "v1/namespaces/app/secrets/mine"},
			[]string{"Namespace app stays: it holds Secret app/mine"},
		},
		"what each namespace gets": {
			func(t *testing.T, w *harness) {
				for _, ns := range []string{"default", "app", "flux-system"} {
					w.api.Put(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kube-root-ca.crt, namespace: "+ns+"}")
				}
				w.api.Put(t, "apiVersion: v1\nkind: Event\nmetadata: {name: e, namespace: app}")
				w.api.Put(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: default-token, namespace: app}\ntype: kubernetes.io/service-account-token")
				w.api.Put(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: owned, namespace: app, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: u}]}")
			},
			[]string{"v1/namespaces/default/configmaps/kube-root-ca.crt"}, nil,
		},
		"an object of its kinds": {
			func(t *testing.T, w *harness) {
				w.api.Put(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: theirs}\n---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: mine, namespace: theirs}")
			},
			[]string{
				"apiextensions.k8s.io/v1/customresourcedefinitions/gitrepositories.source.toolkit.fluxcd.io",
				"source.toolkit.fluxcd.io/v1/namespaces/theirs/gitrepositories/mine", "v1/namespaces/theirs",
			},
			[]string{"CustomResourceDefinition gitrepositories.source.toolkit.fluxcd.io stays: it holds GitRepository theirs/mine"},
		},
		"what was there before git": {
			func(t *testing.T, w *harness) {
				w.api.Change(t, "v1/namespaces/app", func(o object) { o["metadata"].(object)["creationTimestamp"] = "2025-12-31T23:59:59Z" })
			},
			[]string{"v1/namespaces/app"},
			[]string{"Namespace app stays: it was there before the sandbox"},
		},
		"a Flux of the user's own since": {
			func(t *testing.T, w *harness) {
				w.api.Put(t, strings.Split(fluxInside, "---\n")[1]+"---\n"+strings.Split(fluxInside, "---\n")[2])
				w.api.Finalize = func(_ string, o object) { delete(o["metadata"].(object), "finalizers") }
			},
			[]string{
				"apiextensions.k8s.io/v1/customresourcedefinitions/gitrepositories.source.toolkit.fluxcd.io",
				"apiextensions.k8s.io/v1/customresourcedefinitions/kustomizations.kustomize.toolkit.fluxcd.io",
				"apps/v1/namespaces/flux-system/deployments/k", "apps/v1/namespaces/flux-system/deployments/source-controller", "v1/namespaces/flux-system",
			},
			[]string{
				"CustomResourceDefinition kustomizations.kustomize.toolkit.fluxcd.io stays: Flux in namespace flux-system needs it",
				"CustomResourceDefinition gitrepositories.source.toolkit.fluxcd.io stays: Flux in namespace flux-system needs it",
				"Namespace flux-system stays: it holds Deployment flux-system/k",
			},
		},
		"what others have taken over": {
			func(t *testing.T, w *harness) {
				w.api.Change(t, "v1/namespaces/app/configmaps/settings", func(o object) { delete(o["metadata"].(object), "labels") })
			},
			[]string{"v1/namespaces/app", "v1/namespaces/app/configmaps/settings"},
			[]string{"Namespace app stays: it holds ConfigMap app/settings"},
		},
	} {
		t.Run(title, func(t *testing.T) {
			w := newHarness(t)
			before := w.api.Paths()
			w.install(t)
			c.do(t, w)
			notes, err := w.take(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			want := append(before, c.stays...)
			slices.Sort(want)
			if diff := cmp.Diff(want, w.api.Paths()); diff != "" {
				t.Errorf("on the cluster:\n%s", diff)
			}
			if len(notes) != len(c.notes) {
				t.Fatalf("notes %q, want %q", notes, c.notes)
			}
			for i, n := range notes {
				if !strings.HasPrefix(n, c.notes[i]) {
					t.Errorf("note %q, want %q", n, c.notes[i])
				}
			}
			if !w.recordIsGone() {
				t.Error("the record is still there")
			}
		})
	}
}

func TestApplicationsAreTakenOff(t *testing.T) {
	w := newHarness(t)
	w.Requirements = requirementsOf(t, ArgoCD)
	before := w.api.Paths()
	c := w.enter(t)
	apply(t, c, "apiVersion: v1\nkind: Namespace\nmetadata: {name: argocd}\n---\n"+argo)
	apply(t, c, "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: dev, namespace: argocd}\n")
	w.api.Put(t, `apiVersion: v1
kind: Namespace
metadata: {name: app, annotations: {argocd.argoproj.io/tracking-id: "dev:/Namespace:argocd/app"}}
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: app, namespace: argocd, finalizers: [resources-finalizer.argocd.argoproj.io], annotations: {argocd.argoproj.io/tracking-id: "dev:argoproj.io/Application:argocd/app"}}
status: {resources: [{group: apps, version: v1, kind: Deployment, namespace: app, name: web}, {version: v1, kind: ConfigMap, namespace: default, name: missing}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: app, labels: {app.kubernetes.io/instance: app}}
`)
	w.api.Change(t, "argoproj.io/v1alpha1/namespaces/argocd/applications/dev", func(o object) {
		o["status"] = object{"resources": []any{
			object{"version": "v1", "kind": "Namespace", "name": "app"},
			object{"group": "argoproj.io", "version": "v1alpha1", "kind": "Application", "namespace": "argocd", "name": "app"},
		}}
	})
	if notes, err := w.take(t.Context()); err != nil || len(notes) > 0 {
		t.Fatalf("%v, %q", err, notes)
	}
	if diff := cmp.Diff(before, w.api.Paths()); diff != "" {
		t.Errorf("not as before:\n%s", diff)
	}
}

// TestTheirReconcilerCleansUp: where the cluster has its own, that removes what
// it has applied, and its finalizers are left to it.
func TestTheirReconcilerCleansUp(t *testing.T) {
	w := newHarness(t)
	w.api.Put(t, fluxInside+"---\n"+definitions[strings.Index(definitions, "---\n")+4:])
	before := w.api.Paths()
	w.install(t)
	if r := w.record(t); len(r.Made) != 4 {
		t.Errorf("%v is recorded, and the namespace and the kinds are theirs", r.Made)
	}
	w.api.Finalize = func(path string, o object) {
		if path == kustomizations+"app" {
			w.api.Drop("apps/v1/namespaces/app/deployments/web")
		}
		delete(o["metadata"].(object), "finalizers")
	}
	w.api.Before = func(method, _ string) error {
		if method != "DELETE" {
			return fmt.Errorf("%s is not needed", method)
		}
		return nil
	}
	if notes, err := w.take(t.Context()); err != nil || len(notes) > 0 {
		t.Fatalf("%v, %q", err, notes)
	}
	if diff := cmp.Diff(before, w.api.Paths()); diff != "" {
		t.Errorf("not as before:\n%s", diff)
	}
}

func TestNamespaceThatDoesNotEnd(t *testing.T) {
	w := newHarness(t)
	w.install(t)
	w.api.Keeps["v1/namespaces/app"] = true
	ctx, cancel := context.WithTimeout(t.Context(), quickly)
	defer cancel()
	_, err := w.take(ctx)
	for _, says := range []string{"cluster drone", "context mine of ", "(Namespace app)", "removing the namespaces", "pods. has 1 resource instances"} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("does not report %q: %v", says, err)
		}
	}
	delete(w.api.Keeps, "v1/namespaces/app")
	w.api.Change(t, "v1/namespaces/app", func(object) {}) // it ends
	if _, err := w.take(t.Context()); err != nil || !w.recordIsGone() {
		t.Error(err)
	}
}

func TestClusterThatIsNotThere(t *testing.T) {
	w := newHarness(t)
	w.install(t)
	file := w.Sources[name].Files[0]
	ctx, cancel := context.WithTimeout(t.Context(), quickly)
	defer cancel()

	writeKubeconfig(t, dirOf(file), "http://127.0.0.1:1")
	_, err := w.take(ctx)
	var left *LeftError
	if !errors.As(err, &left) || !strings.Contains(err.Error(), "connection refused") || !strings.Contains(err.Error(), "and ") {
		t.Errorf("nothing listens: %v", err)
	}

	edit(t, file, "name: mine,", "name: gone,")
	_, err = w.take(t.Context())
	var missing *MissingError
	if !errors.As(err, &missing) || !strings.Contains(err.Error(), "no context mine in "+file+" any more") {
		t.Errorf("the context is gone: %v", err)
	}

	// another cluster is there by now
	other := kubefake.New(t)
	other.Put(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: kube-system, uid: other}")
	writeKubeconfig(t, dirOf(file), other.URL)
	before := fmt.Sprint(other.Paths())
	notes, err := w.take(t.Context())
	if err != nil || len(notes) != 1 || !strings.Contains(notes[0], "leads to another cluster by now") || !w.recordIsGone() {
		t.Errorf("another cluster: %v, %q", err, notes)
	}
	if after := fmt.Sprint(other.Paths()); after != before || len(other.Deleted) > 0 {
		t.Errorf("it has %s now, of %s", after, before)
	}
}
