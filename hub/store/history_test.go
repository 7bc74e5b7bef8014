package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/scheduler/placement"
)

// part is a part of the GitOps branch dev, whose commits are one minute apart from noon on.
func part(epoch, length, commits int) store.HistoryPart {
	p := store.HistoryPart{Repo: gitOps, Branch: "dev", Epoch: epoch, After: length, Roots: map[string]int{"": length + commits}, Read: noon}
	for n := length + 1; n <= length+commits; n++ {
		p.Commits = append(p.Commits, store.Commit{SHA: commit(100*epoch + n), Author: "ann", Subject: fmt.Sprintf("Change %d", n), Committed: after(n), PullRequest: n})
	}
	return p
}

func applyHistory(t *testing.T, s *store.Store, p store.HistoryPart) {
	t.Helper()
	if err := s.ApplyHistory(t.Context(), p); err != nil {
		t.Fatal(err)
	}
}

func assignment(clusterType, target string, from, to int) store.DesiredAssignment {
	return store.DesiredAssignment{ClusterType: clusterType, Target: "kaizen-app-" + target, From: from, To: to, Digest: commit(from), Repo: app, Branch: "dev", Path: target}
}

func testHistory(t *testing.T, o store.Options) {
	s := open(t, o)
	first := part(0, 0, 3)
	first.Desired = []store.DesiredAssignment{assignment("small", "test", 1, 3), assignment("small", "load", 2, 0)}
	first.Versions = []store.TargetVersion{{Environment: "dev", Target: "kaizen-app-test", From: 2, Version: "1.0.0", SourceCommit: "aaa"}}
	applyHistory(t, s, first)
	if err := s.ApplyHistory(t.Context(), first); !errors.Is(err, store.ErrMoved) {
		t.Errorf("the same part again: %v", err)
	}
	if err := s.Ready(t.Context()); err != nil {
		t.Errorf("that makes the store not ready: %v", err)
	}
	second := part(1, 3, 2)
	ended := assignment("small", "load", 2, 5)
	second.Desired = []store.DesiredAssignment{ended, assignment("large", "load", 4, 0)}
	second.Versions = []store.TargetVersion{{Environment: "dev", Target: "kaizen-app-test", From: 2, To: 4, Version: "1.0.0", SourceCommit: "aaa"}, {Environment: "dev", Target: "kaizen-app-test", From: 4, Version: "1.1.0", SourceCommit: "bbb"}}
	applyHistory(t, s, second)

	all, err := s.DesiredAssignments(t.Context(), gitOps, "dev", false)
	if diff := cmp.Diff([]store.DesiredAssignment{assignment("large", "load", 4, 0), ended, assignment("small", "test", 1, 3)}, all); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	all, err = s.DesiredAssignments(t.Context(), gitOps, "dev", true)
	if diff := cmp.Diff([]store.DesiredAssignment{assignment("large", "load", 4, 0)}, all); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	versions, err := s.TargetVersions(t.Context(), store.Scope{}, "kaizen-app-test")
	want := []store.TargetVersion{
		{Environment: "dev", Target: "kaizen-app-test", From: 4, Version: "1.1.0", SourceCommit: "bbb", Repo: gitOps, Branch: "dev", Epoch: 1, Began: after(4)},
		{Environment: "dev", Target: "kaizen-app-test", From: 2, To: 4, Version: "1.0.0", SourceCommit: "aaa", Repo: gitOps, Branch: "dev", Epoch: 1, Began: after(2)},
	}
	if diff := cmp.Diff(want, versions); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	for _, scope := range []store.Scope{{Environments: []string{"stage"}}, {Workspaces: []string{"kaizen-app-team"}}} {
		if hidden, err := s.TargetVersions(t.Context(), scope, "kaizen-app-test"); err != nil || len(hidden) > 0 {
			t.Errorf("scope %v: %+v, %v", scope, hidden, err)
		}
	}
	if _, err := s.CommitBySHA(t.Context(), commit(1)[:6]); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("six digits: %v", err)
	}

	// pushed with force: two stay, one is new
	applyHistory(t, s, store.HistoryPart{Repo: gitOps, Branch: "dev", Epoch: 1, After: 5, Rewritten: true, Kept: 2, Read: after(60)})
	applyHistory(t, s, part(2, 2, 1))
	all, err = s.DesiredAssignments(t.Context(), gitOps, "dev", false)
	if diff := cmp.Diff([]store.DesiredAssignment{assignment("small", "load", 2, 0), assignment("small", "test", 1, 0)}, all); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	histories, err := s.Histories(t.Context())
	wantHistory := []store.History{{Repo: gitOps, Branch: "dev", Epoch: store.Epoch{Epoch: 2, Began: after(60), Head: commit(203), Length: 3}, Roots: map[string]int{"": 3}, Read: noon}}
	if diff := cmp.Diff(wantHistory, histories); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	epochs, err := s.Epochs(t.Context(), gitOps, "dev")
	if diff := cmp.Diff([]store.Epoch{wantHistory[0].Epoch, {Epoch: 1, Head: commit(105), Length: 5}}, epochs); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	seqs, err := s.SeqOf(t.Context(), gitOps, "dev", []string{commit(1), commit(105), commit(203)})
	if diff := cmp.Diff(map[string]int{commit(1): 1, commit(203): 3}, seqs); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	both, err := s.CommitBySHA(t.Context(), commit(1)[:39])
	if err != nil || len(both) < 2 || both[0].Epoch != 2 || both[len(both)-1].Epoch != 1 {
		t.Errorf("%+v, %v", both, err)
	}

	// what cannot be read says why, and keeps what was read
	key := [2]string{gitOps, "dev"}
	for _, reason := range []string{"access denied", "access denied", ""} {
		if err := s.FailHistories(t.Context(), after(61), map[[2]string]string{key: reason, {app, "none"}: ""}); err != nil {
			t.Fatal(err)
		}
		histories, err := s.Histories(t.Context())
		if err != nil || len(histories) != 1 || histories[0].Error != reason || histories[0].Length != 3 {
			t.Errorf("%+v, %v", histories, err)
		}
	}
	if err := s.FailHistories(t.Context(), after(61), map[[2]string]string{{app, "dev"}: "not found"}); err != nil {
		t.Fatal(err)
	}
	later := store.HistoryPart{Repo: app, Branch: "dev", Epoch: 1, Commits: []store.Commit{{SHA: commit(1)}}, Read: noon}
	applyHistory(t, s, later)
	histories, err = s.Histories(t.Context())
	if err != nil || len(histories) != 2 || histories[0].Error != "" || histories[0].Length != 1 {
		t.Errorf("%+v, %v", histories, err)
	}
}

