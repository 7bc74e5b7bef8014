package flux

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	k8stesting "k8s.io/client-go/testing"
)

func newClient(objects ...runtime.Object) *fake.FakeDynamicClient {
	return fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		Repositories: "GitRepositoryList", Kustomizations: "KustomizationList",
	}, objects...)
}

func inventory(t *testing.T, client *fake.FakeDynamicClient) fleet.Cluster {
	t.Helper()
	s, err := Cluster{Name: "drone", Client: client}.Inventory(t.Context())
	if err != nil || len(s.Clusters) != 1 || s.Clusters[0].Name != "drone" || time.Since(s.At) > time.Minute {
		t.Fatalf("%+v, %v", s, err)
	}
	return s.Clusters[0]
}

const history = `
history:
- {digest: "sha256:1", firstReconciled: "2026-01-03T00:00:00Z", lastReconciled: "2026-01-04T00:00:00Z", lastReconciledStatus: HealthCheckFailed, metadata: {revision: "dev@sha1:bbbb"}}
- {digest: "sha256:1", firstReconciled: "2026-01-02T00:00:00Z", lastReconciled: "2026-01-04T00:00:00Z", lastReconciledStatus: ReconciliationSucceeded, metadata: {revision: "dev@sha1:bbbb"}}
inventory: {entries: [{id: "shop_web_apps_Deployment", v: v1}, {id: "_system__reader_rbac.authorization.k8s.io_ClusterRole", v: v1}, {id: odd}]}`

// TestInventory: every subscription with its source, what has brought it and what it has
// brought, since when by the cluster's clock.
func TestInventory(t *testing.T) {
	own := parse(t, kustomize("dev-dev", "dev", "", applied+history))
	_ = unstructured.SetNestedField(own.Object, "./drone", "spec", "path")
	_ = unstructured.SetNestedField(own.Object, "5m", "spec", "interval")
	child := parse(t, kustomize("shop", "shop", "kustomize.toolkit.fluxcd.io/name: dev-dev, kustomize.toolkit.fluxcd.io/namespace: flux-system", applied))
	brought := parse(t, repository("shop", ""))
	brought.SetLabels(child.GetLabels())
	alone, oci, dev := parse(t, repository("alone", "")), parse(t, kustomize("oci", "bundle", "", applied)), parse(t, repository("dev", ""))
	_ = unstructured.SetNestedField(oci.Object, "OCIRepository", "spec", "sourceRef", "kind")
	got := inventory(t, newClient(&own, &child, &brought, &alone, &oci, &dev))
	ref := func(name string) *fleet.Ref { return &fleet.Ref{Namespace: "flux-system", Name: name} }
	ready := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	followed := func(s fleet.Subscription) fleet.Subscription {
		s.Repo, s.Branch, s.Commit, s.State = "http://localhost:1/kalypso/gitops", "dev", "bbbb", fleet.Compliant
		return s
	}
	want := []fleet.Subscription{
		followed(fleet.Subscription{Kind: fleet.GitRepository, Ref: *ref("alone"), Source: ref("alone"), At: ready}),
		followed(fleet.Subscription{
			Kind: fleet.Kustomization, Ref: *ref("dev-dev"), Source: ref("dev"), Path: "./drone", Applied: "bbbb", At: ready.AddDate(0, 0, 1), Interval: 300,
			Objects: []fleet.Object{
				{Group: "apps", Kind: "Deployment", Ref: fleet.Ref{Namespace: "shop", Name: "web"}},
				{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Ref: fleet.Ref{Name: "system:reader"}},
			},
		}),
		{Kind: fleet.Kustomization, Ref: *ref("oci"), Applied: "bbbb", State: fleet.Compliant, At: ready},
		followed(fleet.Subscription{Kind: fleet.Kustomization, Ref: *ref("shop"), Source: ref("shop"), Applied: "bbbb", At: ready, Parent: ref("dev-dev")}),
	}
	if diff := cmp.Diff(want, got.Subscriptions); diff != "" {
		t.Error(diff)
	}
	if got.Unknown != "" || got.LastSeen.IsZero() {
		t.Errorf("%+v", got)
	}
}

// TestInventoryOfAFailingSource: that a source cannot be fetched is the state of what
// follows it, though the commit before is applied.
func TestInventoryOfAFailingSource(t *testing.T) {
	r, k := parse(t, repository("dev", "")), parse(t, kustomize("dev-dev", "dev", "", applied+history))
	_ = unstructured.SetNestedSlice(r.Object, []any{map[string]any{
		"type": "Ready", "status": "False", "reason": "GitOperationFailed", "message": "no such host", "observedGeneration": int64(1), "lastTransitionTime": "2026-02-02T00:00:00Z",
	}}, "status", "conditions")
	got := inventory(t, newClient(&r, &k)).Subscriptions
	if len(got) != 1 || got[0].State != fleet.NonCompliant || got[0].Reason != "GitRepository dev: no such host" || !got[0].At.Equal(time.Date(2026, 2, 2, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v", got)
	}
}

func TestInventoryWithoutFluxAndWithoutAnAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		err     error
		unknown bool
	}{
		"no such kind": {apierrors.NewNotFound(Repositories.GroupResource(), ""), false},
		"no answer":    {errors.New("connection refused"), true},
	} {
		client := newClient()
		client.PrependReactor("list", "*", func(k8stesting.Action) (bool, runtime.Object, error) { return true, nil, c.err })
		if got := inventory(t, client); got.Unknown != "" != c.unknown || len(got.Subscriptions) != 0 || got.LastSeen.IsZero() != c.unknown {
			t.Errorf("%s: %+v", name, got)
		}
		all, err := Cluster{Name: "drone", Client: client}.Observe(t.Context(), fleet.Source{Repo: "r", Branch: "b"})
		if (err != nil) != c.unknown || len(all) > 0 {
			t.Errorf("%s: observed %+v, %v", name, all, err)
		}
	}
}
