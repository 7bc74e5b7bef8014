package store_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/placement"
)

func events(t *testing.T, s *store.Store, environment, cluster, target string) []store.Event {
	t.Helper()
	list, err := s.PlacementEvents(t.Context(), store.Scope{}, environment, cluster, "kaizen-app-"+target, store.Page{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.IsSortedFunc(list.Items, func(a, b store.Event) int { return int(b.ID - a.ID) }) {
		t.Errorf("events are not the newest first: %+v", list.Items)
	}
	for i := range list.Items {
		list.Items[i].ID = 0
	}
	return list.Items
}

func testRounds(t *testing.T, o store.Options) {
	s := open(t, o)
	first, second := assigned("dev", "drone", "edge", "a"), assigned("dev", "large", "cloud", "b")
	first.Labels = map[string]string{"region": "west-us"}
	if n := applyTo(t, s, noon, "dev", first, second); n != 2 {
		t.Errorf("%d transitions", n)
	}
	want := first
	want.AsOf = noon
	if diff := cmp.Diff(want, one(t, s, "dev", "drone", "a")); diff != "" {
		t.Error(diff)
	}
	last, err := s.LastMessage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := applyTo(t, s, after(1), "dev", first, second); n != 0 {
		t.Errorf("%d transitions in the same again", n)
	}
	if same, err := s.LastMessage(t.Context()); same != last || err != nil {
		t.Errorf("message %d after %d, %v", same, last, err)
	}
	if at := one(t, s, "dev", "large", "b").AsOf; !at.Equal(after(1)) {
		t.Errorf("as of %s", at)
	}

	failed := with(first, placement.Failing, "pod kaizen-7d9f8 of 3 restarts", after(2))
	failed.Actual.Commit, failed.Actual.Version = commit(2), "1.1.0"
	if n := applyTo(t, s, after(3), "dev", failed, second); n != 1 {
		t.Errorf("%d transitions", n)
	}
	// the same cause with other numbers is no transition, but is shown
	again := with(failed, placement.Failing, "pod kaizen-6c8e7 of 4 restarts", after(2))
	if n := applyTo(t, s, after(4), "dev", again, second); n != 0 {
		t.Errorf("%d transitions by the numbers of a reason", n)
	}
	if p := one(t, s, "dev", "drone", "a"); p.Reason != again.Reason || p.State != placement.Failing || !p.Since.Equal(after(2)) {
		t.Errorf("%+v", p)
	}
	// another commit is asked for: no transition of what runs, and readers are told
	asked := again
	asked.Desired.Commit, asked.Desired.Version = commit(3), "1.2.0"
	last, _ = s.LastMessage(t.Context())
	if n := applyTo(t, s, after(5), "dev", asked, second); n != 0 {
		t.Errorf("%d transitions by what is asked for", n)
	}
	if now, err := s.LastMessage(t.Context()); now == last || err != nil {
		t.Errorf("no message, %v", err)
	}
	if n := applyTo(t, s, after(6), "dev", second); n != 1 {
		t.Errorf("%d transitions", n)
	}
	at := store.Event{Environment: "dev", Cluster: "drone", Target: "kaizen-app-a"}
	appeared, changed, gone := at, at, at
	appeared.At, appeared.SeenAt, appeared.ToState, appeared.ToVersion, appeared.ToCommit = after(-60), noon, placement.OK, "1.0.0", commit(1)
	changed.At, changed.SeenAt, changed.Reason = after(2), after(3), failed.Reason
	changed.FromState, changed.FromVersion, changed.FromCommit = placement.OK, "1.0.0", commit(1)
	changed.ToState, changed.ToVersion, changed.ToCommit = placement.Failing, "1.1.0", commit(2)
	gone.At, gone.SeenAt, gone.FromState, gone.FromVersion, gone.FromCommit = after(6), after(6), placement.Failing, "1.1.0", commit(2)
	got := events(t, s, "dev", "drone", "a")
	got[0].Reason = ""
	if diff := cmp.Diff([]store.Event{gone, changed, appeared}, got); diff != "" {
		t.Error(diff)
	}
	if _, err := s.Placement(t.Context(), store.Scope{}, "dev", "drone", "kaizen-app-a"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("error %v", err)
	}
}

// what is unknown stays at the version that was seen last
func testMemory(t *testing.T, o store.Options) {
	s := open(t, o)
	p := assigned("dev", "drone", "edge", "a")
	applyTo(t, s, noon, "dev", p)
	unknown := with(p, placement.Unknown, "connection refused", time.Time{})
	unknown.Actual = placement.Revision{}
	if n := applyTo(t, s, after(1), "dev", unknown); n != 1 {
		t.Errorf("%d transitions", n)
	}
	got := one(t, s, "dev", "drone", "a")
	if diff := cmp.Diff(p.Actual, got.Actual); diff != "" || got.State != placement.Unknown || !got.Since.Equal(after(1)) {
		t.Errorf("%+v%s", got, diff)
	}
	// the state stays, so since does
	unknown.Reason = "no route to host"
	applyTo(t, s, after(5), "dev", unknown)
	if got := one(t, s, "dev", "drone", "a"); !got.Since.Equal(after(1)) || got.Reason != unknown.Reason || got.Actual != p.Actual {
		t.Errorf("%+v", got)
	}
	// what a round does say is believed
	unknown.Actual = placement.Revision{Repo: app, Branch: "dev", Commit: commit(2), Version: "1.1.0"}
	applyTo(t, s, after(6), "dev", unknown)
	if got := one(t, s, "dev", "drone", "a"); got.Actual != unknown.Actual {
		t.Errorf("%+v", got)
	}
	missing := with(p, placement.Missing, "Kustomization is not there", time.Time{})
	missing.Actual = placement.Revision{}
	applyTo(t, s, after(7), "dev", missing)
	if got := one(t, s, "dev", "drone", "a"); got.Actual != (placement.Revision{}) || got.State != placement.Missing {
		t.Errorf("%+v", got)
	}
}

// a fleet that has just been started knows nothing of a cluster that does not answer
func testRememberedCluster(t *testing.T, o store.Options) {
	s := open(t, o)
	a, b := assigned("dev", "drone", "edge", "a"), assigned("dev", "drone", "edge", "b")
	other := assigned("dev", "large", "cloud", "a")
	follows := []fleet.Subscription{{Kind: fleet.Kustomization, Ref: fleet.Ref{Name: "dev"}, Repo: gitOps, Branch: "dev", Path: "edge", State: fleet.Compliant}}
	up := []store.Cluster{
		{Name: "drone", Source: "kubernetes", Reconciler: "flux", LastSeen: noon, Labels: map[string]string{"edge": "true"}, Subscriptions: follows},
		{Name: "large", Source: "kubernetes", LastSeen: noon},
	}
	apply(t, s, store.Round{At: noon, Clusters: up, Placements: map[string][]store.Placement{"dev": {a, b, other}, "stage": {}}})

	blank := func(environment, cluster string) store.Placement {
		return store.Placement{Placement: placement.Placement{Environment: environment, Cluster: cluster, State: placement.Unknown, Reason: "connection refused"}}
	}
	down := []store.Cluster{{Name: "drone", Unknown: "connection refused"}, up[1], {Name: "new", Unknown: "connection refused"}}
	round := store.Round{At: after(5), Clusters: down, Placements: map[string][]store.Placement{
		"dev": {blank("dev", "drone"), other, blank("dev", "new")}, "stage": {blank("stage", "drone"), blank("stage", "new")},
	}}
	if n := apply(t, s, round); n != 4 {
		t.Errorf("%d transitions", n)
	}
	var got []string
	for _, p := range placements(t, s, store.Scope{}, store.PlacementFilter{}) {
		got = append(got, strings.Join([]string{p.Environment, p.Cluster, p.ClusterType, p.Target, string(p.State), p.Actual.Version, p.AsOf.Format("15:04")}, " "))
	}
	want := []string{
		"dev drone edge kaizen-app-a unknown 1.0.0 12:00", "dev drone edge kaizen-app-b unknown 1.0.0 12:00", "dev large cloud kaizen-app-a ok 1.0.0 12:05",
		"dev new   unknown  00:00", "stage new   unknown  00:00",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if p := one(t, s, "dev", "drone", "a"); !p.Since.Equal(noon) || p.Reason != "connection refused" || p.Desired != a.Desired {
		t.Errorf("%+v", p)
	}
	c, err := s.Cluster(t.Context(), store.Scope{}, "drone")
	if err != nil {
		t.Fatal(err)
	}
	if c.Unknown == "" || !c.LastSeen.Equal(noon) || c.Labels["edge"] != "true" || c.Reconciler != "flux" || c.Types["dev"] != "edge" ||
		len(c.Subscriptions) != 1 || c.Subscriptions[0].State != fleet.Unknown || c.Subscriptions[0].Path != "edge" {
		t.Errorf("%+v", c)
	}
	round.At = after(6)
	if n := apply(t, s, round); n != 0 {
		t.Errorf("%d transitions in the same again", n)
	}
	// all answer again
	up[0].LastSeen, up = after(7), append(up, store.Cluster{Name: "new", LastSeen: after(7)})
	apply(t, s, store.Round{At: after(7), Clusters: up, Placements: map[string][]store.Placement{"dev": {a, b, other, assigned("dev", "new", "edge", "a")}, "stage": {}}})
	if all := placements(t, s, store.Scope{}, store.PlacementFilter{}); len(all) != 4 || slices.ContainsFunc(all, func(p store.Placement) bool { return p.State != placement.OK }) {
		t.Errorf("%+v", all)
	}
}

// what was merged before a cluster came is not late on it at once
func testFirstSeen(t *testing.T, o store.Options) {
	s := open(t, o)
	late := func(cluster string) store.Placement {
		return with(assigned("dev", cluster, "edge", "a"), placement.Late, "commit is not applied yet", after(-60))
	}
	applyTo(t, s, noon, "dev", late("old"))
	both := []store.Placement{late("old"), late("new")}
	applyTo(t, s, after(1), "dev", both...)
	if both[1].State != placement.Late {
		t.Errorf("the round was changed: %+v", both[1])
	}
	if p := one(t, s, "dev", "old", "a"); p.State != placement.Late {
		t.Errorf("%+v", p)
	}
	if p := one(t, s, "dev", "new", "a"); p.State != placement.Rolling || !p.Since.Equal(after(1)) {
		t.Errorf("%+v", p)
	}
	if n := applyTo(t, s, after(12), "dev", late("old"), late("new")); n != 1 {
		t.Errorf("%d transitions", n)
	}
	if p := one(t, s, "dev", "new", "a"); p.State != placement.Late || !p.Since.Equal(after(1)) {
		t.Errorf("%+v", p)
	}
}

func testGone(t *testing.T, o store.Options) {
	s := open(t, o)
	environments := []store.Environment{{Name: "dev"}, {Name: "stage", Position: 1}}
	clusters := []store.Cluster{{Name: "drone", LastSeen: noon}, {Name: "large", LastSeen: noon}}
	all := map[string][]store.Placement{
		"dev": {assigned("dev", "drone", "edge", "a"), assigned("dev", "large", "cloud", "a")}, "stage": {assigned("stage", "large", "cloud", "a")},
	}
	apply(t, s, store.Round{At: noon, Environments: environments, Clusters: clusters, Placements: all,
		Problems: map[string][]store.Problem{"stage": {{Severity: "error", Message: "broken"}}}})
	// the list of an environment may still have what is on a cluster that is gone
	if n := apply(t, s, store.Round{At: after(1), Environments: environments, Clusters: clusters[1:], Placements: all}); n != 1 {
		t.Errorf("%d transitions", n)
	}
	if _, err := s.Cluster(t.Context(), store.Scope{}, "drone"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("error %v", err)
	}
	if all := events(t, s, "dev", "drone", "a"); len(all) != 2 || all[0].ToState != "" {
		t.Errorf("%+v", all)
	}
	if n := apply(t, s, store.Round{At: after(2), Environments: environments[:1]}); n != 1 {
		t.Errorf("%d transitions", n)
	}
	got, err := s.Environments(t.Context(), store.Scope{})
	if err != nil || len(got) != 1 || got[0].Name != "dev" || got[0].Counts[placement.OK] != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if problems, err := s.Problems(t.Context(), store.Scope{}); len(problems) != 0 || err != nil {
		t.Errorf("%+v, %v", problems, err)
	}
	// what comes back is as new, with its history
	apply(t, s, store.Round{At: after(3), Environments: environments, Clusters: clusters, Placements: all})
	if all := events(t, s, "dev", "drone", "a"); len(all) != 3 || all[0].FromState != "" || all[0].ToState != placement.OK {
		t.Errorf("%+v", all)
	}
	checkRollups(t, raw(t, o))
}

// texts of clusters are what they are
func testTexts(t *testing.T, o store.Options) {
	s := open(t, o)
	p := with(assigned("dev", "drone", "edge", "a"), placement.Failing, "a\x00b \xff <script> "+strings.Repeat("x", 10_000), after(-1))
	p.Actual.Version = "1.0.0'; DROP TABLE placement --"
	applyTo(t, s, noon, "dev", p)
	got := one(t, s, "dev", "drone", "a")
	if !strings.HasPrefix(got.Reason, "a\uFFFDb \uFFFD <script> xxx") || len(got.Reason) > 5_000 || got.Actual.Version != p.Actual.Version {
		t.Errorf("%+v", got)
	}
	if n := applyTo(t, s, after(1), "dev", p); n != 0 {
		t.Errorf("%d transitions in the same again", n)
	}
	list, err := s.Placements(t.Context(), store.Scope{}, store.PlacementFilter{Text: "\x00", Versions: []string{"\xff"}}, store.Page{})
	if err != nil || len(list.Items) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
}

func testStates(t *testing.T, o store.Options) {
	open(t, o)
	rows, err := raw(t, o).QueryContext(t.Context(), `SELECT name FROM state ORDER BY id`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var got []placement.State
	for rows.Next() {
		var name placement.State
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		got = append(got, name)
	}
	if diff := cmp.Diff(placement.States(), got); diff != "" || rows.Err() != nil {
		t.Errorf("the database's states are not those of placements: %v%s", rows.Err(), diff)
	}
}
