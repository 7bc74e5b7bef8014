package store_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/placement"
)

func testClusters(t *testing.T, o store.Options) {
	s := open(t, o)
	all := exampleFleet(t, s)
	yes, no := true, false
	for name, c := range map[string]struct {
		scope  store.Scope
		filter store.ClusterFilter
		want   []int
	}{
		"names":               {filter: store.ClusterFilter{Names: []string{"Cluster-01", "Cluster-07", "other"}}, want: []int{1, 7}},
		"unknown":             {filter: store.ClusterFilter{Unknown: &yes}, want: []int{3}},
		"known":               {filter: store.ClusterFilter{Unknown: &no, Text: "-0"}, want: []int{0, 1, 2, 4, 5, 6, 7, 8, 9}},
		"types":               {filter: store.ClusterFilter{Types: []string{"cloud"}, Labels: "number in (1,2,3)"}, want: []int{1, 3}},
		"no type there":       {filter: store.ClusterFilter{Types: []string{"cloud"}, Environments: []string{"prod"}}},
		"reconcilers":         {filter: store.ClusterFilter{Reconcilers: []string{"argocd"}, Text: "cluster-0"}, want: []int{1, 2, 4, 5, 7, 8}},
		"states":              {filter: store.ClusterFilter{States: []placement.State{placement.Failing}}, want: []int{0, 7, 8, 9}},
		"states not in scope": {scope: store.Scope{Environments: []string{"stage"}}, filter: store.ClusterFilter{States: []placement.State{placement.Failing}}},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := s.Clusters(t.Context(), c.scope, c.filter, store.Page{Limit: 100})
			if err != nil {
				t.Fatal(err)
			}
			var got, want []string
			for _, c := range list.Items {
				got = append(got, c.Name)
			}
			for _, i := range c.want {
				want = append(want, fmt.Sprintf("Cluster-%02d", i))
			}
			if diff := gocmp.Diff(want, got); diff != "" || list.Total != len(want) {
				t.Errorf("total %d: %s", list.Total, diff)
			}
		})
	}
	c, err := s.Cluster(t.Context(), store.Scope{}, "Cluster-05")
	if err != nil {
		t.Fatal(err)
	}
	want := store.Cluster{
		Name: "Cluster-05", Source: "kubernetes", Reconciler: "flux, argocd", LastSeen: after(-5), FirstSeen: noon, Labels: map[string]string{"region": "east-us", "number": "5"},
		Subscriptions: []fleet.Subscription{{Kind: fleet.Kustomization, Ref: fleet.Ref{Name: "dev"}, State: fleet.Compliant}},
		Types:         map[string]string{"dev": "cloud", "stage": "cloud"}, Counts: map[placement.State]int{},
	}
	for _, p := range all {
		if p.Cluster == c.Name {
			want.Counts[p.State]++
		}
	}
	if diff := gocmp.Diff(want, c); diff != "" {
		t.Error(diff)
	}
}

// cellOf is a cell with names in place of numbers.
type cellOf struct {
	row, col, version string
	state             placement.State
}

func cells(m store.Matrix) map[cellOf]int {
	all := map[cellOf]int{}
	for _, c := range m.Cells {
		all[cellOf{m.Rows[c.Row].Name, m.Cols[c.Col].Name, m.Versions[c.Version], placement.States()[c.State]}] += c.N
	}
	return all
}

