package store_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/internal/testkit/postgrestest"
	"github.com/kalypso-dev/kalypso/scheduler/placement"
)

// suite is what both engines must do. Each test has an empty database.
var suite = map[string]func(*testing.T, store.Options){
	"rounds":          testRounds,
	"memory":          testMemory,
	"remembered":      testRememberedCluster,
	"first seen":      testFirstSeen,
	"gone":            testGone,
	"texts":           testTexts,
	"filters":         testFilters,
	"pages":           testPages,
	"cursors":         testCursors,
	"clusters":        testClusters,
	"matrix":          testMatrix,
	"drift":           testDrift,
	"overview":        testOverview,
	"scope":           testScope,
	"outbox":          testOutbox,
	"tokens":          testTokens,
	"tickets":         testTickets,
	"audit":           testAudit,
	"retention":       testRetention,
	"random":          testRandom,
	"killed":          testKilled,
	"newer schema":    testNewerSchema,
	"opened by two":   testOpenedByTwo,
	"states":          testStates,
	"history":         testHistory,
	"past":            testPast,
	"list of the CSV": testLongList,
	"metrics":         testMetrics,
	"many clusters":   testManyClusters,
	"counted changes": testCountedChanges,
	"lag":             testLag,
	"reports":         testReports,
	"target history":  testTargetHistory,
	"change":          testChange,
	"change clocks":   testChangeClocks,
	"change reads":    testChangeReads,
	"old changes":     testChangeRetention,
	"epochs":          testChangeEpochs,
	"desired size":    testDesiredSize,
	"deployment":      testDeployment,
	"causes":          testCauses,
	"outliers":        testOutliers,
	"pull requests":   testPullRequestFields,
	"agent reports":   testAgentReports,
	"external":        testExternalSessions,
	"exports":         testExports,
}

func TestSQLite(t *testing.T) {
	for name, test := range suite {
		t.Run(name, func(t *testing.T) {
			test(t, store.Options{SQLite: filepath.Join(t.TempDir(), "hub.db")})
		})
	}
}

func TestPostgres(t *testing.T) {
	server := postgrestest.Start(t)
	for name, test := range suite {
		t.Run(name, func(t *testing.T) {
			test(t, store.Options{Postgres: server.Database(t)})
		})
	}
}

func open(t *testing.T, o store.Options) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// raw is the database itself.
func raw(t *testing.T, o store.Options) *sql.DB {
	t.Helper()
	driver, address := "pgx", o.Postgres
	if o.SQLite != "" {
		driver, address = "sqlite", "file:"+o.SQLite+"?_busy_timeout=30000"
	}
	db, err := sql.Open(driver, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// after is a time some minutes after noon.
func after(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }

const (
	gitOps = "http://forge/acme/gitops"
	app    = "http://forge/acme/app-gitops"
)

// commit is the n-th of a branch.
func commit(n int) string { return fmt.Sprintf("%040x", 0xabc0000000+n) }

// assigned is a placement of the target kaizen-app-TARGET, well at version 1.
func assigned(environment, cluster, clusterType, target string) store.Placement {
	return store.Placement{
		Placement: placement.Placement{
			Environment: environment, Cluster: cluster, ClusterType: clusterType, Target: "kaizen-app-" + target,
			Desired: placement.Revision{Repo: app, Branch: environment, Commit: commit(1), Version: "1.0.0"},
			Actual:  placement.Revision{Repo: app, Branch: environment, Commit: commit(1), Version: "1.0.0"},
			State:   placement.OK, Since: after(-60),
		},
		Workload: "kaizen-app", Workspace: "kaizen-app-team", Policies: []string{"default"},
	}
}

// with is a placement in another state.
func with(p store.Placement, state placement.State, reason string, since time.Time) store.Placement {
	p.State, p.Reason, p.Since = state, reason, since
	return p
}

func apply(t *testing.T, s *store.Store, r store.Round) int {
	t.Helper()
	changed, err := s.Apply(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

// applyTo applies the placements of one environment.
func applyTo(t *testing.T, s *store.Store, at time.Time, environment string, all ...store.Placement) int {
	t.Helper()
	return apply(t, s, store.Round{At: at, Placements: map[string][]store.Placement{environment: all}})
}

func placements(t *testing.T, s *store.Store, scope store.Scope, f store.PlacementFilter) []store.Placement {
	t.Helper()
	list, err := s.Placements(t.Context(), scope, f, store.Page{Limit: 10_000, Sort: "cluster"})
	if err != nil {
		t.Fatal(err)
	}
	if list.Next != "" {
		t.Errorf("there are more than %d placements", len(list.Items))
	}
	return list.Items
}

func one(t *testing.T, s *store.Store, environment, cluster, target string) store.Placement {
	t.Helper()
	p, err := s.Placement(t.Context(), store.Scope{}, environment, cluster, "kaizen-app-"+target)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
