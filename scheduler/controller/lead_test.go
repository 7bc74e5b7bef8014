package controller

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-dev/kalypso/internal/testkit/forgefake"
	"github.com/kalypso-dev/kalypso/scheduler/lease"
)

func elected(name, url string) func(*Options) {
	return func(o *Options) { o.Leader = &LeaderElection{Holder: name, URL: url} }
}

// TestTwoSchedulers: one works, the other takes over when the first one ends,
// and the forge looks as if one had done all.
func TestTwoSchedulers(t *testing.T) {
	alone := newWorld("dev", "stage")
	bubble(t, alone, nil, func(r *running) {
		r.push(platform, "dev", map[string]string{"config.yaml": config("west")})
		r.pass(time.Minute)
		r.push(platform, "stage", map[string]string{"config.yaml": config("north")})
		r.pass(time.Minute)
	})
	f := newWorld("dev", "stage")
	synctest.Test(t, func(t *testing.T) {
		a, stopA := start(t, f, elected("a", ""))
		a.pass(20 * time.Second)
		b, stopB := start(t, f, elected("b", ""))
		b.pass(20 * time.Second)
		if s := a.Status(); len(s.Environments) != 2 || s.ControlPlane.Lease == nil || !s.ControlPlane.Lease.Held || a.unready() != "" {
			t.Errorf("a: %+v, %q", s, a.unready())
		}
		if s := b.Status(); len(s.Environments) != 0 || s.ControlPlane.Lease == nil || s.ControlPlane.Lease.Held || !strings.HasPrefix(s.ControlPlane.Lease.Holder, "a leads") || b.unready() != "" {
			t.Errorf("b: %+v, %q", s, b.unready())
		}
		b.push(platform, "dev", map[string]string{"config.yaml": config("west")})
		b.pass(time.Minute)
		stopA()
		b.push(platform, "stage", map[string]string{"config.yaml": config("north")})
		b.pass(time.Minute)
		if s := b.Status(); len(s.Environments) != 2 || !s.ControlPlane.Lease.Held {
			t.Errorf("b has not taken over: %+v", s)
		}
		if text := b.metrics("kalypso_leads"); text != "kalypso_leads{control_plane=\"acme/platform@main\"} 1\n" {
			t.Error(text)
		}
		stopB()
		if f.Branch(platform, lease.Branch) == "" {
			t.Error("no lease")
		}
	})
	if diff := cmp.Diff(seen(alone), seen(f)); diff != "" {
		t.Errorf("differs from what one does (-one +two):\n%s", diff)
	}
}

// TestLosingTheLeadStopsTheRun: what goes on is stopped where it is.
func TestLosingTheLeadStopsTheRun(t *testing.T) {
	f := newWorld("dev")
	synctest.Test(t, func(t *testing.T) {
		a, stop := start(t, f, elected("a", ""))
		a.pass(20 * time.Second)
		hung := make(chan error, 1)
		f.OnCall(func(c forgefake.Call) {
			if c.Method == "Read" && c.Repo == forgefake.URL(gitOps) {
				// as long as a forge may take
				time.Sleep(5 * time.Minute)
				hung <- nil
			}
		})
		a.push(platform, "dev", map[string]string{"config.yaml": config("west")})
		a.pass(35 * time.Second)
		if err := f.DeleteBranch(t.Context(), platform, lease.Branch); err != nil {
			t.Fatal(err)
		}
		f.Calls()
		<-hung
		f.OnCall(nil)
		synctest.Wait()
		if calls := f.Calls(); slices.ContainsFunc(calls, func(c forgefake.Call) bool { return c.Write && c.Repo == gitOps }) {
			t.Errorf("went on: %+v", calls)
		}
		stop()
	})
}

