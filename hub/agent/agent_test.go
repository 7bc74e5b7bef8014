package agent_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/hub/agent"
	"github.com/kalypso-dev/kalypso/hub/api"
	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
)

// cluster is one whose only subscription is at a commit.
type cluster struct {
	mu     sync.Mutex
	commit string
	err    error
}

func (c *cluster) set(commit string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.commit, c.err = commit, err
}

func (c *cluster) Inventory(context.Context) (fleet.Snapshot, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fleet.Single("store-17", func() ([]fleet.Subscription, error) {
		return []fleet.Subscription{{Kind: fleet.Kustomization, Ref: fleet.Ref{Name: "dev"}, Repo: "https://forge/gitops", Branch: "dev", Commit: c.commit, State: fleet.Compliant}}, c.err
	}), nil
}

const limit = 30 * time.Second

// TestAgent reports to the hub's own API, which goes and comes back.
func TestAgent(t *testing.T) {
	s, err := store.Open(t.Context(), store.Options{SQLite: filepath.Join(t.TempDir(), "hub.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	woken := make(chan struct{}, 100)
	hub, err := api.New(api.Options{Store: s, Hosts: []string{"127.0.0.1"}, Reported: func() { woken <- struct{}{} }, Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	var down atomic.Bool
	var asked, taken atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if down.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		taken.Add(1)
		hub.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	token := filepath.Join(t.TempDir(), "token")
	create := func(name string) {
		secret, err := s.CreateToken(t.Context(), store.Token{Name: name, Role: "agent", Cluster: "store-17"})
		if err == nil {
			err = os.WriteFile(token, []byte(secret+"\n"), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	create("one")
	c := &cluster{commit: "one"}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- agent.Run(ctx, agent.Options{
			Hub: server.URL + "/", Cluster: "store-17", TokenFile: token, Reader: c, Labels: map[string]string{"region": "west"},
			Look: 10 * time.Millisecond, Heartbeat: 5 * time.Second, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		})
	}()
	reports := s.Reports()
	await := func(what string, reached func(store.Report) bool) store.Report {
		t.Helper()
		for end := time.Now().Add(limit); ; time.Sleep(5 * time.Millisecond) {
			all, err := reports.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if r, ok := all["store-17"]; ok && reached(r) {
				return r
			}
			if time.Now().After(end) {
				t.Fatalf("%s: %+v", what, all)
			}
		}
	}
	at := func(commit string) func(store.Report) bool {
		return func(r store.Report) bool {
			return r.Unknown == "" && len(r.Subscriptions) == 1 && r.Subscriptions[0].Commit == commit
		}
	}

	first := await("the first report", at("one"))
	if first.Interval != 5*time.Second || first.Labels["region"] != "west" || time.Since(first.Received) > limit {
		t.Errorf("%+v", first)
	}
	c.set("two", nil)
	await("a change", at("two"))
	beats := taken.Load()
	await("a heartbeat", func(r store.Report) bool { return taken.Load() > beats })
	if n := taken.Load(); n > beats+2 {
		t.Errorf("%d reports though nothing has changed", n-beats)
	}

	// a cluster that cannot be asked is unknown
	c.set("two", errors.New("connection refused"))
	await("a cluster without an answer", func(r store.Report) bool { return r.Unknown == "connection refused" })
	c.set("two", nil)
	await("its answer", at("two"))

	// the hub gets the newest of what it has missed, and is not asked for each
	down.Store(true)
	before := asked.Load()
	for _, commit := range []string{"three", "four", "five"} {
		c.set(commit, nil)
		for end := time.Now().Add(limit); asked.Load() == before && time.Now().Before(end); time.Sleep(time.Millisecond) {
		}
	}
	missed := taken.Load()
	down.Store(false)
	await("the newest", at("five"))
	if n := taken.Load() - missed; n != 1 {
		t.Errorf("%d reports of what was missed", n)
	}
	if n := asked.Load() - before; n > 5 {
		t.Errorf("the hub was asked %d times while it was down", n)
	}

	// a token that is replaced is read anew
	if err := s.RevokeToken(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	create("two")
	c.set("six", nil)
	await("the new token", at("six"))
	if len(woken) < 5 {
		t.Errorf("the hub was woken %d times", len(woken))
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := agent.Run(t.Context(), agent.Options{TokenFile: filepath.Join(t.TempDir(), "none")}); err == nil {
		t.Error("it runs without a token")
	}
}
