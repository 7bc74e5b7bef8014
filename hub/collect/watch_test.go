package collect

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/flux"
)

// watchedFleet is a fleet whose clusters say that they have changed.
type watchedFleet struct {
	mu       sync.Mutex
	clusters map[string]*watchedCluster
	names    []string
	looking  int
	most     int           // that were looked at at a time
	hold     chan struct{} // looks wait until it is closed; nil for none
}

type watchedCluster struct {
	fleet   *watchedFleet
	state   fleet.Cluster
	err     error
	looks   int
	changed func(bool)
}

func newWatchedFleet(all ...fleet.Cluster) *watchedFleet {
	w := &watchedFleet{clusters: map[string]*watchedCluster{}}
	for _, c := range all {
		w.names = append(w.names, c.Name)
		w.clusters[c.Name] = &watchedCluster{fleet: w, state: c}
	}
	return w
}

func (w *watchedFleet) Inventory(context.Context) (fleet.Snapshot, error) {
	return fleet.Snapshot{}, errors.New("its clusters are asked one by one")
}

func (w *watchedFleet) Members() (all []fleet.Member) {
	for _, name := range w.names {
		all = append(all, w.clusters[name])
	}
	return all
}

func (c *watchedCluster) Name() string { return c.state.Name }

func (c *watchedCluster) Look(ctx context.Context) (fleet.Cluster, error) {
	w := c.fleet
	w.mu.Lock()
	c.looks++
	w.looking++
	w.most = max(w.most, w.looking)
	hold := w.hold
	w.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looking--
	found := c.state
	found.LastSeen = time.Now().UTC()
	return found, c.err
}

func (c *watchedCluster) Watch(ctx context.Context, changed func(bool)) {
	c.fleet.mu.Lock()
	c.changed = changed
	c.fleet.mu.Unlock()
	changed(true)
	<-ctx.Done()
}

// change changes what a cluster has, and says so; connected as it is after that.
func (w *watchedFleet) change(name string, connected bool, change func(*watchedCluster)) {
	w.mu.Lock()
	c := w.clusters[name]
	change(c)
	changed := c.changed
	w.mu.Unlock()
	changed(connected)
}

func (w *watchedFleet) looks(name string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.clusters[name].looks
}

// runWatched runs a collector with a fleet that is watched, and looked at besides once an hour.
func (p *platform) runWatched(w *watchedFleet) (*Collector, *store.Store) {
	c, s, _ := p.run(func(o *Options) {
		o.Fleet = []Fleet{{Name: "kubernetes", Open: func() (fleet.Reader, error) { return w, nil }, Interval: time.Hour}}
	})
	return c, s
}

// TestWatchedClusters: what a cluster says has it looked at, and no other; one that cannot be asked
// is unknown until it answers.
func TestWatchedClusters(t *testing.T) {
	p := newPlatform(t)
	w := newWatchedFleet(p.cluster("small", "edge-1"), p.cluster("large", "edge-2"))
	_, s := p.runWatched(w)
	awaitPlacements(t, s, map[string]string{"edge-1": "ok 1.0", "edge-2": "ok 1.0"})
	await(t, "the first looks", func() error { // the beginning of the watch has been looked at, too
		if a, b := w.looks("edge-1"), w.looks("edge-2"); a < 2 || b < 2 {
			return fmt.Errorf("%d and %d looks", a, b)
		}
		return nil
	})
	other := w.looks("edge-2")
	w.change("edge-1", true, func(c *watchedCluster) {
		c.state.Subscriptions[1].State, c.state.Subscriptions[1].Reason = fleet.NonCompliant, "it does not start"
	})
	all := awaitPlacements(t, s, map[string]string{"edge-1": "failing 1.0", "edge-2": "ok 1.0"})
	if time.Since(all["edge-2"].AsOf) > 10*time.Second {
		t.Errorf("a cluster that would say so is as it was a moment ago, not as of %s", all["edge-2"].AsOf)
	}
	w.change("edge-1", false, func(c *watchedCluster) { c.err = errors.New("connection refused") })
	all = awaitPlacements(t, s, map[string]string{"edge-1": "unknown 1.0", "edge-2": "ok 1.0"})
	if all["edge-1"].Reason != "connection refused" {
		t.Errorf("%+v", all["edge-1"])
	}
	w.change("edge-1", true, func(c *watchedCluster) {
		c.err, c.state.Subscriptions[1].State = nil, fleet.Compliant
	})
	awaitPlacements(t, s, map[string]string{"edge-1": "ok 1.0", "edge-2": "ok 1.0"})
	if n := w.looks("edge-2"); n != other {
		t.Errorf("a cluster that has said nothing was looked at %d times more", n-other)
	}
}

