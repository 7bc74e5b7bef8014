package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/placement"
)

// gathered are the values of the metrics with a prefix, of histograms the counts and sums.
func gathered(t *testing.T, s *store.Store, prefixes ...string) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(s)
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		name := strings.TrimPrefix(f.GetName(), "kalypso_")
		if !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
			continue
		}
		for _, m := range f.GetMetric() {
			key := name
			for _, l := range m.GetLabel() {
				key += " " + l.GetValue()
			}
			if h := m.GetHistogram(); h != nil {
				all[key], all[key+" sum"] = float64(h.GetSampleCount()), h.GetSampleSum()
				continue
			}
			if v := m.GetGauge().GetValue() + m.GetCounter().GetValue(); v != 0 {
				all[key] = v
			}
		}
	}
	return all
}

func testMetrics(t *testing.T, o store.Options) {
	s := open(t, o)
	apply(t, s, store.Round{
		At: noon, Environments: []store.Environment{{Name: "dev", Plan: "error"}, {Name: "stage"}, {Name: "gone"}},
		Clusters: []store.Cluster{{Name: "a", Source: "kubernetes", LastSeen: after(-1), Subscriptions: []fleet.Subscription{{Kind: fleet.Application}}}, {Name: "b", Source: "arc", Reconciler: "flux"}},
		Placements: map[string][]store.Placement{
			"dev": {
				assigned("dev", "a", "edge", "east"), with(assigned("dev", "a", "edge", "west"), placement.Failing, "1 of 3", after(-3)),
				with(assigned("dev", "b", "edge", "east"), placement.Failing, "2 of 3", after(-2)),
			},
			"stage": {assigned("stage", "a", "edge", "east")},
		},
		Problems: map[string][]store.Problem{"dev": {{Environment: "dev", Severity: "error", Message: "x"}, {Environment: "dev", Severity: "warning", Message: "y"}}},
		PullRequests: map[string][]store.PullRequest{
			"dev":   {{Repo: gitOps, Number: 1, Kind: "platform", State: "open", Held: true}, {Repo: gitOps, Number: 2, Kind: "platform", State: "merged"}},
			"stage": {{Repo: gitOps, Number: 3, Kind: "promotion", State: "open"}},
		},
	})
	apply(t, s, store.Round{At: after(1), Environments: []store.Environment{{Name: "dev", Plan: "error"}, {Name: "stage"}}})
	if diff := gocmp.Diff(map[string]float64{
		"placements dev failing": 2, "placements dev ok": 1, "placements stage ok": 1,
		"cluster_info a  kubernetes": 1, "cluster_info b flux arc": 1, "cluster_last_seen_timestamp_seconds a": float64(after(-1).Unix()),
		"cluster_placements a failing": 1, "cluster_placements a ok": 2, "cluster_placements b failing": 1,
		"open_pull_requests dev platform": 1, "open_pull_requests stage promotion": 1,
		"model_drift dev error": 1, "model_drift dev failed": 1, "model_drift dev held": 1,
	}, gathered(t, s, "placements", "cluster", "open", "model")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	applyTo(t, s, after(2), "dev", assigned("dev", "a", "edge", "east"), with(assigned("dev", "a", "edge", "west"), placement.OK, "", after(2)))
	all := gathered(t, s, "placements dev", "restore", "hub_store")
	if all["restore_duration_seconds dev"] != 1 || all["restore_duration_seconds dev sum"] != 300 {
		t.Errorf("restored: %v", all)
	}
	if all["hub_store_duration_seconds Apply"] != 3 || all["hub_store_duration_seconds Collect"] < 1 || all["hub_store_size_bytes"] < 1000 {
		t.Errorf("the database: %v", all)
	}
	if n := all["hub_store_duration_seconds "]; n != 0 {
		t.Errorf("%v queries have no name", n)
	}
}

// testManyClusters: there is no series for each cluster and state where there are too many.
func testManyClusters(t *testing.T, o store.Options) {
	s := open(t, o)
	r := store.Round{At: noon, Environments: []store.Environment{{Name: "dev"}}, Placements: map[string][]store.Placement{}}
	for i := range 2001 {
		name := fmt.Sprintf("c%d", i)
		r.Clusters = append(r.Clusters, store.Cluster{Name: name})
		r.Placements["dev"] = append(r.Placements["dev"], assigned("dev", name, "edge", "east"))
	}
	apply(t, s, r)
	if all := gathered(t, s, "cluster_placements", "placements"); len(all) != 1 || all["placements dev ok"] != 2001 {
		t.Errorf("%d series", len(all))
	}
}

// testCountedChanges: a change counts once, when it has failed and when it has ended, and one that
// had ended before the hub looked does not.
func testCountedChanges(t *testing.T, o store.Options) {
	s := open(t, o)
	withFleet(t, s, "a", "b")
	began := time.Now().Add(time.Minute).Truncate(time.Second)
	at := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
	on := func(cluster string, state store.ChangeState, seconds int) store.ChangeCluster {
		return store.ChangeCluster{Cluster: cluster, ClusterType: "edge", Subscription: "flux/dev", State: state, Since: at(seconds)}
	}
	change := func(number int, clusters ...store.ChangeCluster) store.Change {
		c := merged(number, clusters...)
		c.Stages = store.Stages{Pushed: at(0), Planned: at(2), Opened: at(3), Merged: at(63)}
		return c
	}
	closed := merged(7)
	closed.State, closed.Stages = store.ChangeClosed, store.Stages{Opened: after(1)}
	open := closed
	open.PullRequest, open.State = 8, store.ChangeOpen
	old := merged(9, store.ChangeCluster{Cluster: "a", ClusterType: "edge", Subscription: "flux/dev", State: store.ClusterApplied, Since: after(20)})
	round := func(seconds int, all ...store.Change) { apply(t, s, store.Round{At: at(seconds), Changes: all}) }
	round(64, closed, open, old, change(1, on("a", store.ClusterWaiting, 0), on("b", store.ClusterWaiting, 0)))
	if all := gathered(t, s, "change"); len(all) != 0 {
		t.Errorf("nothing has happened yet: %v", all)
	}
	open.State = store.ChangeClosed
	round(70, open, change(1, on("a", store.ClusterFailing, 70), on("b", store.ClusterWaiting, 0)))
	round(71, change(1, on("a", store.ClusterFailing, 70), on("b", store.ClusterFailing, 71)))
	round(83, change(1, on("a", store.ClusterApplied, 73), on("b", store.ClusterFailing, 71)))
	round(93, change(1, on("a", store.ClusterApplied, 73), on("b", store.ClusterApplied, 93)))
	round(99, change(1, on("a", store.ClusterFailing, 98), on("b", store.ClusterApplied, 93)))
	want := map[string]float64{
		"changes_total dev platform applied": 1, "changes_total dev platform closed": 1, "change_failures_total dev": 1,
		"change_stage_duration_seconds dev platform plan": 1, "change_stage_duration_seconds dev platform plan sum": 2,
		"change_stage_duration_seconds dev platform review": 1, "change_stage_duration_seconds dev platform review sum": 60,
		"change_stage_duration_seconds dev platform fetch": 1, "change_stage_duration_seconds dev platform fetch sum": 10,
		"change_stage_duration_seconds dev platform apply": 1, "change_stage_duration_seconds dev platform apply sum": 20,
		"change_stage_duration_seconds dev platform total": 1, "change_stage_duration_seconds dev platform total sum": 93,
	}
	if diff := gocmp.Diff(want, gathered(t, s, "change")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// testLag: how far a cluster is behind the head of the branch that was read.
func testLag(t *testing.T, o store.Options) {
	s := open(t, o)
	withFleet(t, s, "a", "b", "c")
	applyTo(t, s, after(1), "dev", assigned("dev", "a", "edge", "east"), assigned("dev", "b", "edge", "east"))
	for _, statement := range []string{
		`INSERT INTO branch (id, repo, name) VALUES (100, '` + gitOps + `', 'dev')`,
		`INSERT INTO branch_history (branch_id, epoch, head, length, began_at, read_at, error) VALUES (100, 1, 'x', 9, 0, 0, ''), (100, 2, 'c5', 5, 0, 0, '')`,
		`INSERT INTO branch_commit (branch_id, epoch, seq, sha, author, committed_at, subject, pull_request) VALUES (100, 1, 1, 'c2', '', 0, '', 0), (100, 2, 2, 'c2', '', 0, '', 0), (100, 2, 5, 'c5', '', 0, '', 0)`,
		`INSERT INTO subscription (cluster_id, branch_id, name, sha, state, reason) SELECT id, 100, 'flux/dev', CASE name WHEN 'b' THEN 'c5' ELSE 'c2' END, '', '' FROM cluster`,
	} {
		if _, err := raw(t, o).ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	// b is at the head, which is no lag; c has nothing of the environment
	if diff := gocmp.Diff(map[string]float64{"subscription_lag_commits a dev": 3}, gathered(t, s, "subscription")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// testReports: each view has one row for each thing, with its name.
func testReports(t *testing.T, o store.Options) {
	s := open(t, o)
	withFleet(t, s, "a", "b")
	applyTo(t, s, after(1), "dev", assigned("dev", "a", "edge", "east"), with(assigned("dev", "a", "edge", "west"), placement.Failing, "1 of 3", after(-3)))
	applyTo(t, s, after(2), "dev", assigned("dev", "a", "edge", "east"))
	apply(t, s, store.Round{At: after(3), Changes: []store.Change{merged(1, on("a", store.ClusterApplied, 9))}})
	db := raw(t, o)
	for query, want := range map[string]string{
		`SELECT environment, cluster, cluster_type, workspace, workload, target, state, actual_version FROM report_placement`:                                    "dev a edge kaizen-app-team kaizen-app kaizen-app-east ok 1.0.0",
		`SELECT environment, cluster_type, workload, target, version, state, 'x', 'x' FROM report_version`:                                                       "dev edge kaizen-app kaizen-app-east 1.0.0 ok x x",
		`SELECT environment, gitops_repo, gitops_branch, chain_position, 'x', 'x', 'x', 'x' FROM report_environment WHERE environment = 'stage'`:                 "stage " + gitOps + " stage 1 x x x x",
		`SELECT cluster, environment, cluster_type, workspace, placements, 'x', 'x', 'x' FROM report_cluster WHERE environment <> ''`:                            "a dev edge kaizen-app-team 1 x x x",
		`SELECT cluster, placements, 'x', 'x', 'x', 'x', 'x', 'x' FROM report_cluster WHERE environment = ''`:                                                    "b 0 x x x x x x",
		`SELECT environment, cluster, target, from_state, to_state, seen_at, 'x', 'x' FROM report_transition WHERE target = 'kaizen-app-west' AND to_state = ''`: "dev a kaizen-app-west failing  " + fmt.Sprint(after(2).UnixMilli()) + " x x",
		`SELECT environment, kind, repo, branch, pull_request, title, state, reached FROM report_change`:                                                         "dev platform " + gitOps + " dev 1 Change 1 applied 1",
	} {
		var cells [8]string
		fields := make([]any, len(cells))
		for i := range cells {
			fields[i] = &cells[i]
		}
		rows, err := db.QueryContext(t.Context(), query)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		n := 0
		for rows.Next() {
			n++
			if err := rows.Scan(fields...); err != nil {
				t.Error(err)
			}
		}
		if err := rows.Err(); err != nil || n != 1 || strings.Join(cells[:], " ") != want {
			t.Errorf("%s: %d rows, %q, %v", query, n, cells, err)
		}
		rows.Close()
	}
}

// testTargetHistory: transitions on all clusters and versions, the newest first, page by page.
func testTargetHistory(t *testing.T, o store.Options) {
	s := open(t, o)
	withFleet(t, s, "a", "b")
	east := func(cluster string) store.Placement {
		return with(assigned("dev", cluster, "edge", "east"), placement.OK, "", after(1))
	}
	applyTo(t, s, after(1), "dev", east("a"), east("b"), assigned("dev", "a", "edge", "west"))
	applyTo(t, s, after(5), "dev", east("a"), with(east("b"), placement.Failing, "no image", after(4)), assigned("dev", "a", "edge", "west"))
	for _, statement := range []string{
		`INSERT INTO branch (id, repo, name) VALUES (100, '` + app + `', 'dev-x')`,
		fmt.Sprintf(`INSERT INTO branch_commit (branch_id, epoch, seq, sha, author, committed_at, subject, pull_request) VALUES (100, 1, 1, 'c1', '', %d, '', 0), (100, 1, 2, 'c2', '', %d, '', 0)`, after(0).UnixMilli(), after(3).UnixMilli()),
		`INSERT INTO target_version (branch_id, epoch, environment, target, from_seq, to_seq, version, source_commit) VALUES (100, 1, 'dev', 'kaizen-app-east', 1, 2, '1.0.0', ''), (100, 1, 'dev', 'kaizen-app-east', 2, 0, '1.1.0', ''), (100, 1, 'stage', 'kaizen-app-east', 1, 0, '0.9.0', '')`,
	} {
		if _, err := raw(t, o).ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	history := func(scope store.Scope, f store.PlacementFilter, limit int) (all []string) {
		t.Helper()
		for after := ""; ; {
			list, err := s.TargetHistory(t.Context(), scope, "kaizen-app-east", f, store.Page{Limit: limit, After: after})
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range list.Items {
				all = append(all, strings.Join(strings.Fields(strings.Join([]string{e.At.Sub(noon).String(), e.Environment, e.Cluster, string(e.FromState), string(e.ToState), e.ToVersion, e.Reason}, " ")), " "))
			}
			if after = list.Next; after == "" {
				return all
			}
		}
	}
	want := []string{"4m0s dev b ok failing 1.0.0 no image", "3m0s dev 1.1.0", "1m0s dev b ok 1.0.0", "1m0s dev a ok 1.0.0", "0s dev 1.0.0"}
	dev := store.PlacementFilter{Environments: []string{"dev"}}
	for _, limit := range []int{100, 1, 2} {
		if diff := gocmp.Diff(want, history(store.Scope{}, dev, limit)); diff != "" {
			t.Errorf("limit %d (-want +got):\n%s", limit, diff)
		}
	}
	if all := history(store.Scope{}, store.PlacementFilter{}, 100); len(all) != 6 {
		t.Errorf("all environments: %q", all)
	}
	if all := history(store.Scope{}, store.PlacementFilter{Clusters: []string{"a"}}, 100); len(all) != 1 {
		t.Errorf("one cluster: %q", all)
	}
	for _, scope := range []store.Scope{{Environments: []string{"prod"}}, {Workspaces: []string{"others"}}} {
		if all := history(scope, store.PlacementFilter{}, 100); len(all) != 0 {
			t.Errorf("%v: %q", scope, all)
		}
		if names, err := s.TargetNames(t.Context(), scope); err != nil || len(names) != 0 {
			t.Errorf("%v: %q, %v", scope, names, err)
		}
	}
	if names, err := s.TargetNames(t.Context(), store.Scope{}); err != nil || !slices.Equal(names, []string{"kaizen-app-east", "kaizen-app-west"}) {
		t.Errorf("%q, %v", names, err)
	}
}
