package store_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/placement"
)

// withFleet applies two environments, and clusters that exist since noon.
func withFleet(t *testing.T, s *store.Store, clusters ...string) {
	t.Helper()
	r := store.Round{At: noon, Environments: []store.Environment{
		{Name: "dev", GitOpsRepo: gitOps, GitOpsBranch: "dev"}, {Name: "stage", GitOpsRepo: gitOps, GitOpsBranch: "stage", Position: 1},
	}}
	for _, name := range clusters {
		r.Clusters = append(r.Clusters, store.Cluster{Name: name, LastSeen: noon})
	}
	apply(t, s, r)
}

// merged is a merged pull request of the platform that goes to a subscription on each of some
// clusters, in a state.
func merged(number int, clusters ...store.ChangeCluster) store.Change {
	return store.Change{
		Environment: "dev", Repo: gitOps, Branch: "dev", Kind: "platform", PullRequest: number, SHA: commit(number), Head: commit(number + 1000),
		Title: fmt.Sprintf("Change %d", number), Author: "scheduler", URL: "http://forge/pulls/1", Size: &store.Size{Added: 1},
		Stages:   store.Stages{Pushed: after(number), Planned: after(number + 1), Opened: after(number + 2), Merged: after(number + 3)},
		Sources:  []store.SourceCommit{{Repo: "http://forge/acme/control", SHA: commit(number + 2000), Author: "Ann", Subject: "label", At: after(number)}},
		Clusters: append([]store.ChangeCluster{}, clusters...),
	}
}

func on(cluster string, state store.ChangeState, since int) store.ChangeCluster {
	return store.ChangeCluster{Cluster: cluster, ClusterType: "edge", Subscription: "flux/dev", State: state, Reason: "because", Since: after(since)}
}

func changes(t *testing.T, s *store.Store, f store.ChangeFilter) []store.Change {
	t.Helper()
	list, err := s.Changes(t.Context(), store.Scope{}, f, store.Page{Limit: 100})
	if err != nil || list.Total != len(list.Items) {
		t.Fatalf("%+v, %v", list, err)
	}
	return list.Items
}

func onlyChange(t *testing.T, s *store.Store) store.Change {
	t.Helper()
	all := changes(t, s, store.ChangeFilter{})
	if len(all) != 1 {
		t.Fatalf("%+v", all)
	}
	return all[0]
}

