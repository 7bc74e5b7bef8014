package arc_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/testkit/armfake"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
)

// TestFleet asks about hundreds of clusters in two subscriptions with a query
// per page, and one request for the subscription that has none of them.
func TestFleet(t *testing.T) {
	variables(t, login...)
	s := armfake.Start(t, east, west)
	s.App(app, secret)
	for i := range 2400 {
		id := []string{east, west}[i%2]
		cluster := s.Cluster(id, fmt.Sprintf("site-%04d", i/2), "edge") // all have one name
		s.Follow(cluster, "platform", source.Repo, source.Branch)
		s.Report(cluster, "platform", commit, "Compliant")
	}
	c := connect(t, s, func(set *arc.Settings) { set.Subscription = east + ", " + west })
	all, err := c.Observe(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, one := range all {
		names[one.ID()] = true
	}
	if v := fleet.Judge(all, commit); len(names) != 2400 || v.Decision != fleet.Arrived || v.Reached != 2400 {
		t.Errorf("%d names, %+v", len(names), v.Decision)
	}
	calls := slices.DeleteFunc(s.Calls(), func(c armfake.Call) bool { return c.Login })
	if len(calls) != 3 {
		t.Errorf("%d requests: %+v", len(calls), calls)
	}
	if all, err = c.Observe(t.Context(), fleet.Source{Repo: source.Repo, Branch: "nobody's"}); err != nil || len(all) != 0 {
		t.Errorf("%v %v", all, err)
	}
}

// TestNobodyIsNotNothing: what the account cannot see is not a fleet without
// clusters, though the graph answers as if it were.
func TestNobodyIsNotNothing(t *testing.T) {
	s := newAzure(t, 2)
	variables(t, login...)
	c := connect(t, s, func(set *arc.Settings) { set.Subscription = east + "," + west })
	_, err := c.Observe(t.Context(), source)
	if !arc.IsNotFound(err) || !strings.Contains(err.Error(), west) || !strings.Contains(err.Error(), "AZURE_TENANT_ID") {
		t.Errorf("%v", err)
	}
}
