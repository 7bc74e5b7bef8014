package arc_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/internal/armapi"
	"github.com/kalypso-dev/kalypso/internal/testkit/armfake"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
)

// TestInventory: all branches of all clusters by two queries, with what is in their
// statuses; a cluster that Azure has not heard of lately is Unknown.
func TestInventory(t *testing.T) {
	variables(t, login...)
	synctest.Test(t, func(t *testing.T) {
		s := armfake.Start(t, east, west)
		s.App(app, secret)
		now := time.Now().UTC().Truncate(time.Second)
		ready := func(text string) []armapi.Condition {
			return []armapi.Condition{{Type: "Ready", Status: "True", Message: text, LastTransitionTime: now.Add(-time.Hour)}}
		}
		platform := s.Cluster(east, "fleet", "edge")
		s.Connect(platform, "Connected", now.Add(-time.Minute), map[string]string{"region": "east"})
		s.Follow(platform, "platform", source.Repo, "dev")
		s.Follow(platform, "other", source.Repo, "stage")
		s.Change(platform, "platform", func(p *armapi.Properties) {
			revision := "dev@sha1:" + commit
			p.SourceSyncedCommitID, p.ComplianceState = &revision, "Compliant"
			p.Kustomizations = map[string]armapi.Kustomization{"dev": {Name: "dev", Path: "./edge"}}
			p.Statuses = []armapi.ObjectStatus{
				{Kind: "GitRepository", Name: "platform", Namespace: "flux-system", ComplianceState: "Compliant"},
				{Kind: "Kustomization", Name: "platform-dev", Namespace: "flux-system", ComplianceState: "Compliant", StatusConditions: ready("Applied revision: dev@sha1:" + commit)},
				{Kind: "GitRepository", Name: "shop", Namespace: "flux-system", ComplianceState: "Compliant", AppliedBy: &armapi.ObjectRef{Name: "platform-dev", Namespace: "flux-system"}},
				{Kind: "Kustomization", Name: "shop", Namespace: "flux-system", ComplianceState: "Non-Compliant", AppliedBy: &armapi.ObjectRef{Name: "platform-dev", Namespace: "flux-system"}, StatusConditions: ready("no such folder")},
			}
		})
		same := s.Cluster(west, "other", "edge")
		s.Connect(same, "Offline", now.Add(-time.Hour), nil)
		s.Follow(same, "platform", source.Repo, "dev")
		s.Report(same, "platform", commit, "Compliant")
		stale := s.Cluster(east, "fleet", "stale")
		s.Connect(stale, "Connected", now.Add(-16*time.Minute), nil)
		c := connect(t, s, func(set *arc.Settings) { set.Subscription = east + ", " + west })
		got, err := c.Inventory(t.Context())
		if err != nil || len(got.Clusters) != 3 {
			t.Fatalf("%+v, %v", got, err)
		}
		ref := func(name string) fleet.Ref { return fleet.Ref{Namespace: "flux-system", Name: name} }
		source, other, by := ref("platform"), ref("other"), ref("platform-dev")
		want := fleet.Cluster{
			Name: "fleet/edge", Labels: map[string]string{"region": "east"}, LastSeen: now.Add(-time.Minute), Approximate: true,
			Subscriptions: []fleet.Subscription{
				{Kind: fleet.GitRepository, Ref: other, Source: &other, Repo: "https://github.com/acme/gitops", Branch: "stage", State: fleet.Pending},
				{Kind: fleet.Kustomization, Ref: by, Source: &source, Repo: "https://github.com/acme/gitops", Branch: "dev", Path: "./edge", Commit: commit, Applied: commit, State: fleet.Compliant, At: now.Add(-time.Hour)},
				{Kind: fleet.Kustomization, Ref: ref("shop"), State: fleet.NonCompliant, Reason: "Kustomization shop: no such folder", At: now.Add(-time.Hour), Parent: &by},
			},
		}
		if diff := cmp.Diff(want, got.Clusters[0]); diff != "" {
			t.Error(diff)
		}
		for i, name := range []string{"", "other/edge", "stale"} {
			c := got.Clusters[i]
			if name == "" {
				continue
			}
			if c.Name != name || !strings.Contains(c.Unknown, c.LastSeen.Format(time.RFC3339)) || slices.ContainsFunc(c.Subscriptions, func(s fleet.Subscription) bool { return s.State != fleet.Unknown }) {
				t.Errorf("%+v", c)
			}
		}
		calls := slices.DeleteFunc(s.Calls(), func(c armfake.Call) bool { return c.Login })
		if len(calls) != 2 {
			t.Errorf("%d requests: %+v", len(calls), calls)
		}
	})
}

// TestInventoryOfWhatTheAccountCannotSee is an error, and no fleet without clusters.
func TestInventoryOfWhatTheAccountCannotSee(t *testing.T) {
	s := newAzure(t, 2)
	variables(t, login...)
	c := connect(t, s, func(set *arc.Settings) { set.Subscription = east + "," + west })
	if all, err := c.Inventory(t.Context()); !arc.IsNotFound(err) || len(all.Clusters) > 0 {
		t.Errorf("%+v, %v", all, err)
	}
}
