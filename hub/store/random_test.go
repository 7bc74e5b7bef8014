package store_test

import (
	"cmp"
	"database/sql"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/scheduler/placement"
)

// checkRollups fails where the roll-ups are not what counting gives.
func checkRollups(t *testing.T, db *sql.DB) {
	t.Helper()
	for name, queries := range map[string][2]string{
		"rollup": {
			`SELECT r.assignment_id, r.version, r.state, e.name, '', r.n FROM rollup r JOIN environment e ON e.id = r.environment_id`,
			`SELECT p.assignment_id, CASE WHEN p.actual_version <> '' THEN p.actual_version ELSE substr(p.actual_commit, 1, 8) END, p.state, e.name, '', count(*)
				FROM placement p JOIN assignment a ON a.id = p.assignment_id JOIN environment e ON e.id = a.environment_id GROUP BY 1, 2, 3, 4`,
		},
		"cluster_rollup": {
			`SELECT environment_id, cluster_type, cluster_id, workspace, '', n FROM cluster_rollup`,
			`SELECT p.environment_id, a.cluster_type, p.cluster_id, a.workspace, '', count(*) FROM placement p JOIN assignment a ON a.id = p.assignment_id GROUP BY 1, 2, 3, 4`,
		},
		// the last event of a placement says how it is
		"events": {
			`SELECT cluster_id, '', assignment_id, '', to_version, to_state FROM placement_event v
				WHERE to_state >= 0 AND id = (SELECT max(id) FROM placement_event w WHERE w.assignment_id = v.assignment_id AND w.cluster_id = v.cluster_id)`,
			`SELECT cluster_id, '', assignment_id, '', actual_version, state FROM placement`,
		},
	} {
		var got [2]map[string]int
		for i, query := range queries {
			got[i] = map[string]int{}
			rows, err := db.QueryContext(t.Context(), query)
			if err != nil {
				t.Fatal(err)
			}
			for rows.Next() {
				var a, c int64
				var b, d, e string
				var n int
				if err := rows.Scan(&a, &b, &c, &d, &e, &n); err != nil {
					t.Fatal(err)
				}
				got[i][fmt.Sprintf("%d/%s/%d/%s/%s", a, b, c, d, e)] = n
			}
			if err := rows.Err(); err != nil {
				t.Fatal(err)
			}
			rows.Close()
		}
		if diff := gocmp.Diff(got[1], got[0]); diff != "" {
			t.Errorf("%s is not what counting gives: %s", name, diff)
		}
	}
}

// randomFleet is a fleet that changes at random, as it should be read.
type randomFleet struct {
	random     *rand.Rand
	workspace  map[string]string // by target
	placements map[string]map[string]store.Placement
}

var (
	randomEnvironments = []string{"dev", "stage", "prod"}
	randomTargets      = []string{"a", "b", "c", "d", "e", "f"}
	randomWorkspaces   = []string{"one", "two", "three"}
)

const randomClusters = 20

func newRandomFleet(seed uint64) *randomFleet {
	f := &randomFleet{rand.New(rand.NewPCG(seed, seed)), map[string]string{}, map[string]map[string]store.Placement{}}
	for _, e := range randomEnvironments {
		f.placements[e] = map[string]store.Placement{}
	}
	for i, target := range randomTargets {
		f.workspace[target] = randomWorkspaces[i%len(randomWorkspaces)]
	}
	return f
}

func choose[T any](f *randomFleet, all []T) T { return all[f.random.IntN(len(all))] }

// round changes some placements, and returns what a collector would hand over.
func (f *randomFleet) round(n int) store.Round {
	if f.random.IntN(5) == 0 {
		f.workspace[choose(f, randomTargets)] = choose(f, randomWorkspaces)
	}
	for range 250 {
		e, target, i := choose(f, randomEnvironments), choose(f, randomTargets), f.random.IntN(randomClusters)
		p := assigned(e, fmt.Sprintf("c%02d", i), []string{"edge", "cloud", "lab"}[i%3], target)
		p.Workload = "app-" + target
		if f.random.IntN(10) == 0 {
			delete(f.placements[e], id(p))
			continue
		}
		p.State = choose(f, placement.States())
		if p.State != placement.OK {
			p.Reason = fmt.Sprintf("%c is wrong", 'a'+f.random.IntN(4))
		}
		p.Actual.Commit, p.Actual.Version = commit(f.random.IntN(3)<<8), ""
		if f.random.IntN(3) > 0 {
			p.Actual.Version = fmt.Sprintf("1.%d", f.random.IntN(3))
		}
		p.Since = after(n - f.random.IntN(100))
		f.placements[e][id(p)] = p
	}
	r := store.Round{At: after(n), Placements: map[string][]store.Placement{}}
	for e, all := range f.placements {
		r.Placements[e] = []store.Placement{}
		for key, p := range all {
			p.Workspace = f.workspace[p.Target[len("kaizen-app-"):]]
			all[key] = p
			r.Placements[e] = append(r.Placements[e], p)
		}
	}
	return r
}

