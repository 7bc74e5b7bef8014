package view

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-dev/kalypso/scheduler/placement"
)

// TestDrift: one cause is one row, the worst first, and what is well or on its way is none.
func TestDrift(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	one := func(cluster, target string, state placement.State, reason string, minutes int) placement.Placement {
		return placement.Placement{Environment: "dev", Cluster: cluster, Target: target, State: state, Reason: reason, Since: now.Add(-time.Duration(minutes) * time.Minute)}
	}
	rows := driftRows([]placement.Placement{
		one("a", "web", placement.Unknown, "connection refused", 1),
		one("b", "web", placement.Failing, "1 of 3 pods are ready", 5),
		one("a", "web", placement.Failing, "2 of 3 pods are ready", 9),
		one("a", "api", placement.Failing, "0 of 3 pods are ready", 7),
		one("c", "api", placement.Failing, "no such image", 3),
		one("c", "web", placement.Rolling, "2 of 3 pods are ready", 1),
		one("d", "web", placement.OK, "", 1),
	}, now)
	var got []DriftDocument
	for _, r := range rows {
		got = append(got, r.Document.(DriftDocument))
	}
	if diff := cmp.Diff([]DriftDocument{
		{"dev", placement.Failing, "# of # pods are ready", "1 of 3 pods are ready", 3, now.Add(-9 * time.Minute), []string{"a", "b"}, []string{"api", "web"}},
		{"dev", placement.Failing, "no such image", "no such image", 1, now.Add(-3 * time.Minute), []string{"c"}, []string{"api"}},
		{"dev", placement.Unknown, "connection refused", "connection refused", 1, now.Add(-time.Minute), []string{"a"}, []string{"web"}},
	}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"failing", "9m", "2", "3", "1 of 3 pods are ready"}, rows[0].Cells); diff != "" || rows[0].Name != "failing" {
		t.Errorf("%s: %s", rows[0].Name, diff)
	}
}
