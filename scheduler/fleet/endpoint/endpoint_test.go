package endpoint

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
)

type observed func(fleet.Source) ([]fleet.Configuration, error)

func (o observed) Observe(_ context.Context, s fleet.Source) ([]fleet.Configuration, error) {
	return o(s)
}

func serve(t *testing.T, o observed) Client {
	server := httptest.NewServer(Handler(o, "t0ken"))
	t.Cleanup(server.Close)
	return Client{server.URL + "/fleet", "t0ken"}
}

func TestAFleetIsObservedWhole(t *testing.T) {
	want := fleet.Source{Repo: "http://localhost:1/kalypso/gitops?a=b&c", Branch: "dev/x y"}
	var all []fleet.Configuration
	for i := range 5000 {
		all = append(all, fleet.Configuration{Cluster: fmt.Sprintf("store-%04d", i), Name: "dev", Commit: "aaaa", State: fleet.NonCompliant, Reason: "it \"broke\""})
	}
	c := serve(t, func(s fleet.Source) ([]fleet.Configuration, error) {
		if s != want {
			return nil, fmt.Errorf("%+v", s)
		}
		return all, nil
	})
	got, err := c.Observe(t.Context(), want)
	if diff := cmp.Diff(all, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
}

func TestWhatIsNotWholeIsAnError(t *testing.T) {
	s := fleet.Source{Repo: "r", Branch: "b"}
	c := serve(t, func(fleet.Source) ([]fleet.Configuration, error) { return nil, errors.New("half of it") })
	if _, err := c.Observe(t.Context(), s); err == nil || !strings.Contains(err.Error(), "half of it") {
		t.Errorf("%v", err)
	}
	for _, wrong := range []Client{{c.URL, "other"}, {c.URL, ""}, {"http://127.0.0.1:1/fleet", "t0ken"}} {
		if all, err := wrong.Observe(t.Context(), s); err == nil || all != nil {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
	if _, err := c.Observe(t.Context(), fleet.Source{Repo: "r"}); err == nil || !strings.Contains(err.Error(), "400") {
		t.Errorf("%v", err)
	}
	cut := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"configurations": [{"cluster": "a"}`))
	}))
	defer cut.Close()
	if all, err := (Client{cut.URL, "t"}).Observe(t.Context(), s); err == nil || all != nil {
		t.Errorf("%v %v", all, err)
	}
}

type whole struct {
	observed
	snapshot fleet.Snapshot
}

func (w whole) Inventory(context.Context) (fleet.Snapshot, error) { return w.snapshot, nil }

func TestAFleetIsReadWhole(t *testing.T) {
	want := fleet.Snapshot{At: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Clusters: []fleet.Cluster{
		{Name: "a", Labels: map[string]string{"region": "east"}, Unknown: "offline", Subscriptions: []fleet.Subscription{{
			Kind: fleet.Kustomization, Ref: fleet.Ref{Namespace: "flux-system", Name: "dev"}, Source: &fleet.Ref{Name: "dev"}, Repo: "r", Branch: "b", Path: "p", Commit: "c", Applied: "c",
			State: fleet.Unknown, Reason: "offline", At: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), Interval: 60, Parent: &fleet.Ref{Name: "up"},
			Objects: []fleet.Object{{Kind: "Service", Ref: fleet.Ref{Namespace: "n", Name: "s"}, OutOfSync: true}},
		}}},
	}}
	server := httptest.NewServer(Handler(whole{snapshot: want}, "t0ken"))
	defer server.Close()
	got, err := Client{server.URL, "t0ken"}.Inventory(t.Context())
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if _, err := (Client{server.URL, "other"}).Inventory(t.Context()); err == nil {
		t.Error("another token was taken")
	}
	// a server of branches alone does not pass for an empty fleet
	if _, err := serve(t, func(fleet.Source) ([]fleet.Configuration, error) { return nil, nil }).Inventory(t.Context()); err == nil {
		t.Error("it has no inventory")
	}
}