// testRandom compares what all reads say with a model, after 10,000 random transitions.
func testRandom(t *testing.T, o store.Options) {
	s := open(t, o)
	db := raw(t, o)
	seed := rand.Uint64()
	f := newRandomFleet(seed)
	t.Logf("seed %d", seed)
	transitions := 0
	for n := 0; transitions < 10_000; n++ {
		transitions += apply(t, s, f.round(n))
		if n%20 != 0 {
			continue
		}
		checkRollups(t, db)
		for _, scope := range []store.Scope{{}, {Workspaces: []string{"two"}}, {Workspaces: []string{"one", "three"}, Environments: []string{"dev", "prod"}}, {Environments: []string{"stage"}}} {
			compareReads(t, s, f, scope)
		}
		if t.Failed() {
			t.Fatalf("seed %d, round %d", seed, n)
		}
	}
	checkRollups(t, db)
	compareReads(t, s, f, store.Scope{})
}

type counts map[string]map[placement.State]int

func (c counts) add(name string, state placement.State, n int) {
	if c[name] == nil {
		c[name] = map[placement.State]int{}
	}
	c[name][state] += n
}

func compareReads(t *testing.T, s *store.Store, f *randomFleet, scope store.Scope) {
	t.Helper()
	byEnvironment, byCluster, byWorkload := counts{}, counts{}, counts{}
	byCell := map[string]map[cellOf]int{"types": {}, "clusters": {}}
	const matrixOf = "dev"
	total := 0
	for e, all := range f.placements {
		for _, p := range all {
			if len(scope.Workspaces) > 0 && !slices.Contains(scope.Workspaces, p.Workspace) || len(scope.Environments) > 0 && !slices.Contains(scope.Environments, e) {
				continue
			}
			total++
			byEnvironment.add(e, p.State, 1)
			byCluster.add(p.Cluster, p.State, 1)
			byWorkload.add(p.Workload, p.State, 1)
			if e == matrixOf {
				byCell["types"][cellOf{p.ClusterType, p.Target, shown(p), p.State}]++
				byCell["clusters"][cellOf{p.Cluster, p.Target, shown(p), p.State}]++
			}
		}
	}
	ctx := t.Context()
	check := func(what string, want, got any, err error) {
		t.Helper()
		if diff := gocmp.Diff(want, got, gocmp.AllowUnexported(cellOf{})); diff != "" || err != nil {
			t.Errorf("%s in %+v: %v%s", what, scope, err, diff)
		}
	}
	gotEnvironments, gotClusters, gotWorkloads, gotDrift, wantDrift := counts{}, counts{}, counts{}, counts{}, counts{}
	environments, err := s.Environments(ctx, scope)
	for _, e := range environments {
		for state, n := range e.Counts {
			gotEnvironments.add(e.Name, state, n)
		}
	}
	check("environments", byEnvironment, gotEnvironments, err)
	clusters, err := s.Clusters(ctx, scope, store.ClusterFilter{}, store.Page{Limit: 100})
	for _, c := range clusters.Items {
		// one that has nothing is only for who may see all
		gotClusters.add(c.Name, placement.OK, 0)
		for state, n := range c.Counts {
			gotClusters.add(c.Name, state, n)
		}
	}
	for name := range byCluster {
		byCluster.add(name, placement.OK, 0)
	}
	maps.DeleteFunc(gotClusters, func(_ string, c map[placement.State]int) bool {
		return len(scope.Workspaces)+len(scope.Environments) == 0 && sum(c) == 0
	})
	check("clusters", byCluster, gotClusters, err)
	workloads, err := s.Workloads(ctx, scope)
	for _, w := range workloads {
		for _, e := range w.Environments {
			for state, n := range e.Counts {
				gotWorkloads.add(w.Name, state, n)
			}
			if sum(e.Versions) != sum(e.Counts) {
				t.Errorf("%+v", w)
			}
		}
	}
	check("workloads", byWorkload, gotWorkloads, err)
	drift, err := s.Drift(ctx, scope, store.PlacementFilter{States: placement.States()}, store.Page{Limit: 1000})
	for _, g := range drift.Items {
		gotDrift.add(g.Environment, g.State, g.N)
	}
	for e, states := range byEnvironment {
		for state, n := range states {
			wantDrift.add(e, state, n)
		}
	}
	check("drift", wantDrift, gotDrift, err)
	list, err := s.Placements(ctx, scope, store.PlacementFilter{}, store.Page{Limit: 1})
	check("total", total, list.Total, err)
	for rows, want := range byCell {
		m, err := s.Matrix(ctx, scope, store.MatrixQuery{Environment: matrixOf, Rows: rows, Cols: "targets", Page: store.Page{Limit: 100}})
		check("matrix of "+rows, want, cells(m), err)
		if !slices.IsSortedFunc(m.Cols, func(a, b store.MatrixCol) int {
			return cmp.Or(cmp.Compare(a.Workload, b.Workload), cmp.Compare(a.Name, b.Name))
		}) {
			t.Errorf("columns %+v", m.Cols)
		}
	}
	// counted from placements in place of the roll-up
	m, err := s.Matrix(ctx, scope, store.MatrixQuery{Environment: matrixOf, Rows: "types", Cols: "targets", PlacementFilter: store.PlacementFilter{Text: "c"}, Page: store.Page{Limit: 100}})
	check("matrix by text", byCell["types"], cells(m), err)
}