// TestWebhooksAreForwarded: a webhook may reach the one that stands by.
func TestWebhooksAreForwarded(t *testing.T) {
	f := newWorld("dev")
	synctest.Test(t, func(t *testing.T) {
		const address = "http://leader.test:8765"
		a, stopA := start(t, f, elected("a", address))
		a.pass(20 * time.Second)
		b, stopB := start(t, f, elected("b", ""))
		b.pass(20 * time.Second)
		reach := func(do func(*http.Request) (*http.Response, error)) {
			b.Server.client = http.Client{Transport: tripper(do)}
		}
		reach(func(q *http.Request) (*http.Response, error) {
			if q.URL.String() != address+"/webhook" {
				return nil, errors.New("no route to " + q.URL.String())
			}
			answer := httptest.NewRecorder()
			a.Handler().ServeHTTP(answer, q)
			return answer.Result(), nil
		})
		b.push(platform, "dev", map[string]string{"config.yaml": config("west")})
		runs := a.status("dev").Runs
		body := webhook(t, "push", platform, "dev")
		if code := answered(b.Handler(), signed("push", body)); code != http.StatusAccepted {
			t.Fatalf("answered %d", code)
		}
		synctest.Wait() // no time passes: no poll has done it
		if a.status("dev").Runs != runs+1 {
			t.Error("the leader has not heard of it")
		}
		if text := b.metrics("kalypso_webhooks_total"); text != "kalypso_webhooks_total{outcome=\"forwarded\"} 1\n" {
			t.Error(text)
		}
		// what comes from another that stands by goes no further
		q := signed("push", body)
		q.Header.Set(forwarded, "1")
		if code := answered(b.Handler(), q); code != http.StatusServiceUnavailable {
			t.Errorf("forwarded twice: answered %d", code)
		}
		reach(func(*http.Request) (*http.Response, error) { return nil, errors.New("no route") })
		if code := answered(b.Handler(), signed("push", body)); code != http.StatusBadGateway {
			t.Errorf("unreachable: answered %d", code)
		}
		reach(func(q *http.Request) (*http.Response, error) { <-q.Context().Done(); return nil, q.Context().Err() })
		if code := answered(b.Handler(), signed("push", body)); code != http.StatusBadGateway {
			t.Errorf("hangs: answered %d", code)
		}
		// nobody but those who know the secret makes it ask anybody
		q = signed("push", body)
		q.Header.Set("X-Gitea-Signature", sign("wrong", body))
		if code := answered(b.Handler(), q); code != http.StatusUnauthorized {
			t.Errorf("a wrong signature: answered %d", code)
		}
		stopB()
		stopA()
	})
}

type tripper func(*http.Request) (*http.Response, error)

func (t tripper) RoundTrip(q *http.Request) (*http.Response, error) { return t(q) }

func TestElection(t *testing.T) {
	text := func(more string) []byte { return []byte(strings.Replace(goodConfig, "poll: 10s", more, 1)) }
	for _, more := range []string{"leaderElection:", "leaderElection: {}", "leaderElection: {length: 30s}"} {
		if c, err := ParseConfig("c.yaml", text(more)); err != nil || c.LeaderElection == nil {
			t.Errorf("%s: %+v, %v", more, c, err)
		}
	}
	c := Config{LeaderElection: &LeaderElectionConfig{AdvertiseEnv: "KALYPSO_TEST_URL"}}
	for value, want := range map[string]string{
		"":                      "KALYPSO_TEST_URL is empty",
		"10.0.0.1:8765":         "no http or https URL",
		"http://u:p@10.0.0.1":   "holds credentials",
		"http://10.0.0.1:8765 ": "",
	} {
		t.Setenv("KALYPSO_TEST_URL", value)
		e, err := c.election()
		if want == "" {
			if err != nil || e.URL != "http://10.0.0.1:8765" || e.Holder == "" {
				t.Errorf("%+v, %v", e, err)
			}
			if other, _ := c.election(); other.Holder == e.Holder {
				t.Errorf("two are called %s", e.Holder)
			}
		} else if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "u:p") {
			t.Errorf("%q: %v", value, err)
		}
	}
	if e, err := (Config{}).election(); e != nil || err != nil {
		t.Errorf("%+v, %v", e, err)
	}
}