// testChange follows a change from its pull request to all clusters.
func testChange(t *testing.T, o store.Options) {
	s := open(t, o)
	withFleet(t, s, "drone", "large")
	c := merged(1)
	c.State, c.Reason, c.Clusters, c.Merged, c.SHA = store.ChangeOpen, "waits for a review", nil, time.Time{}, c.Head
	write := func(at int, c store.Change) store.Change {
		t.Helper()
		apply(t, s, store.Round{At: after(at), Changes: []store.Change{c}})
		return onlyChange(t, s)
	}
	got := write(3, c)
	want := c
	want.ID, want.Clusters = got.ID, nil
	if diff := gocmp.Diff(want, got); diff != "" || got.ID == 0 {
		t.Error(diff)
	}
	last, err := s.LastMessage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	write(4, c)
	if same, err := s.LastMessage(t.Context()); same != last || err != nil {
		t.Errorf("a round that says the same writes message %d after %d, %v", same, last, err)
	}

	// a later push to it: its source is one more, and what was first stays
	c.Head, c.Planned = commit(1002), after(3)
	c.SHA = c.Head
	c.Sources = []store.SourceCommit{{Repo: "http://forge/acme/control", SHA: commit(2002), At: after(3)}}
	c.Pushed = after(3)
	if got = write(4, c); len(got.Sources) != 2 || !got.Pushed.Equal(after(1)) || !got.Planned.Equal(after(2)) || got.SHA != c.Head {
		t.Errorf("%+v", got)
	}

	// large has a clock that is behind, and drone one that is ahead
	c = merged(1, on("drone", store.ClusterWaiting, 0), on("large", store.ClusterApplied, -60))
	got = write(5, c)
	if got.State != store.ChangeRolling || got.Reached != 1 || got.Total != 2 || !got.FirstApplied.Equal(got.Merged) || !got.Applied.IsZero() || !strings.Contains(got.Reason, "drone: because") {
		t.Errorf("%+v", got)
	}
	c.Clusters = []store.ChangeCluster{on("drone", store.ClusterFailing, 6), on("large", store.ClusterUnknown, 6)}
	if got = write(7, c); got.State != store.ChangeFailing || got.Reached != 1 || got.Failing != 1 {
		t.Errorf("what has applied it stays so, and what fails is counted: %+v", got)
	}
	c.Clusters[0] = on("drone", store.ClusterApplied, 600)
	got = write(9, c)
	if got.State != store.ChangeApplied || got.Reached != 2 || !got.Applied.Equal(after(9)) || got.Reason != "" {
		t.Errorf("%+v", got)
	}
	stages := []time.Time{got.Pushed, got.Planned, got.Opened, got.Merged, got.FirstApplied, got.Applied}
	if !slices.IsSortedFunc(stages, time.Time.Compare) || slices.ContainsFunc(stages, time.Time.IsZero) {
		t.Errorf("%v", stages)
	}
	c.Clusters = append(c.Clusters, on("small", store.ClusterFailing, 10))
	c.MergedBy = "ada"
	if got = write(11, c); got.State != store.ChangeApplied || got.Total != 2 || got.MergedBy != "ada" {
		t.Errorf("a cluster that comes later takes it back: %+v", got)
	}
	messages, err := s.Outbox(t.Context(), 0, 1000)
	if err != nil || !slices.ContainsFunc(messages, func(m store.Message) bool {
		return m.Topic == "change" && m.Environment == "dev" && string(m.Payload) == fmt.Sprintf(`{"change":%d,"environment":"dev","state":"failing"}`, got.ID)
	}) {
		t.Errorf("%v in %+v", err, messages)
	}
	list, err := s.ChangeClusters(t.Context(), store.Scope{}, got.ID, nil, store.Page{})
	if err != nil || len(list.Items) != 2 || list.Total != 2 || list.Items[0].Cluster != "drone" || !list.Items[0].Fetched.Equal(after(7)) || !list.Items[0].Applied.Equal(after(9)) {
		t.Errorf("%+v, %v", list, err)
	}
	for _, err := range []error{
		func() error { _, err := s.Change(t.Context(), store.Scope{}, 99); return err }(),
		func() error {
			_, err := s.ChangeClusters(t.Context(), store.Scope{}, 99, nil, store.Page{})
			return err
		}(),
		func() error {
			_, err := s.Change(t.Context(), store.Scope{Environments: []string{"stage"}}, got.ID)
			return err
		}(),
	} {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%v", err)
		}
	}
}

// testChangeClocks: whatever the clocks say, stages come in their order.
func testChangeClocks(t *testing.T, o store.Options) {
	s := open(t, o)
	withFleet(t, s, "drone")
	for i, wrong := range []store.Stages{
		{Pushed: after(500), Planned: after(400), Opened: after(2), Merged: after(3)},
		{Pushed: after(1), Planned: after(9), Opened: after(7), Merged: after(5)},
		{Opened: after(800), Merged: after(900)},
	} {
		c := merged(i+1, on("drone", store.ClusterApplied, -1000))
		c.Stages = wrong
		apply(t, s, store.Round{At: after(60), Changes: []store.Change{c}})
		d, err := s.Change(t.Context(), store.Scope{}, int64(i+1))
		if err != nil {
			t.Fatal(err)
		}
		last := time.Time{}
		for _, at := range []time.Time{d.Pushed, d.Planned, d.Opened, d.Merged, d.FirstApplied, d.Applied} {
			if !at.IsZero() && (at.Before(last) || at.After(after(60))) {
				t.Errorf("%+v", d.Stages)
			}
			last = at
		}
	}
}

