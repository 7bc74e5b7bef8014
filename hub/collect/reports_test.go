package collect

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/internal/testkit/postgrestest"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
)

// TestReported: what agents have said last is the fleet, and silence is not knowing.
func TestReported(t *testing.T) {
	s, err := store.Open(t.Context(), store.Options{SQLite: filepath.Join(t.TempDir(), "hub.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	names := []string{"never", "now", "silent"}
	r := Reported(s, func(context.Context) ([]string, error) { return names, nil })
	for name, ago := range map[string]time.Duration{"now": 0, "silent": 31 * time.Second, "without a token": 0} {
		one := fleet.Cluster{Name: name, Subscriptions: []fleet.Subscription{{Kind: fleet.Kustomization, Ref: fleet.Ref{Name: "dev"}, Repo: "r", Branch: "b", Commit: "c", State: fleet.Compliant}}}
		if _, err := s.SaveReport(t.Context(), store.Report{Cluster: one, Received: time.Now().Add(-ago), Interval: 10 * time.Second}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := r.Inventory(t.Context())
	if err != nil || len(got.Clusters) != 3 {
		t.Fatalf("%+v, %v", got, err)
	}
	for i, want := range []fleet.State{"", fleet.Compliant, fleet.Unknown} {
		c := got.Clusters[i]
		if c.Name != names[i] || (c.Unknown == "") != (want == fleet.Compliant) || want != "" && (c.Subscriptions[0].State != want || c.Subscriptions[0].Commit != "c" || c.LastSeen.IsZero()) {
			t.Errorf("%+v", c)
		}
	}
	// it is heard of again
	if _, err := s.SaveReport(t.Context(), store.Report{Cluster: fleet.Cluster{Name: "silent", Subscriptions: got.Clusters[1].Subscriptions}, Received: time.Now(), Interval: 10 * time.Second}); err != nil {
		t.Fatal(err)
	}
	if got, err = r.Inventory(t.Context()); err != nil || got.Clusters[2].Unknown != "" || got.Clusters[2].Subscriptions[0].State != fleet.Compliant {
		t.Errorf("%+v, %v", got, err)
	}
	names = nil
	failure := errors.New("no")
	r = Reported(s, func(context.Context) ([]string, error) { return nil, failure })
	if _, err := r.Inventory(t.Context()); !errors.Is(err, failure) {
		t.Errorf("error %v", err)
	}
}

// TestAgents: the placements of a cluster that reports are those of any other, and unknown when its
// agent is silent.
func TestAgents(t *testing.T) {
	p := newPlatform(t)
	p.setFleet(p.cluster("small", "edge-1"))
	report := func(s *store.Store, received time.Time) {
		t.Helper()
		if _, err := s.SaveReport(t.Context(), store.Report{Cluster: p.cluster("large", "edge-2"), Received: received, Interval: time.Minute}); err != nil {
			t.Fatal(err)
		}
	}
	c, s, _ := p.run(func(o *Options) {
		s := o.Store
		o.Fleet = append(o.Fleet, Fleet{Name: "agents", Interval: time.Hour, Open: func() (fleet.Reader, error) {
			return Reported(s, func(context.Context) ([]string, error) { return []string{"edge-2"}, nil }), nil
		}})
	})
	awaitPlacements(t, s, map[string]string{"edge-1": "ok 1.0", "edge-2": "unknown "})
	report(s, time.Now())
	c.Wake("agents")
	awaitPlacements(t, s, map[string]string{"edge-1": "ok 1.0", "edge-2": "ok 1.0"})
	report(s, time.Now().Add(-time.Hour)) // the next is late
	c.Wake("agents")
	all := awaitPlacements(t, s, map[string]string{"edge-1": "ok 1.0", "edge-2": "unknown 1.0"})
	if one := all["edge-2"]; !strings.Contains(one.Reason, "agent") || one.AsOf.IsZero() {
		t.Errorf("%+v", one)
	}
}

// TestTwoHubs: of two on one database one asks the fleet, both explain, and the other goes on
// within seconds when the one ends.
func TestTwoHubs(t *testing.T) {
	p := newPlatform(t)
	database := postgrestest.Start(t).Database(t)
	var asked [2]atomic.Int64
	var stops [2]func()
	var collectors [2]*Collector
	var stores [2]*store.Store
	for i := range 2 {
		collectors[i], stores[i], stops[i] = p.run(func(o *Options) {
			s, err := store.Open(t.Context(), store.Options{Postgres: database})
			if err != nil {
				t.Fatal(err)
			}
			o.Store, o.Mirrors = s, t.TempDir()
			o.Log = slog.New(slog.NewTextHandler(t.Output(), nil)).With("hub", i)
			o.Fleet[0].Open = func() (fleet.Reader, error) { return counted{p, &asked[i]}, nil }
		})
	}
	awaitPlacements(t, stores[1], map[string]string{"edge-1": "ok 1.0", "edge-2": "ok 1.0"})
	leader := 0
	if asked[1].Load() > 0 {
		leader = 1
	}
	other := 1 - leader
	if asked[leader].Load() == 0 || asked[other].Load() != 0 {
		t.Errorf("the fleet was asked %d and %d times", asked[0].Load(), asked[1].Load())
	}
	for i := range 2 {
		await(t, "both explain", func() error {
			_, err := collectors[i].Explain(t.Context(), "dev", "shop-test", "large")
			return err
		})
	}
	stops[leader]()
	began := time.Now()
	p.setFleet(p.cluster("small", "edge-1"))
	awaitPlacements(t, stores[other], map[string]string{"edge-1": "ok 1.0"})
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the other collects after %s", took)
	} else {
		t.Logf("the other has collected after %s", took.Round(time.Millisecond))
	}
}

// TestCollectsAgain: a hub that has lost its connection to the database collects again as soon as it
// has another, and watches the clusters as before.
func TestCollectsAgain(t *testing.T) {
	p := newPlatform(t)
	database := postgrestest.Start(t).Database(t)
	w := newWatchedFleet(p.cluster("small", "edge-1"), p.cluster("large", "edge-2"))
	_, s, _ := p.run(func(o *Options) {
		s, err := store.Open(t.Context(), store.Options{Postgres: database})
		if err != nil {
			t.Fatal(err)
		}
		o.Store = s
		o.Fleet = []Fleet{{Name: "kubernetes", Open: func() (fleet.Reader, error) { return w, nil }, Interval: time.Hour}}
	})
	awaitPlacements(t, s, map[string]string{"edge-1": "ok 1.0", "edge-2": "ok 1.0"})
	db, err := sql.Open("pgx", database)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'`); err != nil {
		t.Fatal(err)
	}
	w.mu.Lock()
	w.clusters["edge-1"].err = errors.New("connection refused")
	w.mu.Unlock()
	awaitPlacements(t, s, map[string]string{"edge-1": "unknown 1.0", "edge-2": "ok 1.0"})
}

// counted counts how often a fleet is asked.
type counted struct {
	fleet.Reader
	n *atomic.Int64
}

func (c counted) Inventory(ctx context.Context) (fleet.Snapshot, error) {
	c.n.Add(1)
	return c.Reader.Inventory(ctx)
}
