package fleet

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type snapshotReader struct {
	observed
	clusters []Cluster
}

func (r snapshotReader) Inventory(context.Context) (Snapshot, error) {
	return Snapshot{Clusters: r.clusters}, r.err
}

func kustomization(name, source, parent string, state State) Subscription {
	s := Subscription{
		Kind: Kustomization, Ref: Ref{"flux-system", name}, Source: &Ref{"flux-system", source},
		Repo: "http://forge/acme/" + source, Branch: "dev", Commit: wanted, State: state, Reason: "of " + name,
	}
	if parent != "" {
		s.Parent = &Ref{"flux-system", parent}
	}
	return s
}

// TestObserveIsAFilter: what a subscription has brought decides, also through others; two
// that apply each other end; a GitRepository brings nothing, whatever its name.
func TestObserveIsAFilter(t *testing.T) {
	c := Cluster{Name: "drone", Subscriptions: []Subscription{
		kustomization("platform", "gitops", "", Compliant),
		kustomization("beside", "gitops", "", Compliant),
		kustomization("shop", "shop", "platform", Compliant),
		kustomization("inner", "shop", "shop", Pending),
		kustomization("a", "other", "b", Suspended),
		kustomization("b", "other", "a", Compliant),
		{Kind: GitRepository, Ref: Ref{"flux-system", "platform"}, Source: &Ref{"flux-system", "platform"}, Repo: "http://forge/acme/alone", Branch: "dev", State: Compliant},
		{Kind: Application, Ref: Ref{"argocd", "app"}, Repo: "http://forge/acme/app.git/", Branch: "dev", State: NonCompliant, Reason: "broken"},
	}}
	for repo, want := range map[string]Configuration{
		"gitops": {Cluster: "drone", Name: "gitops", Commit: wanted, State: Pending, Reason: "of inner"},
		"shop":   {Cluster: "drone", Name: "shop", Commit: wanted, State: Pending, Reason: "of inner"},
		"other":  {Cluster: "drone", Name: "other", Commit: wanted, State: Suspended, Reason: "of a"},
		"alone":  {Cluster: "drone", Name: "platform", State: Compliant},
		"app":    {Cluster: "drone", Name: "app", State: NonCompliant, Reason: "broken"},
	} {
		got, err := Observe(t.Context(), snapshotReader{clusters: []Cluster{c}}, Source{Repo: "http://forge/acme/" + repo, Branch: "dev"})
		if diff := cmp.Diff([]Configuration{want}, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", repo, err, diff)
		}
	}
	if got := c.Configurations(Source{Repo: "http://forge/acme/shop", Branch: "qa"}); len(got) > 0 {
		t.Errorf("another branch: %+v", got)
	}
}

// TestUnknownIsNeverGreen: what is not known is an error to the gate, or Unknown.
func TestUnknownIsNeverGreen(t *testing.T) {
	from := Source{Repo: "http://forge/acme/gitops", Branch: "dev"}
	dead := UnknownCluster("dead", errors.New("no route"))
	if got, err := Observe(t.Context(), snapshotReader{clusters: []Cluster{dead}}, from); err == nil || !strings.Contains(err.Error(), "no route") {
		t.Errorf("%+v, %v", got, err)
	}
	seen := Cluster{Name: "seen", Subscriptions: []Subscription{kustomization("platform", "gitops", "", Compliant)}}
	seen.Forget("it is offline")
	got, err := Observe(t.Context(), snapshotReader{clusters: []Cluster{seen}}, from)
	if err != nil || len(got) != 1 || got[0].State != Unknown || got[0].Commit != wanted || Judge(got, wanted).Decision != Waiting {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestInventoryOfSeveral: one cluster of several readers is put together, and what it says
// itself counts.
func TestInventoryOfSeveral(t *testing.T) {
	azure := func(unknown string, name string) Cluster {
		c := Cluster{Name: name, Approximate: true, Labels: map[string]string{"region": "east"}, Subscriptions: []Subscription{kustomization("platform", "gitops", "", Compliant)}}
		if unknown != "" {
			c.Forget(unknown)
		}
		return c
	}
	own := Cluster{Name: "both", Subscriptions: []Subscription{kustomization("platform", "gitops", "", NonCompliant)}}
	argo := Cluster{Name: "both", Subscriptions: []Subscription{{Kind: Application, Ref: Ref{"argocd", "app"}, State: Compliant}}}
	all := Observers{
		snapshotReader{clusters: []Cluster{azure("offline", "both"), azure("", "half"), azure("", "azure")}},
		snapshotReader{clusters: []Cluster{own}}, snapshotReader{clusters: []Cluster{argo}},
		snapshotReader{clusters: []Cluster{{Name: "half", Subscriptions: []Subscription{kustomization("platform", "gitops", "", Compliant)}}}},
		snapshotReader{clusters: []Cluster{UnknownCluster("half", errors.New("timeout"))}},
	}
	s, err := all.Inventory(t.Context())
	if err != nil || len(s.Clusters) != 3 || s.At.IsZero() {
		t.Fatalf("%+v, %v", s, err)
	}
	for i, want := range []struct {
		name, unknown string
		approximate   bool
		states        []State
	}{
		{"azure", "", true, []State{Compliant}},
		{"both", "", false, []State{Compliant, NonCompliant}},
		{"half", "timeout", false, []State{Unknown}},
	} {
		c := s.Clusters[i]
		var states []State
		for _, one := range c.Subscriptions {
			states = append(states, one.State)
		}
		if c.Name != want.name || c.Unknown != want.unknown || c.Approximate != want.approximate || c.Labels["region"] != "east" {
			t.Errorf("%+v, want %+v", c, want)
		}
		if diff := cmp.Diff(want.states, states); diff != "" {
			t.Errorf("%s: %s", c.Name, diff)
		}
	}
	down := errors.New("down")
	if s, err := append(all, snapshotReader{observed: observed{err: down}}).Inventory(t.Context()); !errors.Is(err, down) || len(s.Clusters) != 3 {
		t.Errorf("one reader fails: %+v, %v", s, err)
	}
	if _, err := (Observers{observed{}}).Inventory(t.Context()); err == nil {
		t.Error("an observer of branches was read whole")
	}
}