// testChangeReads are the list with its filters, the lanes, and the promotion.
func testChangeReads(t *testing.T, o store.Options) {
	s := open(t, o)
	withFleet(t, s, "a", "b", "c", "d")
	cloud := on("d", store.ClusterApplied, 50)
	cloud.ClusterType = "cloud"
	twice := on("b", store.ClusterWaiting, 0)
	twice.Subscription = "flux/other"
	slow := merged(1, on("a", store.ClusterApplied, 20), on("b", store.ClusterApplied, 30), twice, on("c", store.ClusterFailing, 0), cloud)
	passed := on("a", store.ClusterApplied, 50)
	passed.Passed = true
	early := merged(2, passed)
	early.Merged, early.Opened, early.Pushed, early.Planned = after(-60), after(-61), time.Time{}, time.Time{}
	promotion := merged(3)
	promotion.Environment, promotion.Branch, promotion.Kind, promotion.State, promotion.Clusters = "stage", "stage", "promotion", store.ChangeOpen, nil
	promotion.Sources = slow.Sources
	application := merged(4)
	application.Repo, application.Kind, application.PullRequest, application.Title, application.Sources = app, "application", 0, "100% of it", nil
	r := store.Round{At: after(100), Changes: []store.Change{slow, early, promotion, application}, Placements: map[string][]store.Placement{"dev": {assigned("dev", "a", "edge", "x")}}}
	r.Placements["dev"][0].Desired.Branch = "dev"
	apply(t, s, r)
	titles := func(all []store.Change) (names []string) {
		for _, c := range all {
			names = append(names, c.Title)
		}
		return names
	}
	for name, c := range map[string]struct {
		filter store.ChangeFilter
		want   []string
	}{
		"all":             {want: []string{"100% of it", "Change 3", "Change 1", "Change 2"}},
		"environment":     {filter: store.ChangeFilter{Environments: []string{"stage"}}, want: []string{"Change 3"}},
		"kind":            {filter: store.ChangeFilter{Kinds: []string{"application", "promotion"}}, want: []string{"100% of it", "Change 3"}},
		"state":           {filter: store.ChangeFilter{States: []string{"failing", "none"}}, want: []string{"100% of it", "Change 1"}},
		"title":           {filter: store.ChangeFilter{Text: "cHANGE 2"}, want: []string{"Change 2"}},
		"pattern":         {filter: store.ChangeFilter{Text: "0%"}, want: []string{"100% of it"}},
		"commit":          {filter: store.ChangeFilter{Text: commit(2)}, want: []string{"Change 2"}},
		"head":            {filter: store.ChangeFilter{Text: commit(1003)}, want: []string{"Change 3"}},
		"source":          {filter: store.ChangeFilter{Text: strings.ToUpper(commit(2001))}, want: []string{"Change 3", "Change 1"}},
		"short commit":    {filter: store.ChangeFilter{Text: commit(1)[:6]}},
		"no commit":       {filter: store.ChangeFilter{Text: "abcdef0123456"}},
		"many begin so":   {filter: store.ChangeFilter{Text: commit(1)[:7]}, want: []string{"100% of it", "Change 3", "Change 1", "Change 2"}},
		"of nobody's":     {filter: store.ChangeFilter{Text: "Ann"}},
		"author's change": {filter: store.ChangeFilter{Text: "schedul", Kinds: []string{"promotion"}}, want: []string{"Change 3"}},
	} {
		if got := titles(changes(t, s, c.filter)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	got := inPages(t, 2, "", func(p store.Page) (store.List[store.Change], error) {
		return s.Changes(t.Context(), store.Scope{}, store.ChangeFilter{}, p)
	})
	if diff := gocmp.Diff(changes(t, s, store.ChangeFilter{}), got); diff != "" {
		t.Error(diff)
	}

	d, err := s.Change(t.Context(), store.Scope{}, got[2].ID)
	if err != nil {
		t.Fatal(err)
	}
	// b has one of two subscriptions, and so has not reached it
	lanes := []store.Lane{
		{ClusterType: "cloud", Total: 1, Reached: 1, FirstApplied: after(50), Applied: after(50)},
		{ClusterType: "edge", Total: 3, Reached: 1, Failing: 1, FirstApplied: after(20)},
	}
	if diff := gocmp.Diff(lanes, d.Lanes); diff != "" || d.Total != 4 || d.Reached != 2 || d.Failing != 1 {
		t.Errorf("%+v %s", d, diff)
	}
	if d.Next == nil || d.Next.Environment != "stage" || d.Next.State != store.ChangeOpen || d.Next.PullRequest != 3 {
		t.Errorf("%+v", d.Next)
	}
	clusters := inPages(t, 2, "", func(p store.Page) (store.List[store.ChangeCluster], error) {
		return s.ChangeClusters(t.Context(), store.Scope{}, d.ID, nil, p)
	})
	var order []string
	for _, c := range clusters {
		order = append(order, c.Cluster+" "+c.State.String())
	}
	if want := []string{"c failing", "b waiting", "d applied", "b applied", "a applied"}; !slices.Equal(order, want) {
		t.Errorf("%v, want %v", order, want)
	}
	if list, err := s.ChangeClusters(t.Context(), store.Scope{}, d.ID, []string{"cloud"}, store.Page{}); err != nil || len(list.Items) != 1 || list.Items[0].Cluster != "d" {
		t.Errorf("%+v, %v", list, err)
	}

	// it was merged before the hub has seen the cluster, which has a later commit: when that got it is not known
	if c := got[3]; c.State != store.ChangeApplied || c.Reached != 1 || !c.Applied.IsZero() || !c.FirstApplied.IsZero() {
		t.Errorf("%+v", c)
	}

	// a viewer of one workspace sees its application, and of the platform's changes its clusters
	for workspace, want := range map[string]string{"kaizen-app-team": "100% of it, Change 3, Change 1, Change 2", "other": "Change 3, Change 1, Change 2"} {
		scope := store.Scope{Workspaces: []string{workspace}}
		list, err := s.Changes(t.Context(), scope, store.ChangeFilter{}, store.Page{})
		if err != nil || strings.Join(titles(list.Items), ", ") != want || list.Total != len(list.Items) {
			t.Errorf("%s: %v, %v", workspace, titles(list.Items), err)
		}
		d, err := s.Change(t.Context(), scope, got[2].ID)
		if total := map[string]int{"kaizen-app-team": 1}[workspace]; err != nil || d.Total != total || d.Reached != total || d.Failing != 0 {
			t.Errorf("%s: %+v, %v", workspace, d, err)
		}
	}
	for _, page := range []store.Page{{After: "nonsense"}, {Sort: "title"}} {
		if _, err := s.Changes(t.Context(), store.Scope{}, store.ChangeFilter{}, page); !errors.Is(err, store.ErrCursor) && !errors.Is(err, store.ErrSort) {
			t.Errorf("%v", err)
		}
	}
	known, err := s.KnownChanges(t.Context(), "dev", gitOps, "dev")
	if err != nil || len(known) != 2 || known[1].Head != slow.Head || known[1].Size.Added != 1 || len(known[1].Sources) != 1 || known[1].State != store.ChangeFailing {
		t.Errorf("%+v, %v", known, err)
	}
}

// testChangeRetention: changes are kept as events are.
func testChangeRetention(t *testing.T, o store.Options) {
	s := open(t, o)
	withFleet(t, s, "drone")
	var all []store.Change
	for i := range 12 {
		all = append(all, merged(i*60+1, on("drone", store.ClusterApplied, i*60+10)))
	}
	apply(t, s, store.Round{At: after(1000), Changes: all})
	if err := s.Prune(t.Context(), after(24*60), store.Retention{Events: 18 * time.Hour}); err != nil {
		t.Fatal(err)
	}
	if left := changes(t, s, store.ChangeFilter{}); len(left) != 6 || left[5].PullRequest != 361 {
		t.Errorf("%d left, the oldest %+v", len(left), left[len(left)-1])
	}
	for _, table := range []string{"change", "change_source", "change_cluster"} {
		var n int
		if err := raw(t, o).QueryRowContext(t.Context(), `SELECT count(*) FROM `+table).Scan(&n); err != nil || n != 6 {
			t.Errorf("%s has %d rows, %v", table, n, err)
		}
	}
}

// history writes commits of a branch, numbered from 1.
func history(t *testing.T, s *store.Store, repo, branch string, epoch, kept int, shas ...string) {
	t.Helper()
	p := store.HistoryPart{Repo: repo, Branch: branch, Epoch: epoch, Roots: map[string]int{}, Read: noon}
	if epoch > 0 {
		epochs, err := s.Epochs(t.Context(), repo, branch)
		if err != nil {
			t.Fatal(err)
		}
		p.After, p.Rewritten, p.Kept = epochs[0].Length, true, kept
	}
	for _, sha := range shas {
		p.Commits = append(p.Commits, store.Commit{SHA: sha, Author: "Ann", Subject: "change", Committed: noon})
	}
	p.Roots[""] = kept + len(shas)
	if err := s.ApplyHistory(t.Context(), p); err != nil {
		t.Fatal(err)
	}
}

// testChangeEpochs: a change of a branch that was pushed with force names the epoch.
func testChangeEpochs(t *testing.T, o store.Options) {
	s := open(t, o)
	withFleet(t, s)
	apply(t, s, store.Round{At: after(10), Changes: []store.Change{merged(1), merged(2), merged(3)}})
	epochs := func() (numbers []int) {
		for id := range 3 {
			d, err := s.Change(t.Context(), store.Scope{}, int64(id+1))
			if err != nil || d.EpochBegan.IsZero() != (d.Epoch < 2) {
				t.Errorf("%+v, %v", d, err)
			}
			numbers = append(numbers, d.Epoch)
		}
		return numbers
	}
	if got := epochs(); !slices.Equal(got, []int{0, 0, 0}) {
		t.Error(got)
	}
	history(t, s, gitOps, "dev", 0, 0, commit(1), commit(2))
	history(t, s, gitOps, "dev", 1, 1, commit(3))
	if got := epochs(); !slices.Equal(got, []int{1, 1, 2}) {
		t.Error(got)
	}
}

// testDesiredSize counts what a commit has changed.
func testDesiredSize(t *testing.T, o store.Options) {
	s := open(t, o)
	p := store.HistoryPart{Repo: gitOps, Branch: "dev", Roots: map[string]int{"": 2}, Read: noon}
	for n := range 3 {
		p.Commits = append(p.Commits, store.Commit{SHA: commit(n + 1)})
	}
	p.Desired = []store.DesiredAssignment{
		{ClusterType: "edge", Target: "stays", From: 1}, {ClusterType: "edge", Target: "goes", From: 1, To: 2},
		{ClusterType: "cloud", Target: "changes", From: 1, To: 2, Digest: "a"}, {ClusterType: "cloud", Target: "changes", From: 2, Digest: "b"}, {ClusterType: "large", Target: "comes", From: 2},
	}
	if err := s.ApplyHistory(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	size, types, known, err := s.DesiredSize(t.Context(), gitOps, "dev", "", commit(2))
	if err != nil || !known || size != (store.Size{Added: 1, Changed: 1, Removed: 1}) || !slices.Equal(types, []string{"cloud", "edge", "large"}) {
		t.Errorf("%+v %v %v %v", size, types, known, err)
	}
	if size, types, known, err = s.DesiredSize(t.Context(), gitOps, "dev", "", commit(1)); err != nil || !known || size.Added != 3 || len(types) != 2 {
		t.Errorf("%+v %v %v %v", size, types, known, err)
	}
	for _, sha := range []string{commit(3), commit(4)} { // not read so far, and not there
		if _, _, known, err = s.DesiredSize(t.Context(), gitOps, "dev", "", sha); err != nil || known {
			t.Errorf("%s: %v %v", sha, known, err)
		}
	}
}

// follower is a cluster that follows the branch dev of the platform by Flux, with a child.
func follower(name, sha string, state, child fleet.State) store.Cluster {
	root := fleet.Ref{Namespace: "flux-system", Name: "dev"}
	return store.Cluster{Name: name, LastSeen: noon, Subscriptions: []fleet.Subscription{
		{Kind: fleet.Kustomization, Ref: root, Source: &root, Repo: gitOps + ".git", Branch: "dev", Path: "edge", Commit: sha, Applied: sha, State: state, Reason: "so it is"},
		{Kind: fleet.Kustomization, Ref: fleet.Ref{Name: "app"}, Source: &fleet.Ref{Name: "app"}, Parent: &root, Repo: app, Branch: "dev", Commit: sha, State: child, Reason: "the child"},
	}}
}

// testDeployment: a commit has reached a cluster that has it or a later one and is well, with all
// that it has brought.
func testDeployment(t *testing.T, o store.Options) {
	s := open(t, o)
	withFleet(t, s)
	ok := fleet.Compliant
	state := func(sha string, clusters ...store.Cluster) string {
		t.Helper()
		if clusters != nil {
			apply(t, s, store.Round{At: after(1), Clusters: clusters})
		}
		d, err := s.Deployment(t.Context(), store.Scope{}, gitOps, "dev", sha)
		if err != nil {
			t.Fatal(err)
		}
		if d.Total != d.Reached+d.NWaiting+d.NFailed+d.NUnknown || len(d.Waiting) != d.NWaiting || len(d.Failed) != d.NFailed || len(d.Unknown) != d.NUnknown {
			t.Errorf("%+v", d)
		}
		for _, f := range slices.Concat(d.Waiting, d.Failed, d.Unknown) {
			if f.Cluster == "" || f.Reason == "" || f.Subscription != "dev" {
				t.Errorf("%+v", f)
			}
		}
		return fmt.Sprint(d.Total, d.Reached, d.NWaiting, d.NFailed, d.NUnknown)
	}
	if _, err := s.Deployment(t.Context(), store.Scope{}, gitOps, "dev", commit(1)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("%v", err)
	}
	// without a history, equality decides
	for want, clusters := range map[string][]store.Cluster{
		"1 1 0 0 0": {follower("drone", commit(1), ok, ok)},
		"1 0 1 0 0": {follower("drone", commit(2), ok, ok)},
		"2 1 1 0 0": {follower("drone", commit(1), ok, ok), follower("large", commit(1), ok, fleet.Pending)},
		"2 1 0 1 0": {follower("drone", commit(1), ok, ok), follower("large", commit(1), fleet.NonCompliant, ok)},
		"2 0 1 1 0": {follower("drone", "", fleet.Pending, ok), follower("large", commit(1), ok, fleet.NonCompliant)},
	} {
		if got := state(commit(1), clusters...); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	// a cluster that cannot be asked has not reached it, also when it had
	if got := state(commit(1), follower("drone", commit(1), ok, ok), follower("large", commit(1), ok, ok)); got != "2 2 0 0 0" {
		t.Error(got)
	}
	if got := state(commit(1), follower("drone", commit(1), ok, ok), store.Cluster{Name: "large", Unknown: "connection refused"}); got != "2 1 0 0 1" {
		t.Error(got)
	}
	if got := state(commit(1), follower("drone", commit(1), ok, ok)); got != "1 1 0 0 0" {
		t.Errorf("a cluster that is gone is waited for: %s", got)
	}
	// and with a history, order
	second := "feedbeef" + commit(2)[8:]
	history(t, s, gitOps, "dev", 0, 0, commit(1), second, commit(3))
	three := []store.Cluster{follower("a", commit(1), ok, ok), follower("b", second, ok, ok), follower("c", commit(3), fleet.NonCompliant, ok)}
	for sha, want := range map[string]string{commit(1): "3 2 0 1 0", second: "3 1 1 1 0", second[:7]: "3 1 1 1 0", commit(3): "3 0 2 1 0", commit(9): "3 0 3 0 0"} {
		if got := state(sha, three...); got != want {
			t.Errorf("%s: %s, want %s", sha, got, want)
		}
	}
	// the commit is not on the branch any more
	history(t, s, gitOps, "dev", 1, 1, commit(4))
	if got := state(second); got != "3 1 2 0 0" {
		t.Errorf("%s", got)
	}
	for name, c := range map[string]struct {
		scope        store.Scope
		repo, branch string
		hint         string
	}{
		"branch":        {repo: gitOps, branch: "devv", hint: "did you mean dev?"},
		"repository":    {repo: gitOps + "x", branch: "dev", hint: "did you mean " + gitOps},
		"scope":         {scope: store.Scope{Environments: []string{"stage"}}, repo: gitOps, branch: "dev"},
		"other project": {repo: "http://forge/b", branch: "b"},
	} {
		if _, err := s.Deployment(t.Context(), c.scope, c.repo, c.branch, commit(1)); !errors.Is(err, store.ErrNotFound) || !strings.Contains(err.Error(), c.hint) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if d, err := s.Deployment(t.Context(), store.Scope{Environments: []string{"dev"}}, gitOps, "dev", commit(1)); err != nil || d.Total != 3 {
		t.Errorf("%+v, %v", d, err)
	}
}

// testCauses: a group of drift names the change that it has begun with.
func testCauses(t *testing.T, o store.Options) {
	s := open(t, o)
	withFleet(t, s, "drone", "large")
	late := with(assigned("dev", "drone", "edge", "a"), placement.Late, "not there yet", after(5))
	failed := with(assigned("dev", "large", "edge", "b"), placement.Failing, "cannot apply", after(5))
	lost := with(assigned("dev", "drone", "edge", "c"), placement.Missing, "not there", after(5))
	lost.Desired.Commit = commit(7)
	brought := merged(1)
	brought.Repo, brought.Kind, brought.Title = app, "application", "the application"
	platform := merged(2, on("large", store.ClusterFailing, 4))
	platform.Title = "the platform"
	apply(t, s, store.Round{At: after(6), Placements: map[string][]store.Placement{"dev": {late, failed, lost}}, Changes: []store.Change{brought, platform}})
	list, err := s.Drift(t.Context(), store.Scope{}, store.PlacementFilter{}, store.Page{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[placement.State]string{}
	for _, g := range list.Items {
		if got[g.State] = "none"; g.Change != nil {
			got[g.State] = g.Change.Title
		}
	}
	want := map[placement.State]string{placement.Late: "the application", placement.Failing: "the platform", placement.Missing: "none"}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// testOutliers: one is a placement that is not like 90 % of the other clusters of its type.
func testOutliers(t *testing.T, o store.Options) {
	s := open(t, o)
	var all []store.Placement
	add := func(target, version string, n int, state placement.State) {
		for range n {
			p := assigned("dev", fmt.Sprintf("c%02d", len(all)), "edge", target)
			if p.State = state; state != placement.OK {
				p.Reason = "so it is"
			}
			p.Actual.Version, p.Since = version, after(-len(all)-1)
			all = append(all, p)
		}
	}
	add("three", "1.0.0", 2, placement.OK)
	add("three", "0.9.0", 1, placement.Late)
	add("two", "1.0.0", 1, placement.OK)
	add("two", "0.9.0", 1, placement.Late)
	add("split", "1.0.0", 8, placement.OK)
	add("split", "0.9.0", 2, placement.Failing)
	add("many", "1.0.0", 18, placement.OK)
	add("many", "0.9.0", 1, placement.Unknown)
	add("many", "0.8.0", 1, placement.Suspended)
	add("rolls", "1.0.0", 9, placement.OK)
	add("rolls", "0.9.0", 1, placement.Rolling)
	add("leads", "0.9.0", 9, placement.Late)
	add("leads", "1.0.0", 1, placement.OK)
	applyTo(t, s, noon, "dev", all...)
	got := inPages(t, 2, "", func(p store.Page) (store.List[store.Outlier], error) {
		return s.Outliers(t.Context(), store.Scope{}, []string{"dev"}, p)
	})
	var names []string
	for _, one := range got {
		names = append(names, fmt.Sprintf("%s %s not %s %.2f", strings.TrimPrefix(one.Target, "kaizen-app-"), one.Version, one.Usual, one.Share))
		if one.Environment != "dev" || one.ClusterType != "edge" || one.Cluster == "" || one.Since.IsZero() {
			t.Errorf("%+v", one)
		}
	}
	if want := []string{"many 0.8.0 not 1.0.0 0.95", "many 0.9.0 not 1.0.0 0.95", "three 0.9.0 not 1.0.0 1.00"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	if list, err := s.Outliers(t.Context(), store.Scope{Workspaces: []string{"other"}}, nil, store.Page{}); err != nil || len(list.Items) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
}

// testPullRequestFields: what a pull request waits for and changes is kept, and found by
// environment.
func testPullRequestFields(t *testing.T, o store.Options) {
	s := open(t, o)
	one := store.PullRequest{Environment: "dev", Repo: gitOps, Number: 1, Kind: "platform", State: "open", Opened: noon, Checks: "pending", Clusters: 3, Size: &store.Size{Added: 1}, Reason: "waits for check ci"}
	model := store.PullRequest{Repo: "http://forge/acme/control", Number: 2, Kind: "control-plane", State: "open", Opened: after(-1)}
	round := func() {
		apply(t, s, store.Round{At: noon, PullRequests: map[string][]store.PullRequest{"dev": {one}, "": {model}}})
	}
	round()
	list, err := s.PullRequests(t.Context(), store.Scope{}, nil, nil, store.Page{})
	if diff := gocmp.Diff([]store.PullRequest{one, model}, list.Items); diff != "" || err != nil {
		t.Error(err, diff)
	}
	last, _ := s.LastMessage(t.Context())
	round()
	if same, err := s.LastMessage(t.Context()); same != last || err != nil {
		t.Errorf("message %d after %d, %v", same, last, err)
	}
	one.Size = &store.Size{Removed: 1}
	round()
	if list, err = s.PullRequests(t.Context(), store.Scope{}, []string{"dev"}, nil, store.Page{}); err != nil || list.Total != 1 || *list.Items[0].Size != *one.Size {
		t.Errorf("%+v, %v", list, err)
	}
	if list, err = s.PullRequests(t.Context(), store.Scope{Environments: []string{"stage"}}, nil, nil, store.Page{}); err != nil || list.Total != 0 {
		t.Errorf("those of the control plane are for who may see all environments: %+v, %v", list, err)
	}
}

// BenchmarkChanges writes and reads 100 changes on 1,000 clusters.
func BenchmarkChanges(b *testing.B) {
	s, err := store.Open(b.Context(), store.Options{SQLite: filepath.Join(b.TempDir(), "hub.db")})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	r := store.Round{At: noon, Environments: []store.Environment{{Name: "dev"}}}
	var clusters []store.ChangeCluster
	for i := range 1000 {
		name := fmt.Sprintf("cluster-%04d", i)
		r.Clusters = append(r.Clusters, store.Cluster{Name: name, LastSeen: noon})
		one := on(name, []store.ChangeState{store.ClusterWaiting, store.ClusterApplied}[i%2], i)
		one.ClusterType = fmt.Sprint("type-", i%50)
		clusters = append(clusters, one)
	}
	if _, err := s.Apply(b.Context(), r); err != nil {
		b.Fatal(err)
	}
	for n := range 100 {
		if _, err := s.Apply(b.Context(), store.Round{At: after(2000), Changes: []store.Change{merged(n+1, clusters...)}}); err != nil {
			b.Fatal(err)
		}
	}
	check := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	written := 0
	for name, do := range map[string]func() error{
		"write": func() error { // half of the clusters differ
			written++
			for i := 0; i < len(clusters); i += 2 {
				clusters[i].State = []store.ChangeState{store.ClusterWaiting, store.ClusterFetched}[written%2]
			}
			_, err := s.Apply(b.Context(), store.Round{At: after(2000), Changes: []store.Change{merged(50, clusters...)}})
			return err
		},
		"list": func() error {
			_, err := s.Changes(b.Context(), store.Scope{}, store.ChangeFilter{}, store.Page{})
			return err
		},
		"text": func() error {
			_, err := s.Changes(b.Context(), store.Scope{}, store.ChangeFilter{Text: commit(2050)[:12]}, store.Page{})
			return err
		},
		"workspace": func() error {
			_, err := s.Changes(b.Context(), store.Scope{Workspaces: []string{"team"}}, store.ChangeFilter{}, store.Page{})
			return err
		},
		"change": func() error { _, err := s.Change(b.Context(), store.Scope{}, 50); return err },
		"clusters": func() error {
			_, err := s.ChangeClusters(b.Context(), store.Scope{}, 50, nil, store.Page{Limit: 500})
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				check(do())
			}
		})
	}
}
