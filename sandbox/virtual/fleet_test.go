package virtual

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/workshop"
)

const (
	forgeURL     = "http://localhost:1"
	organisation = forgeURL + "/kalypso"
)

// gitFake has repositories in memory.
type gitFake struct {
	mu    sync.Mutex
	heads map[string]string // by URL and branch
	trees map[string]map[string]string
	read  []string // commits, as often as they were read
	err   error
}

func newGit() *gitFake {
	return &gitFake{heads: map[string]string{}, trees: map[string]map[string]string{}}
}

func (g *gitFake) push(repository, branch, commit string, files map[string]string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.heads[organisation+"/"+repository+"@"+branch], g.trees[commit] = commit, files
}

func (g *gitFake) fail(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.err = err
}

func (g *gitFake) Head(_ context.Context, url, branch string) (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	commit, ok := g.heads[url+"@"+branch]
	if !ok && g.err == nil {
		return "", errors.New("no such branch")
	}
	return commit, g.err
}

func (g *gitFake) Tree(_ context.Context, _, _, commit string) (*model.Tree, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.read = append(g.read, commit)
	t := &model.Tree{Commit: commit, Files: map[string][]byte{}}
	for name, content := range g.trees[commit] {
		t.Files[name] = []byte(content)
	}
	return t, g.err
}

// start runs a fleet until the test ends.
func start(t *testing.T, g Git, clusters ...workshop.Cluster) *Fleet {
	f := New(Options{Git: g, Forge: forgeURL, Organisation: organisation})
	f.Set(clusters)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- f.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	synctest.Wait()
	return f
}

func stores(t *testing.T, name string, reconciler workshop.Reconciler, v workshop.Virtual) []workshop.Cluster {
	t.Helper()
	all, err := workshop.Cluster{
		Name: name, Type: "large", Kind: workshop.VirtualCluster, Reconciler: reconciler, Virtual: &v,
		Follows: []workshop.Subscription{{Name: "dev", Repository: "gitops", Branch: "dev", Path: "large"}},
	}.Expand()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func configMap(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n"
}

func count(all []Report, is func(Report) bool) (n int) {
	for _, r := range all {
		if is(r) {
			n++
		}
	}
	return n
}

func has(commit string) func(Report) bool {
	return func(r Report) bool { return r.State == Ready && r.Sources[0].Applied == commit }
}

func TestAThousandFetchOnceAndApplyAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGit()
		g.push("gitops", "dev", "aaaa", map[string]string{"large/a.yaml": configMap("a"), "drone/b.yaml": configMap("b")})
		f := start(t, g, stores(t, "store-{0001..1000}", workshop.Flux, workshop.Virtual{})...)
		if n := count(f.Reports(), has("aaaa")); n != 1000 {
			t.Fatalf("%d have the first commit", n)
		}
		g.push("gitops", "dev", "bbbb", map[string]string{"large/a.yaml": configMap("a") + "---\n" + configMap("c")})
		f.Notify("kalypso/gitops", "stage") // of which nothing is followed
		synctest.Wait()
		if n := count(f.Reports(), has("aaaa")); n != 1000 {
			t.Fatalf("%d have the first commit still", n)
		}
		f.Notify("kalypso/gitops", "dev")
		synctest.Wait()
		all := f.Reports()
		if n := count(all, has("bbbb")); n != 1000 {
			t.Fatalf("%d have the second commit", n)
		}
		want := []Object{{"v1", "ConfigMap", "default", "a"}, {"v1", "ConfigMap", "default", "c"}}
		if diff := cmp.Diff(want, all[999].Sources[0].Objects); diff != "" {
			t.Error(diff)
		}
		if &all[0].Sources[0].Objects[0] != &all[999].Sources[0].Objects[0] {
			t.Error("the list of objects is not shared")
		}
		if diff := cmp.Diff([]string{"aaaa", "bbbb"}, g.read); diff != "" {
			t.Error(diff)
		}
		observed, err := f.Observe(t.Context(), fleet.Source{Repo: organisation + "/gitops.git", Branch: "dev"})
		if v := fleet.Judge(observed, "bbbb"); err != nil || v.Decision != fleet.Arrived || v.All != 1000 {
			t.Errorf("%v %+v", err, v.Decision)
		}
	})
}

func TestALostPushIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGit()
		f := start(t, g, stores(t, "one", workshop.Flux, workshop.Virtual{})...)
		if r, _ := f.Report("one"); r.State != Failed || !strings.Contains(r.Reason, "no such branch") {
			t.Errorf("%+v", r)
		}
		g.push("gitops", "dev", "aaaa", map[string]string{"large/a.yaml": configMap("a")})
		time.Sleep(fetchRetry)
		synctest.Wait()
		if r, _ := f.Report("one"); !has("aaaa")(r) {
			t.Errorf("%+v", r)
		}
		g.push("gitops", "dev", "bbbb", map[string]string{"large/a.yaml": configMap("b")})
		g.fail(errors.New("the forge is down"))
		time.Sleep(defaultInterval)
		synctest.Wait()
		r, _ := f.Report("one")
		if s := r.Sources[0]; r.State != Failed || s.Applied != "aaaa" || s.RepositoryState != fleet.NonCompliant || s.State != fleet.Compliant {
			t.Errorf("%+v", r)
		}
		g.fail(nil)
		time.Sleep(fetchRetry)
		synctest.Wait()
		if r, _ := f.Report("one"); !has("bbbb")(r) {
			t.Errorf("%+v", r)
		}
	})
}

// silentGit does not answer until it is cut off.
type silentGit struct{ *gitFake }

func (g silentGit) Head(ctx context.Context, _, _ string) (string, error) {
	<-ctx.Done()
	return "", ctx.Err()
}

// TestRunAgain is about a fleet that was ended while it fetched.
func TestRunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGit()
		g.push("gitops", "dev", "aaaa", map[string]string{"large/a.yaml": configMap("a")})
		f := New(Options{Git: silentGit{g}, Forge: forgeURL, Organisation: organisation})
		f.Set(stores(t, "one", workshop.Flux, workshop.Virtual{}))
		for _, git := range []Git{silentGit{g}, g} {
			f.options.Git = git
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() { ended <- f.Run(ctx) }()
			synctest.Wait()
			cancel()
			<-ended
		}
		if r, _ := f.Report("one"); !has("aaaa")(r) {
			t.Errorf("%+v", r)
		}
	})
}

func TestTheSeedSaysOnWhatARevisionFails(t *testing.T) {
	failed := func(t *testing.T, seed uint64, forge, content string) (names []string) {
		g := newGit()
		g.heads[forge+"/kalypso/gitops@dev"] = "aaaa"
		g.trees["aaaa"] = map[string]string{"large/a.yaml": content + "data: {forge: " + forge + "/}\n"}
		f := New(Options{Git: g, Forge: forge, Organisation: forge + "/kalypso"})
		f.Set(stores(t, "store-{0001..1000}", workshop.Flux, workshop.Virtual{Seed: seed, Failing: 0.05}))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- f.Run(ctx) }()
		synctest.Wait()
		for _, r := range f.Reports() {
			if s := r.Sources[0]; r.State == Failed {
				names = append(names, r.Name)
				if s.Fetched != "aaaa" || s.Applied != "" || s.State != fleet.NonCompliant || s.Reason == "" {
					t.Errorf("%+v", s)
				}
			} else if !has("aaaa")(r) {
				t.Errorf("%+v", r)
			}
		}
		cancel()
		<-ended
		return names
	}
	synctest.Test(t, func(t *testing.T) {
		a := failed(t, 7, forgeURL, configMap("a"))
		if n := len(a); n < 25 || n > 80 {
			t.Errorf("%d of 1000 fail, 50 are asked for", n)
		}
		if diff := cmp.Diff(a, failed(t, 7, "http://localhost:3000", configMap("a"))); diff != "" {
			t.Error("on a forge with another port others fail: " + diff)
		}
		if slices.Equal(a, failed(t, 8, forgeURL, configMap("a"))) {
			t.Error("another seed makes no difference")
		}
		if slices.Equal(a, failed(t, 7, forgeURL, configMap("b"))) {
			t.Error("another revision makes no difference")
		}
	})
}

func TestEachIsLateByItsOwnDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGit()
		g.push("gitops", "dev", "aaaa", map[string]string{"large/a.yaml": configMap("a")})
		f := start(t, g, stores(t, "store-{001..100}", workshop.Flux, workshop.Virtual{Delay: time.Minute})...)
		if n := count(f.Reports(), has("aaaa")); n != 100 {
			t.Fatalf("%d have what was there before them", n)
		}
		g.push("gitops", "dev", "bbbb", map[string]string{"large/a.yaml": configMap("b")})
		f.Notify("kalypso/gitops", "dev")
		synctest.Wait()
		pushed := time.Now()
		last := 0
		for after := 10 * time.Second; after <= time.Minute; after += 10 * time.Second {
			time.Sleep(time.Until(pushed.Add(after)))
			synctest.Wait()
			all := f.Reports()
			n := count(all, has("bbbb"))
			fetched := count(all, func(r Report) bool { return r.Sources[0].Fetched == "bbbb" })
			if n <= last || fetched < n {
				t.Errorf("after %v %d have fetched it and %d have it, %d before", after, fetched, n, last)
			}
			last = n
		}
		if last != 100 {
			t.Errorf("after the longest delay %d have it", last)
		}
		for _, r := range f.Reports() {
			if s := r.Sources[0]; !s.FetchedAt.Before(s.AppliedAt) {
				t.Errorf("%s: fetched at %v, applied at %v", r.Name, s.FetchedAt, s.AppliedAt)
			}
		}
	})
}

// TestPushesFasterThanTheDelay makes none wait without an end.
func TestPushesFasterThanTheDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGit()
		g.push("gitops", "dev", "0", map[string]string{"large/a.yaml": configMap("a")})
		f := start(t, g, stores(t, "one", workshop.Flux, workshop.Virtual{Seed: 3, Delay: time.Minute})...)
		applied := map[string]bool{}
		for i := range 60 {
			g.push("gitops", "dev", fmt.Sprint(i+1), map[string]string{"large/a.yaml": configMap(fmt.Sprint("a", i))})
			f.Notify("kalypso/gitops", "dev")
			time.Sleep(5 * time.Second)
			r, _ := f.Report("one")
			applied[r.Sources[0].Applied] = true
		}
		if len(applied) < 3 {
			t.Errorf("in five minutes it has applied %d commits", len(applied))
		}
		time.Sleep(time.Minute)
		if r, _ := f.Report("one"); !has("60")(r) {
			t.Errorf("%+v", r)
		}
	})
}