// testPast: a moment of the past has what git asked for then, and what was observed.
func testPast(t *testing.T, o store.Options) {
	s := open(t, o)
	p := part(0, 0, 30)
	p.Desired = []store.DesiredAssignment{assignment("small", "test", 1, 0), assignment("small", "load", 1, 20)}
	applyHistory(t, s, p)
	releases := store.HistoryPart{Repo: app, Branch: "dev", Read: noon}
	for n := 1; n <= 30; n++ {
		releases.Commits = append(releases.Commits, store.Commit{SHA: commit(500 + n), Committed: after(n)})
	}
	releases.Versions = []store.TargetVersion{
		{Environment: "dev", Target: "kaizen-app-test", From: 1, To: 12, Version: "1.0.0"}, {Environment: "dev", Target: "kaizen-app-test", From: 12, Version: "1.1.0"},
		{Environment: "stage", Target: "kaizen-app-test", From: 1, Version: "0.9.0"},
	}
	applyHistory(t, s, releases)

	environment := store.Environment{Name: "dev", GitOpsRepo: gitOps, GitOpsBranch: "dev"}
	test, load := assigned("dev", "drone", "small", "test"), assigned("dev", "drone", "small", "load")
	apply(t, s, store.Round{At: after(10), Environments: []store.Environment{environment}, Placements: map[string][]store.Placement{"dev": {test, load}}})
	failing := with(test, placement.Failing, "it does not start", after(14))
	failing.Actual.Version = "1.1.0"
	applyTo(t, s, after(15), "dev", failing, load)
	applyTo(t, s, after(21), "dev", failing)

	at := func(minutes int, scope store.Scope, f store.PlacementFilter, page store.Page) store.List[store.Placement] {
		t.Helper()
		list, err := s.PlacementsAt(t.Context(), scope, f, after(minutes), page)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	texts := func(list store.List[store.Placement]) (all []string) {
		for _, p := range list.Items {
			all = append(all, fmt.Sprintf("%s %s %s desired %s actual %s", p.Cluster, p.Target, p.State, p.Desired.Version, p.Actual.Version))
			if p.ClusterType != "small" || !p.AsOf.Equal(list.AsOf) || p.Workspace != "kaizen-app-team" {
				t.Errorf("%+v", p)
			}
		}
		return all
	}
	target := store.Page{Sort: "target"}
	for minutes, want := range map[int][]string{
		11: {"drone kaizen-app-load ok desired  actual 1.0.0", "drone kaizen-app-test ok desired 1.0.0 actual 1.0.0"},
		14: {"drone kaizen-app-load ok desired  actual 1.0.0", "drone kaizen-app-test ok desired 1.1.0 actual 1.0.0"},
		15: {"drone kaizen-app-load ok desired  actual 1.0.0", "drone kaizen-app-test failing desired 1.1.0 actual 1.1.0"},
		30: {"drone kaizen-app-test failing desired 1.1.0 actual 1.1.0"},
		9:  {" kaizen-app-load unknown desired  actual ", " kaizen-app-test unknown desired 1.0.0 actual "}, // nothing was observed
	} {
		list := at(minutes, store.Scope{}, store.PlacementFilter{}, target)
		if diff := cmp.Diff(want, texts(list)); diff != "" {
			t.Errorf("at %d:\n%s", minutes, diff)
		}
		for _, p := range list.Items {
			if minutes == 9 && (p.Reason == "" || !p.Since.IsZero()) || p.Desired.Commit == "" {
				t.Errorf("at %d: %+v", minutes, p)
			}
		}
	}
	if list := at(0, store.Scope{}, store.PlacementFilter{}, target); len(list.Items) != 0 {
		t.Errorf("before the first commit: %+v", list.Items)
	}
	for name, c := range map[string]struct {
		minutes int
		scope   store.Scope
		filter  store.PlacementFilter
		want    int
	}{
		"target":                   {15, store.Scope{}, store.PlacementFilter{Targets: []string{"kaizen-app-test"}}, 1},
		"state of then":            {15, store.Scope{}, store.PlacementFilter{States: []placement.State{placement.Failing}}, 1},
		"state of later":           {11, store.Scope{}, store.PlacementFilter{States: []placement.State{placement.Failing}}, 0},
		"version of then":          {11, store.Scope{}, store.PlacementFilter{Versions: []string{"1.0.0"}}, 2},
		"text of a reason":         {15, store.Scope{}, store.PlacementFilter{Text: "NOT START"}, 1},
		"cluster":                  {15, store.Scope{}, store.PlacementFilter{Clusters: []string{"other"}}, 0},
		"another workspace":        {15, store.Scope{Workspaces: []string{"other"}}, store.PlacementFilter{}, 0},
		"another environment":      {15, store.Scope{Environments: []string{"stage"}}, store.PlacementFilter{}, 0},
		"unobserved, target":       {9, store.Scope{}, store.PlacementFilter{Targets: []string{"kaizen-app-test"}}, 1},
		"unobserved, version":      {9, store.Scope{}, store.PlacementFilter{Versions: []string{"1.0.0"}}, 1},
		"unobserved, text":         {9, store.Scope{}, store.PlacementFilter{Text: "APP-LOAD"}, 1},
		"unobserved, cluster":      {9, store.Scope{}, store.PlacementFilter{Clusters: []string{"drone"}}, 0},
		"unobserved, state":        {9, store.Scope{}, store.PlacementFilter{States: []placement.State{placement.OK}}, 0},
		"unobserved, workspace":    {9, store.Scope{Workspaces: []string{"other"}}, store.PlacementFilter{}, 0},
		"unobserved, environments": {9, store.Scope{Environments: []string{"stage"}}, store.PlacementFilter{}, 0},
	} {
		if list := at(c.minutes, c.scope, c.filter, store.Page{}); len(list.Items) != c.want {
			t.Errorf("%s: %v", name, texts(list))
		}
	}
	for _, minutes := range []int{9, 11} {
		page := at(minutes, store.Scope{}, store.PlacementFilter{}, store.Page{Limit: 1, Sort: "target"})
		rest := at(minutes, store.Scope{}, store.PlacementFilter{}, store.Page{Limit: 1, Sort: "target", After: page.Next})
		if len(page.Items) != 1 || len(rest.Items) != 1 || rest.Next != "" || page.Items[0].Target != "kaizen-app-load" || rest.Items[0].Target != "kaizen-app-test" {
			t.Errorf("at %d: %v and %v", minutes, texts(page), texts(rest))
		}
		if _, err := s.PlacementsAt(t.Context(), store.Scope{}, store.PlacementFilter{}, after(minutes+1), store.Page{Limit: 1, Sort: "target", After: page.Next}); !errors.Is(err, store.ErrCursor) {
			t.Errorf("a cursor of another time: %v", err)
		}
	}

	counts, err := s.TargetCounts(t.Context(), store.Scope{}, "dev", after(15))
	want := []store.TargetCount{
		{Target: "kaizen-app-load", Workload: "kaizen-app", Workspace: "kaizen-app-team", Version: "1.0.0", N: 1},
		{Target: "kaizen-app-test", Workload: "kaizen-app", Workspace: "kaizen-app-team", Version: "1.1.0", N: 1},
	}
	if diff := cmp.Diff(want, counts); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	counts, err = s.TargetCounts(t.Context(), store.Scope{}, "dev", time.Time{})
	if diff := cmp.Diff(want[1:], counts); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if counts, err := s.TargetCounts(t.Context(), store.Scope{Workspaces: []string{"other"}}, "dev", after(15)); err != nil || len(counts) > 0 {
		t.Errorf("%+v, %v", counts, err)
	}

	// pushed with force: the past stays as it was
	applyHistory(t, s, store.HistoryPart{Repo: gitOps, Branch: "dev", Epoch: 1, After: 30, Rewritten: true, Kept: 0, Read: after(40)})
	state, err := s.Desired(t.Context(), store.Scope{}, "dev", after(15))
	if err != nil || len(state.Items) != 2 || state.Commit != commit(15) || !state.Committed.Equal(after(15)) {
		t.Errorf("%+v, %v", state, err)
	}
	state, err = s.Desired(t.Context(), store.Scope{}, "dev", time.Time{})
	if err != nil || len(state.Items) != 0 || state.Commit != "" {
		t.Errorf("%+v, %v", state, err)
	}

	// what was removed since it is old is not there, and what has not changed since is
	if err := s.Prune(t.Context(), after(100), store.Retention{Events: 85 * time.Minute}); err != nil {
		t.Fatal(err)
	}
	if list := at(16, store.Scope{}, store.PlacementFilter{}, target); len(list.Items) != 2 || list.Items[1].State != placement.Failing {
		t.Errorf("%v", texts(list))
	}
	if list := at(11, store.Scope{}, store.PlacementFilter{}, target); len(list.Items) != 2 || list.Items[0].State != placement.Unknown {
		t.Errorf("%v", texts(list))
	}
}
