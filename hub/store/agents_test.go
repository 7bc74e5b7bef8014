package store_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/internal/testkit/postgrestest"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
)

func testAgentReports(t *testing.T, o store.Options) {
	s := open(t, o)
	reader := s.Reports()
	if all, err := reader.Read(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
	one := store.Report{
		Cluster: fleet.Cluster{Name: "store-17", Labels: map[string]string{"region": "west"}, Subscriptions: []fleet.Subscription{
			{Kind: fleet.Kustomization, Ref: fleet.Ref{Namespace: "flux-system", Name: "dev"}, Repo: gitOps, Branch: "dev", Path: "edge", Commit: commit(1), Applied: commit(1), State: fleet.Compliant, At: noon},
		}},
		Received: noon, Interval: time.Minute,
	}
	save := func(want bool) {
		t.Helper()
		if changed, err := s.SaveReport(t.Context(), one); err != nil || changed != want {
			t.Errorf("changed %v, %v", changed, err)
		}
	}
	read := func() {
		t.Helper()
		all, err := reader.Read(t.Context())
		if err != nil || len(all) != 1 {
			t.Fatalf("%+v, %v", all, err)
		}
		if diff := gocmp.Diff(one, all["store-17"]); diff != "" {
			t.Error(diff)
		}
	}
	save(true)
	read()
	one.Received = after(1)
	save(false)
	read()
	one.Subscriptions[0].Commit = commit(2)
	one.Received, one.Interval = after(2), 2*time.Minute
	save(true)
	read()

	for _, token := range []store.Token{{Name: "a", Role: "agent", Cluster: "store-18"}, {Name: "b", Role: "agent", Cluster: "store-17"}, {Name: "c", Role: "agent", Cluster: "store-17"},
		{Name: "d", Role: "agent", Cluster: "gone", Expires: time.Now().Add(-time.Second)}, {Name: "e", Role: "viewer"}} {
		if _, err := s.CreateToken(t.Context(), token); err != nil {
			t.Fatal(err)
		}
	}
	names, err := s.ReportingClusters(t.Context())
	if diff := gocmp.Diff([]string{"store-17", "store-18"}, names); diff != "" || err != nil {
		t.Errorf("%s %v", diff, err)
	}
}

func testExternalSessions(t *testing.T, o store.Options) {
	s := open(t, o)
	expires := time.Now().Add(time.Hour).Truncate(time.Millisecond).UTC()
	var sealedWith string
	who := store.Identity{Subject: "ann@example.com", Expires: expires, External: &store.External{Way: "oidc", Login: "ann@example.com", Groups: []string{"platform"}, CheckAt: time.Now().Add(-time.Second)}}
	session, made, err := s.CreateSession(t.Context(), who, func(session string) (string, error) {
		sealedWith = session
		return "sealed", nil
	})
	if err != nil || session == "" || session != sealedWith || made.CSRF == "" || made.External.Sealed != "sealed" {
		t.Fatalf("%q %q %+v, %v", session, sealedWith, made, err)
	}
	noSecret(t, o, "session", session)
	found, err := s.BySession(t.Context(), session)
	if err != nil || found.Subject != "ann@example.com" || !found.Expires.Equal(expires) || found.CSRF != made.CSRF || found.External == nil ||
		found.External.Way != "oidc" || found.External.Sealed != "sealed" || gocmp.Diff([]string{"platform"}, found.External.Groups) != "" {
		t.Fatalf("%+v, %v", found, err)
	}
	// one of many asks the provider
	claimed := make(chan bool, 8)
	for range cap(claimed) {
		go func() {
			ok, err := s.ClaimCheck(t.Context(), session, time.Now().Add(time.Minute))
			claimed <- ok && err == nil
		}()
	}
	n := 0
	for range cap(claimed) {
		if <-claimed {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d ask the provider", n)
	}
	e := *found.External
	e.Groups, e.Sealed, e.CheckAt = []string{"everybody"}, "anew", time.Time{}
	if err := s.UpdateSession(t.Context(), session, e); err != nil {
		t.Fatal(err)
	}
	found, err = s.BySession(t.Context(), session)
	if diff := gocmp.Diff(e, *found.External); diff != "" || err != nil {
		t.Errorf("%s %v", diff, err)
	}
	if ok, err := s.ClaimCheck(t.Context(), session, time.Now().Add(time.Minute)); ok || err != nil {
		t.Errorf("one without a time is asked about: %v, %v", ok, err)
	}
	failure := errors.New("no key")
	if _, _, err := s.CreateSession(t.Context(), who, func(string) (string, error) { return "", failure }); !errors.Is(err, failure) {
		t.Errorf("error %v", err)
	}
}

func testExports(t *testing.T, o store.Options) {
	s := open(t, o)
	withFleet(t, s, "a")
	arrived, waiting, none := merged(1, on("a", store.ClusterApplied, 10)), merged(2, on("a", store.ClusterWaiting, 10)), merged(3)
	apply(t, s, store.Round{At: after(20), Changes: []store.Change{arrived, waiting, none}})
	now := after(30)
	ask := func(settled, late time.Time) (found []int) {
		t.Helper()
		all, err := s.UnexportedChanges(t.Context(), store.UnexportedQuery{Since: noon, Settled: settled, Late: late, Now: now, Most: 10})
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range all {
			d, err := s.Change(t.Context(), store.Scope{}, id)
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, d.PullRequest)
		}
		return found
	}
	for _, c := range []struct {
		settled, late time.Time
		want          []int
	}{{noon, noon, []int{1}}, {after(60), noon, []int{1, 3}}, {after(60), after(60), []int{1, 2, 3}}} {
		if diff := gocmp.Diff(c.want, ask(c.settled, c.late)); diff != "" {
			t.Error(diff)
		}
	}
	first, err := s.UnexportedChanges(t.Context(), store.UnexportedQuery{Since: noon, Settled: noon, Late: noon, Most: 1})
	if err != nil || len(first) != 1 {
		t.Fatal(first, err)
	}
	for _, want := range []bool{true, false} {
		if ok, err := s.ClaimExport(t.Context(), first[0], now); ok != want || err != nil {
			t.Errorf("claimed %v, %v", ok, err)
		}
	}
	if found := ask(noon, noon); len(found) != 0 {
		t.Errorf("exported twice: %v", found)
	}
	if err := s.UndoExport(t.Context(), first[0]); err != nil {
		t.Fatal(err)
	}
	if found := ask(noon, noon); len(found) != 1 {
		t.Errorf("not tried again: %v", found)
	}
	// a hub that has ended in the middle leaves it to another
	claim := func(want bool) {
		t.Helper()
		if ok, err := s.ClaimExport(t.Context(), first[0], now); ok != want || err != nil {
			t.Errorf("claimed %v, %v", ok, err)
		}
	}
	claim(true)
	now = now.Add(time.Hour)
	if found := ask(noon, noon); len(found) != 1 {
		t.Errorf("what was claimed long ago is not tried again: %v", found)
	}
	claim(true)
	claim(false)
	if err := s.Exported(t.Context(), first[0]); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Hour)
	if found := ask(noon, noon); len(found) != 0 {
		t.Errorf("exported again: %v", found)
	}
	claim(false)
}