func TestOfflineIsAsLastKnownAndCatchesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGit()
		g.push("gitops", "dev", "c0", map[string]string{"large/a.yaml": configMap("a")})
		f := start(t, g, stores(t, "store-{001..200}", workshop.Flux, workshop.Virtual{Seed: 1, Offline: 0.2, OfflineFor: time.Minute})...)
		began := time.Now()
		ever := map[string]bool{}
		before := map[string]Report{}
		for i := range 20 {
			commit := fmt.Sprint("c", i+1)
			g.push("gitops", "dev", commit, map[string]string{"large/a.yaml": configMap(commit)})
			f.Notify("kalypso/gitops", "dev")
			time.Sleep(time.Until(began.Add(time.Duration(i)*time.Minute + 30*time.Second)))
			synctest.Wait()
			off := 0
			for _, r := range f.Reports() {
				if r.State != Offline {
					if r.State != Ready || r.Sources[0].Applied != commit {
						t.Fatalf("%s is reached and has not caught up with %s: %+v", r.Name, commit, r)
					}
				} else {
					off++
					ever[r.Name] = true
					if was, known := before[r.Name]; known && was.State == Offline && (was.Sources[0].Applied != r.Sources[0].Applied || !was.LastSeen.Equal(r.LastSeen)) {
						t.Errorf("%s has changed while it was offline: %+v", r.Name, r)
					}
					if r.LastSeen.IsZero() != (r.Sources[0].Fetched == "") || r.LastSeen.After(time.Now()) {
						t.Errorf("%s was seen at %v: %+v", r.Name, r.LastSeen, r.Sources[0])
					}
				}
				before[r.Name] = r
			}
			if off < 15 || off > 70 {
				t.Errorf("%d of 200 are offline, 40 are asked for", off)
			}
		}
		if len(ever) < 190 {
			t.Errorf("in 20 minutes only %d have been offline", len(ever))
		}
		observed, _ := f.Observe(t.Context(), fleet.Source{Repo: organisation + "/gitops", Branch: "dev"})
		if !slices.ContainsFunc(observed, func(c fleet.Configuration) bool { return c.State == fleet.Unknown }) {
			t.Error("none of those that are offline is unknown")
		}
	})
}

func TestOneThatIsAlwaysOffline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGit()
		g.push("gitops", "dev", "aaaa", map[string]string{"large/a.yaml": configMap("a")})
		f := start(t, g, stores(t, "one", workshop.Flux, workshop.Virtual{Offline: 1, OfflineFor: time.Second})...)
		time.Sleep(time.Hour)
		if r, _ := f.Report("one"); r.State != Offline || !r.LastSeen.IsZero() || r.Sources[0].Fetched != "" {
			t.Errorf("%+v", r)
		}
	})
}

func TestClustersComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGit()
		g.push("gitops", "dev", "aaaa", map[string]string{"large/a.yaml": configMap("a")})
		some := stores(t, "store-{1..3}", workshop.Flux, workshop.Virtual{})
		f := start(t, g, some...)
		at := f.Reports()[0].Sources[0].AppliedAt
		time.Sleep(time.Second)
		f.Set(append(slices.Clone(some[:2]), stores(t, "extra", workshop.ArgoCD, workshop.Virtual{})...))
		synctest.Wait()
		var names []string
		for _, r := range f.Reports() {
			names = append(names, r.Name)
			if !has("aaaa")(r) {
				t.Errorf("%+v", r)
			}
		}
		if diff := cmp.Diff([]string{"extra", "store-1", "store-2"}, names); diff != "" {
			t.Error(diff)
		}
		if r, _ := f.Report("store-1"); !r.Sources[0].AppliedAt.Equal(at) {
			t.Error("one that stays has applied it again")
		}
		if _, there := f.Report("store-3"); there {
			t.Error("one that was removed is there")
		}
		f.Set(nil)
		f.mu.Lock()
		defer f.mu.Unlock()
		if len(f.sources)+len(f.due) > 0 {
			t.Errorf("%d sources are left, and %d that are due", len(f.sources), len(f.due))
		}
	})
}

func TestGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGit()
		g.push("gitops", "dev", "aaaa", map[string]string{"large/a.yaml": configMap("a")})
		f := start(t, g, append(stores(t, "store-{001..500}", workshop.Flux, workshop.Virtual{Seed: 7, Failing: 0.1, Offline: 0.1, OfflineFor: time.Hour}), stores(t, "lab", workshop.ArgoCD, workshop.Virtual{})...)...)
		groups := Groups(f.Reports())
		if len(groups) != 2 || groups[0].First != "lab" || groups[0].Ready != 1 || groups[0].Reason != "" {
			t.Fatalf("%+v", groups)
		}
		s := groups[1]
		if s.First != "store-001" || s.Last != "store-500" || s.Count != 500 || s.Type != "large" || s.Ready+s.Failed+s.Offline != 500 || s.Failed == 0 || s.Offline == 0 || s.Reason == "" {
			t.Errorf("%+v", s)
		}
	})
}