func testMatrix(t *testing.T, o store.Options) {
	s := open(t, o)
	all := exampleFleet(t, s)
	for name, c := range map[string]struct {
		scope store.Scope
		query store.MatrixQuery
		want  func(store.Placement) (row, col string, ok bool)
	}{
		"types and targets": {query: store.MatrixQuery{Environment: "dev", Rows: "types", Cols: "targets"}, want: func(p store.Placement) (string, string, bool) {
			return p.ClusterType, p.Target, p.Environment == "dev"
		}},
		"types and workloads": {query: store.MatrixQuery{Environment: "stage", Rows: "types", Cols: "workloads"}, want: func(p store.Placement) (string, string, bool) {
			return p.ClusterType, p.Workload, p.Environment == "stage"
		}},
		"types by labels": {query: store.MatrixQuery{Environment: "dev", Rows: "types", Cols: "targets", PlacementFilter: store.PlacementFilter{Labels: "number in (0,1,2,3)"}}, want: func(p store.Placement) (string, string, bool) {
			return p.ClusterType, p.Target, p.Environment == "dev" && p.Cluster <= "Cluster-03"
		}},
		"types by state": {query: store.MatrixQuery{Environment: "dev", Rows: "types", Cols: "targets", PlacementFilter: store.PlacementFilter{States: []placement.State{placement.Failing}}}, want: func(p store.Placement) (string, string, bool) {
			return p.ClusterType, p.Target, p.Environment == "dev" && p.State == placement.Failing
		}},
		"clusters and targets": {query: store.MatrixQuery{Environment: "dev", Rows: "clusters", Cols: "targets"}, want: func(p store.Placement) (string, string, bool) {
			return p.Cluster, p.Target, p.Environment == "dev"
		}},
		"clusters of a type, what fails": {query: store.MatrixQuery{Environment: "dev", Rows: "clusters", Cols: "workloads", ClusterType: "edge", PlacementFilter: store.PlacementFilter{States: []placement.State{placement.Failing}}},
			want: func(p store.Placement) (string, string, bool) {
				return p.Cluster, p.Workload, p.Environment == "dev" && p.ClusterType == "edge" && p.State == placement.Failing
			}},
		"scope": {scope: store.Scope{Workspaces: []string{"hello-team"}}, query: store.MatrixQuery{Environment: "dev", Rows: "clusters", Cols: "targets"}, want: func(p store.Placement) (string, string, bool) {
			return p.Cluster, p.Target, p.Environment == "dev" && p.Workspace == "hello-team"
		}},
		"not in scope": {scope: store.Scope{Environments: []string{"stage"}}, query: store.MatrixQuery{Environment: "dev", Rows: "types", Cols: "targets"}, want: func(p store.Placement) (string, string, bool) {
			return "", "", false
		}},
	} {
		t.Run(name, func(t *testing.T) {
			want := map[cellOf]int{}
			rows, cols := map[string]bool{}, map[string]bool{}
			for _, p := range all {
				if row, col, ok := c.want(p); ok {
					want[cellOf{row, col, shown(p), p.State}]++
					rows[row], cols[col] = true, true
				}
			}
			for _, limit := range []int{1, 100} {
				got := map[cellOf]int{}
				q := c.query
				q.Limit = limit
				var names []string
				for {
					m, err := s.Matrix(t.Context(), c.scope, q)
					if err != nil {
						t.Fatal(err)
					}
					maps.Copy(got, cells(m))
					for _, r := range m.Rows {
						names = append(names, r.Name)
						if q.Rows == "types" && r.Clusters != fleetClusters/2 || q.Rows == "clusters" && (r.Clusters != 1 || r.ClusterType == "") {
							t.Errorf("row %+v", r)
						}
					}
					if len(m.Cols) != len(cols) {
						t.Errorf("columns %+v", m.Cols)
					}
					if q.After = m.Next; q.After == "" {
						break
					}
				}
				if diff := gocmp.Diff(want, got, gocmp.AllowUnexported(cellOf{})); diff != "" {
					t.Errorf("pages of %d: %s", limit, diff)
				}
				if len(names) != len(rows) || !slices.IsSorted(names) {
					t.Errorf("pages of %d: rows %v", limit, names)
				}
			}
		})
	}
}

