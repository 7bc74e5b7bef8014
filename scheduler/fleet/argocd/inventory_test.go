package argocd

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	"sigs.k8s.io/yaml"
)

func inventory(t *testing.T, metadata, spec, status string) fleet.Cluster {
	t.Helper()
	b, err := yaml.YAMLToJSON([]byte("apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web, namespace: argocd" + metadata + "}\nspec: " + spec + "\nstatus: " + status))
	if err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(b); err != nil {
		t.Fatal(err)
	}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{Applications: "ApplicationList"}, o)
	s, err := Cluster{Name: "large", Client: client}.Inventory(t.Context())
	if err != nil || len(s.Clusters) != 1 {
		t.Fatalf("%+v, %v", s, err)
	}
	return s.Clusters[0]
}

const deployed = "history: [{id: 0, revision: aaaa, deployedAt: '2026-01-01T00:00:00Z'}, {id: 1, revision: bbbb, deployedAt: '2026-01-02T00:00:00Z'}], operationState: {phase: Succeeded, finishedAt: '2026-01-03T00:00:00Z'}"

// TestInventory: since when a commit is there, is when it was deployed first, not when it
// was synced last; a commit that is only compared is not applied.
func TestInventory(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }
	web := fleet.Ref{Namespace: "argocd", Name: "web"}
	base := fleet.Subscription{Kind: fleet.Application, Ref: web, Repo: "http://localhost:1/kalypso/gitops.git", Branch: "dev", Path: "large"}
	with := func(change func(*fleet.Subscription)) fleet.Subscription {
		s := base
		change(&s)
		return s
	}
	for name, c := range map[string]struct {
		metadata, status string
		want             fleet.Subscription
	}{
		"in sync": {", annotations: {argocd.argoproj.io/tracking-id: 'dev:argoproj.io/Application:argocd/web'}",
			"{sync: {status: Synced, revision: bbbb}, health: {status: Healthy}, " + deployed + "}", with(func(s *fleet.Subscription) {
				s.Commit, s.Applied, s.State, s.At, s.Parent = "bbbb", "bbbb", fleet.Compliant, day(2), &fleet.Ref{Namespace: "argocd", Name: "dev"}
			})},
		"edited on the cluster": {", labels: {app.kubernetes.io/instance: other_dev}",
			"{sync: {status: OutOfSync, revision: bbbb}, health: {status: Healthy}, resources: [{group: apps, kind: Deployment, namespace: shop, name: web, status: OutOfSync}, {kind: Service, namespace: shop, name: web, status: Synced}], " + deployed + "}",
			with(func(s *fleet.Subscription) {
				s.Commit, s.Applied, s.State, s.Reason, s.At, s.Parent = "bbbb", "bbbb", fleet.Pending, "not synced yet", day(3), &fleet.Ref{Namespace: "other", Name: "dev"}
				s.Objects = []fleet.Object{{Group: "apps", Kind: "Deployment", Ref: fleet.Ref{Namespace: "shop", Name: "web"}, OutOfSync: true}, {Kind: "Service", Ref: fleet.Ref{Namespace: "shop", Name: "web"}}}
			})},
		"compared with a new commit": {"", "{sync: {status: OutOfSync, revision: cccc}, " + deployed + "}", with(func(s *fleet.Subscription) {
			s.Commit, s.Applied, s.State, s.Reason, s.At = "cccc", "bbbb", fleet.Pending, "not synced yet", day(3)
		})},
		"new": {"", "{}", with(func(s *fleet.Subscription) { s.State, s.Reason = fleet.Pending, "not compared with the repository yet" })},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff([]fleet.Subscription{c.want}, inventory(t, c.metadata, one, c.status).Subscriptions); diff != "" {
				t.Error(diff)
			}
		})
	}
	two := inventory(t, "", "{sources: [{repoURL: 'http://a', targetRevision: main, path: x}, {repoURL: 'http://b', targetRevision: refs/heads/dev}]}",
		"{sync: {status: OutOfSync, revisions: [a2, b2]}, history: [{revisions: [a1, b1], deployedAt: '2026-01-01T00:00:00Z'}]}").Subscriptions
	if len(two) != 2 || two[0].Repo != "http://a" || two[0].Commit != "a2" || two[0].Applied != "a1" || two[1].Branch != "dev" || two[1].Applied != "b1" {
		t.Errorf("two sources: %+v", two)
	}
}