// leaderVariable has the store.Options of a test binary that is to lead until it is killed.
const leaderVariable = "KALYPSO_TEST_STORE_LEADER"

// leadForever prints a line as soon as it leads.
func leadForever(o store.Options) error {
	s, err := store.Open(context.Background(), o)
	if err != nil {
		return err
	}
	leading, _, err := s.Lead(context.Background())
	if err != nil {
		return err
	}
	os.Stdout.WriteString("leads\n")
	<-leading.Done()
	return context.Cause(leading)
}

// TestLead kills the process that collects, three times: another one does within seconds.
func TestLead(t *testing.T) {
	server := postgrestest.Start(t)
	o := store.Options{Postgres: server.Database(t)}
	open(t, o) // the schema
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	options, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	type leader struct {
		process *exec.Cmd
		leads   chan struct{}
	}
	start := func() leader {
		l := leader{exec.CommandContext(t.Context(), self), make(chan struct{})}
		l.process.Env = append(os.Environ(), leaderVariable+"="+string(options))
		l.process.Stderr = t.Output()
		out, err := l.process.StdoutPipe()
		if err == nil {
			err = l.process.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			if bufio.NewScanner(out).Scan() {
				close(l.leads)
			}
		}()
		t.Cleanup(func() { _ = l.process.Process.Kill(); _ = l.process.Wait() })
		return l
	}
	await := func(l leader, limit time.Duration) time.Duration {
		t.Helper()
		began := time.Now()
		select {
		case <-l.leads:
		case <-time.After(limit):
			t.Fatalf("no hub collects after %s", limit)
		}
		return time.Since(began)
	}
	first := start()
	await(first, time.Minute)
	for range 3 {
		next := start()
		select {
		case <-next.leads:
			t.Fatal("two hubs collect")
		case <-time.After(2500 * time.Millisecond): // it has asked at least once
		}
		if err := first.process.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		t.Logf("another hub collects after %s", await(next, 10*time.Second).Round(time.Millisecond))
		first = next
	}
}

// A hub that loses its connection to the database stops collecting, and may begin again.
func TestLeadIsLost(t *testing.T) {
	server := postgrestest.Start(t)
	o := store.Options{Postgres: server.Database(t)}
	one, two := open(t, o), open(t, o)
	leading, release, err := one.Lead(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := raw(t, o).ExecContext(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted`); err != nil {
		t.Fatal(err)
	}
	select {
	case <-leading.Done():
		if cause := context.Cause(leading); cause == nil || errors.Is(cause, context.Canceled) {
			t.Errorf("cause %v", cause)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it goes on without the lock")
	}
	release()
	_, release, err = two.Lead(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if _, _, err := one.Lead(ended); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("two lead, or %v", err)
	}
	release()
	_, release, err = one.Lead(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	release()
}