func testDrift(t *testing.T, o store.Options) {
	s := open(t, o)
	all := exampleFleet(t, s)
	list, err := s.Drift(t.Context(), store.Scope{}, store.PlacementFilter{}, store.Page{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[placement.State]int{}
	for _, p := range all {
		if slices.Index(placement.States(), p.State) <= slices.Index(placement.States(), placement.Late) {
			want[p.State]++
		}
	}
	got := map[placement.State]int{}
	for _, g := range list.Items {
		got[g.State] += g.N
		if g.Environment != "dev" || g.Reason != "Reason # of "+string(g.State) || !strings.HasPrefix(g.Example, "Reason ") || g.Example == g.Reason ||
			len(g.ClusterNames) != g.Clusters || g.Clusters == 0 || len(g.Targets) == 0 || !slices.IsSorted(g.ClusterNames) {
			t.Errorf("%+v", g)
		}
		for _, p := range all {
			if p.State == g.State && p.Since.Before(g.Since) {
				t.Errorf("%s is since %s, and of its group %s is", id(p), p.Since, g.Since)
			}
		}
	}
	if diff := gocmp.Diff(want, got); diff != "" || len(list.Items) != len(want) {
		t.Errorf("%d groups: %s", len(list.Items), diff)
	}
	list, err = s.Drift(t.Context(), store.Scope{Workspaces: []string{"hello-team"}}, store.PlacementFilter{States: []placement.State{placement.Unknown}}, store.Page{})
	if err != nil || len(list.Items) != 1 || len(list.Items[0].Targets) != 1 || list.Items[0].State != placement.Unknown {
		t.Errorf("%+v, %v", list, err)
	}
}

func testOverview(t *testing.T, o store.Options) {
	s := open(t, o)
	exampleFleet(t, s)
	problem := store.Problem{Severity: "error", Position: "policy.yaml:3", Message: "no such label", Hint: "did you mean edge?"}
	warning := store.Problem{Severity: "warning", Position: "a.yaml:1", Message: "not used"}
	open1 := store.PullRequest{Repo: gitOps, Number: 1, Kind: "platform", Title: "dev", State: "open", Author: "kalypso", URL: gitOps + "/pulls/1", Held: true, Opened: after(-10)}
	merged := store.PullRequest{Repo: gitOps, Number: 2, Kind: "platform", Title: "dev", State: "merged", Author: "kalypso", Opened: after(-20), Merged: after(-15), MergedBy: "ada"}
	r := store.Round{At: noon, Environments: []store.Environment{
		{Name: "dev", ControlPlane: "http://forge/acme/control-plane", ControlPlaneBranch: "dev", Commit: commit(7), GitOpsRepo: gitOps, GitOpsBranch: "dev", GitOpsCommit: commit(8), Plan: "synced"},
		{Name: "stage", Position: 1, Plan: "error", Error: "policy.yaml:3: no such label"},
	},
		Problems:     map[string][]store.Problem{"": {warning}, "dev": {warning, problem, problem}},
		PullRequests: map[string][]store.PullRequest{"dev": {open1, merged}},
		Sources: []store.Source{{Name: "git", State: "ok", LastOK: noon, LastTry: noon, Took: 1200 * 1000 * 1000},
			{Name: "arc", State: "failing", Reason: "throttled", LastTry: noon}},
	}
	apply(t, s, r)
	last, _ := s.LastMessage(t.Context())
	apply(t, s, r)
	if now, err := s.LastMessage(t.Context()); now != last || err != nil {
		t.Errorf("messages %d to %d of the same again, %v", last, now, err)
	}
	environments, err := s.Environments(t.Context(), store.Scope{})
	if err != nil || len(environments) != 2 {
		t.Fatal(environments, err)
	}
	want := r.Environments[0]
	want.AsOf, want.Counts = noon, environments[0].Counts
	if diff := gocmp.Diff(want, environments[0]); diff != "" {
		t.Error(diff)
	}
	if environments[1].Counts[placement.OK] != 3*fleetClusters || environments[1].Error == "" {
		t.Errorf("%+v", environments[1])
	}

	r.Problems["dev"] = []store.Problem{problem}
	r.At = after(1)
	apply(t, s, r)
	problems, err := s.Problems(t.Context(), store.Scope{})
	problem.Environment, problem.FirstSeen, warning.FirstSeen = "dev", noon, noon
	if diff := gocmp.Diff([]store.Problem{problem, warning}, problems); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if problems, err = s.Problems(t.Context(), store.Scope{Environments: []string{"stage"}}); len(problems) != 0 || err != nil {
		t.Errorf("%+v, %v", problems, err)
	}
	open1.Environment = "dev"
	pulls, err := s.PullRequests(t.Context(), store.Scope{}, nil, []string{"open"}, store.Page{})
	if diff := gocmp.Diff([]store.PullRequest{open1}, pulls.Items); diff != "" || err != nil || pulls.Total != 1 {
		t.Error(err, pulls.Total, diff)
	}
	r.PullRequests["dev"] = []store.PullRequest{merged}
	apply(t, s, r)
	if pulls, err = s.PullRequests(t.Context(), store.Scope{}, nil, nil, store.Page{}); err != nil || len(pulls.Items) != 1 || pulls.Items[0].MergedBy != "ada" {
		t.Errorf("%+v, %v", pulls, err)
	}
	sources, err := s.Sources(t.Context())
	if diff := gocmp.Diff([]store.Source{r.Sources[1], r.Sources[0]}, sources); diff != "" || err != nil {
		t.Error(err, diff)
	}
	workloads, err := s.Workloads(t.Context(), store.Scope{})
	if err != nil || len(workloads) != 2 || workloads[0].Name != "hello" || workloads[1].Workspace != "kaizen-app-team" {
		t.Fatal(workloads, err)
	}
	wantStage := store.WorkloadEnvironment{Targets: []string{"kaizen-app-a", "kaizen-app-b"}, Versions: map[string]int{"1.0.0": 2 * fleetClusters}, Counts: map[placement.State]int{placement.OK: 2 * fleetClusters}}
	if diff := gocmp.Diff(wantStage, workloads[1].Environments["stage"]); diff != "" {
		t.Error(diff)
	}
}

// what is not in scope is in no answer
func testScope(t *testing.T, o store.Options) {
	s := open(t, o)
	exampleFleet(t, s)
	applyTo(t, s, noon, "prod", assigned("prod", "alone", "edge", "a"))
	scope := store.Scope{Workspaces: []string{"hello-team"}, Environments: []string{"dev", "prod"}}
	const n = fleetClusters
	environments, err := s.Environments(t.Context(), scope)
	if err != nil || len(environments) != 2 || sum(environments[0].Counts) != n || sum(environments[1].Counts) != 0 {
		t.Errorf("%+v, %v", environments, err)
	}
	workloads, err := s.Workloads(t.Context(), scope)
	if err != nil || len(workloads) != 1 || workloads[0].Name != "hello" || len(workloads[0].Environments) != 1 {
		t.Errorf("%+v, %v", workloads, err)
	}
	clusters, err := s.Clusters(t.Context(), scope, store.ClusterFilter{}, store.Page{Limit: 100})
	if err != nil || len(clusters.Items) != n || clusters.Total != n {
		t.Errorf("%+v, %v", clusters, err)
	}
	for _, c := range clusters.Items {
		if sum(c.Counts) != 1 || len(c.Types) != 1 {
			t.Errorf("%+v", c)
		}
	}
	if c, err := s.Cluster(t.Context(), scope, "Cluster-01"); err != nil || c.Subscriptions != nil {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := s.Cluster(t.Context(), scope, "alone"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("error %v", err)
	}
	if _, err := s.Placement(t.Context(), scope, "dev", "Cluster-01", "kaizen-app-a"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("error %v", err)
	}
	if list, err := s.PlacementEvents(t.Context(), scope, "dev", "Cluster-01", "kaizen-app-a", store.Page{}); err != nil || len(list.Items) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	if list, err := s.PlacementEvents(t.Context(), scope, "dev", "Cluster-01", "hello-x", store.Page{}); err != nil || len(list.Items) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
}

func sum[K comparable](counts map[K]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// a list as long as that of a CSV is read in pages, each as fast as the first
func testLongList(t *testing.T, o store.Options) {
	s := open(t, o)
	const clusters, targets = 200, 50
	var all []store.Placement
	for c := range clusters {
		for n := range targets {
			all = append(all, assigned("dev", fmt.Sprintf("c%03d", c), "edge", fmt.Sprint(n)))
		}
	}
	applyTo(t, s, noon, "dev", all...)
	got := inPages(t, 500, "cluster", func(p store.Page) (store.List[store.Placement], error) {
		return s.Placements(t.Context(), store.Scope{}, store.PlacementFilter{Text: "C"}, p)
	})
	if len(got) != len(all) || !slices.IsSortedFunc(got, func(a, b store.Placement) int { return cmp.Compare(a.Cluster, b.Cluster) }) {
		t.Errorf("%d of %d placements", len(got), len(all))
	}
	// readers of live events are told once for all
	messages, err := s.Outbox(t.Context(), 0, 10_000)
	if err != nil || len(messages) > 501 {
		t.Errorf("%d messages, %v", len(messages), err)
	}
}