// watchedMembers is a fleet that is watched and whose values cannot be compared, as that of
// Kubernetes is.
type watchedMembers []fleet.Member

func (w watchedMembers) Inventory(context.Context) (fleet.Snapshot, error) {
	return fleet.Snapshot{}, errors.New("its clusters are asked one by one")
}

func (w watchedMembers) Members() []fleet.Member { return w }

// TestWatchedFleetLookedAtAgain: when nothing has changed, another look at a fleet that is watched
// says nothing; when its file has changed it does.
func TestWatchedFleetLookedAtAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "clusters")
	f := &fleetSource{source: &source{name: "kubernetes"}, start: func(func(context.Context)) func() { return func() {} }}
	f.File, f.Open = file, func() (fleet.Reader, error) { return watchedMembers{}, nil }
	for i, look := range []struct {
		content string
		quiet   bool
	}{{"one", false}, {"one", true}, {"two", false}, {"two", true}} {
		if err := os.WriteFile(file, []byte(look.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := f.look(t.Context()); err != nil || f.source.quiet != look.quiet {
			t.Errorf("look %d: quiet %t, want %t; %v", i+1, f.source.quiet, look.quiet, err)
		}
	}
}

// TestChangesAreLookedAtTogether: many changes of a cluster are few looks.
func TestChangesAreLookedAtTogether(t *testing.T) {
	p := newPlatform(t)
	w := newWatchedFleet(p.cluster("small", "edge-1"))
	_, s := p.runWatched(w)
	awaitPlacements(t, s, map[string]string{"edge-1": "ok 1.0"})
	before, began := w.looks("edge-1"), time.Now()
	for time.Since(began) < looksApart {
		w.change("edge-1", true, func(*watchedCluster) {})
		time.Sleep(time.Millisecond) // as fast as a cluster may say something
	}
	if n, most := w.looks("edge-1")-before, int(time.Since(began)/looksApart)+1; n > most {
		t.Errorf("%d looks, want at most %d", n, most)
	}
}

// TestLooksAtOnce: of a large fleet no more than that are looked at at a time.
func TestLooksAtOnce(t *testing.T) {
	p := newPlatform(t)
	var all []fleet.Cluster
	for i := range 3 * looksAtOnce {
		all = append(all, fleet.Cluster{Name: fmt.Sprintf("edge-%03d", i)})
	}
	w := newWatchedFleet(all...)
	w.hold = make(chan struct{})
	_, s := p.runWatched(w)
	await(t, "all that may be looked at", func() error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.looking < looksAtOnce {
			return fmt.Errorf("%d", w.looking)
		}
		return nil
	})
	close(w.hold)
	await(t, "all clusters", func() error {
		list, err := s.Clusters(t.Context(), store.Scope{}, store.ClusterFilter{}, store.Page{Limit: 500})
		if err == nil && len(list.Items) != len(all) {
			err = fmt.Errorf("%d clusters", len(list.Items))
		}
		return err
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.most != looksAtOnce {
		t.Errorf("%d at a time", w.most)
	}
}

// event posts an event of Flux as its controllers do.
func event(c *Collector, path, body string, header http.Header) int {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	for key, values := range header {
		r.Header[key] = values
	}
	w := httptest.NewRecorder()
	c.Events().ServeHTTP(w, r)
	return w.Code
}

// fluxEvent is what kustomize-controller posts when it has applied something.
func fluxEvent(name, commit string, at time.Time, message string) string {
	body, err := json.Marshal(map[string]any{
		"involvedObject": map[string]any{"kind": "Kustomization", "namespace": "flux-system", "name": name, "apiVersion": "kustomize.toolkit.fluxcd.io/v1"},
		"severity":       "info", "timestamp": at.Format(time.RFC3339), "message": message, "reason": "ReconciliationSucceeded",
		"metadata":            map[string]string{"kustomize.toolkit.fluxcd.io/revision": "dev@sha1:" + commit},
		"reportingController": "kustomize-controller", "reportingInstance": "machine",
	})
	if err != nil {
		panic(err)
	}
	return string(body)
}

// TestEvents: an event has its cluster looked at once, who sends it has to know the cluster's
// secret, and what Flux has put back was edited.
func TestEvents(t *testing.T) {
	p := newPlatform(t)
	w := newWatchedFleet(p.cluster("small", "edge-1"), p.cluster("large", "edge-2"))
	c, s := p.runWatched(w)
	awaitPlacements(t, s, map[string]string{"edge-1": "ok 1.0", "edge-2": "ok 1.0"})
	commit, since := p.heads["shop-gitops@dev"], w.clusters["edge-1"].state.Subscriptions[1].At
	secret := fleet.EventSecret(webhookSecret, "edge-1")
	body := fluxEvent("shop-test", commit, since.Add(10*time.Second), "Deployment/shop/web configured")
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	signed := http.Header{"X-Signature": {"sha256=" + hex.EncodeToString(mac.Sum(nil))}}

	for _, refused := range []struct {
		path, body string
		header     http.Header
		status     int
	}{
		{"/hooks/flux/edge-1", body, nil, http.StatusForbidden},
		{"/hooks/flux/edge-1", body + " ", signed, http.StatusForbidden},
		{"/hooks/flux/edge-2", body, signed, http.StatusForbidden},
		{"/hooks/flux/edge-1/" + webhookSecret, body, nil, http.StatusForbidden},
		{"/hooks/flux/edge-2/" + secret, body, nil, http.StatusForbidden},
		{"/hooks/argocd/edge-1", "{}", http.Header{"Authorization": {"Bearer other"}}, http.StatusForbidden},
		{"/hooks/flux/edge-1/" + secret, "{", nil, http.StatusBadRequest},
		{"/hooks/flux/edge-1/" + secret, string(bytes.Repeat([]byte(" "), maxEvent+1)), nil, http.StatusRequestEntityTooLarge},
		{"/hooks/flux/gone/" + fleet.EventSecret(webhookSecret, "gone"), body, nil, http.StatusNotFound},
		{"/hooks/other/edge-1/" + secret, body, nil, http.StatusNotFound},
	} {
		if got := event(c, refused.path, refused.body, refused.header); got != refused.status {
			t.Errorf("%s: %d, want %d", refused.path, got, refused.status)
		}
	}
	c.corrections.mu.Lock()
	n := len(c.corrections.all)
	c.corrections.mu.Unlock()
	if n != 0 {
		t.Errorf("%d corrections are kept of a cluster that is not known", n)
	}
	awaitPlacements(t, s, map[string]string{"edge-1": "ok 1.0", "edge-2": "ok 1.0"})

	if got := event(c, "/hooks/flux/edge-1", body, signed); got != http.StatusAccepted {
		t.Fatalf("%d", got)
	}
	all := awaitPlacements(t, s, map[string]string{"edge-1": "edited 1.0", "edge-2": "ok 1.0"})
	if one := all["edge-1"]; !strings.Contains(one.Reason, "Deployment shop/web") || !one.Since.Equal(since.Add(10*time.Second)) {
		t.Errorf("%+v", one)
	}

	looks := w.looks("edge-1")
	for path, header := range map[string]http.Header{
		"/hooks/flux/edge-1":   signed,
		"/hooks/argocd/edge-2": {"Authorization": {"Bearer " + fleet.EventSecret(webhookSecret, "edge-2")}},
		"/hooks/argocd/edge-2/" + fleet.EventSecret(webhookSecret, "edge-2"): nil,
	} {
		before := w.looks("edge-2")
		if got := event(c, path, body, header); got != http.StatusAccepted {
			t.Errorf("%s: %d", path, got)
		}
		if strings.Contains(path, "argocd") {
			await(t, "a look at edge-2", func() error {
				if w.looks("edge-2") == before {
					return errors.New("none")
				}
				return nil
			})
		}
	}
	if n := w.looks("edge-1"); n != looks {
		t.Errorf("an event that was delivered before has the cluster looked at %d times more", n-looks)
	}
}

// TestCorrectionsAreBounded: what one cluster names leaves room for others.
func TestCorrectionsAreBounded(t *testing.T) {
	c := newCorrections()
	now := time.Now()
	for i := range 2 * correctionsEach {
		c.add("edge", flux.Correction{Kustomization: fleet.Ref{Name: fmt.Sprint(i)}}, now)
	}
	c.add("other", flux.Correction{Kustomization: fleet.Ref{Name: "app"}}, now)
	if n := len(c.all); n != correctionsEach+1 || c.all[correctionKey{"other", fleet.Ref{Name: "app"}}] == nil {
		t.Errorf("%d are kept", n)
	}
}

// TestCorrections: what was applied is a correction when its commit was there before, and is over
// after the interval, or with the next commit.
func TestCorrections(t *testing.T) {
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	made := flux.Correction{Kustomization: fleet.Ref{Namespace: "flux-system", Name: "app"}, Commit: "abc", At: now, Objects: []string{"Deployment/shop/web"}}
	for name, one := range map[string]struct {
		change func(*fleet.Subscription)
		looked bool
		after  time.Duration
		edited bool
	}{
		"put back":                         {looked: true, edited: true},
		"not looked at since":              {},
		"within a minute":                  {looked: true, after: 59 * time.Second, edited: true},
		"after a minute":                   {looked: true, after: 61 * time.Second},
		"within the interval":              {func(s *fleet.Subscription) { s.Interval = 600 }, true, 9 * time.Minute, true},
		"after the interval":               {func(s *fleet.Subscription) { s.Interval = 600 }, true, 11 * time.Minute, false},
		"a new commit":                     {func(s *fleet.Subscription) { s.Applied = "def" }, true, 0, false},
		"the first time":                   {func(s *fleet.Subscription) { s.At = now.Add(time.Second) }, true, 0, false},
		"in the second of the first time":  {func(s *fleet.Subscription) { s.At = now }, true, 0, false},
		"as long as it is being applied":   {func(s *fleet.Subscription) { s.State = fleet.Pending }, true, 0, false},
		"another of that name, of Argo CD": {func(s *fleet.Subscription) { s.Kind = fleet.Application }, true, 0, false},
	} {
		c := newCorrections()
		c.add("edge", made, now)
		if one.looked {
			c.looked("other", now.Add(time.Second))
			if !c.looked("edge", now.Add(time.Second)) {
				t.Errorf("%s: the look does not decide", name)
			}
		}
		s := fleet.Subscription{Kind: fleet.Kustomization, Ref: made.Kustomization, Applied: "abc", State: fleet.Compliant, At: now.Add(-time.Hour)}
		if one.change != nil {
			one.change(&s)
		}
		original := []fleet.Subscription{s}
		clusters := []fleet.Cluster{{Name: "edge", Subscriptions: original}, {Name: "other", Subscriptions: original}}
		c.mark(clusters, now.Add(one.after))
		if got := clusters[0].Subscriptions[0]; (got.Edited != "") != one.edited || one.edited && !got.EditedAt.Equal(now) {
			t.Errorf("%s: %+v", name, got)
		}
		if clusters[1].Subscriptions[0].Edited != "" || original[0].Edited != "" {
			t.Errorf("%s: others are changed, too", name)
		}
	}
}
