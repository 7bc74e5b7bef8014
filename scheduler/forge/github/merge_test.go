package github_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/testkit/githubfake"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// TestMergeAsAllowed merges as the settings of a repository allow it.
func TestMergeAsAllowed(t *testing.T) {
	const review, check = "At least 1 approving review is required by reviewers with write access.", `Required status check "ci" is expected.`
	all := githubfake.Merging{Merge: true, Squash: true, Rebase: true}
	with := func(change func(*githubfake.Merging)) githubfake.Merging {
		m := all
		change(&m)
		return m
	}
	for name, test := range map[string]struct {
		merging githubfake.Merging
		parents int // of the commit, 0 when it is not merged
		later   string
		is      error
		says    string
	}{
		"merge commits":              {all, 2, "", nil, ""},
		"squash alone":               {githubfake.Merging{Squash: true}, 1, "", nil, ""},
		"rebase alone":               {githubfake.Merging{Rebase: true}, 1, "", nil, ""},
		"a queue":                    {with(func(m *githubfake.Merging) { m.Queue = true }), 0, "QUEUE", forge.ErrQueued, ""},
		"a queue, a check":           {with(func(m *githubfake.Merging) { m.Queue, m.Auto, m.Missing = true, true, check }), 0, "MERGE", forge.ErrQueued, ""},
		"a review, auto-merge":       {with(func(m *githubfake.Merging) { m.Auto, m.Missing = true, review }), 0, "MERGE", forge.ErrQueued, ""},
		"a review, squash, and auto": {githubfake.Merging{Squash: true, Auto: true, Missing: review}, 0, "SQUASH", forge.ErrQueued, ""},
		"a review, no auto-merge":    {with(func(m *githubfake.Merging) { m.Missing = review }), 0, "", nil, "review by another user"},
		"a check, no auto-merge":     {with(func(m *githubfake.Merging) { m.Missing = check }), 0, "", forge.ErrNotYet, "Allow auto-merge"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t)
			base := w.Push(gitOps, "dev", map[string]string{"a": "b"})
			w.SetMerging(gitOps, test.merging)
			head, err := w.forge.Commit(t.Context(), gitOps, forge.CommitRequest{Branch: "kalypso/dev", Parent: base, Message: "m", Changes: []forge.Change{{Path: "x", Content: []byte("x")}}})
			if err != nil {
				t.Fatal(err)
			}
			pr, err := w.forge.SavePullRequest(t.Context(), gitOps, forge.PullRequest{Title: "t", Head: "kalypso/dev", Base: "dev", State: forge.Open})
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // a second time it is as it was
				commit, err := w.forge.Merge(t.Context(), gitOps, pr.Number, head)
				if merged := test.parents > 0; (err == nil) != merged || merged && commit != w.Branch(gitOps, "dev") {
					t.Fatalf("merged as %q, %v", commit, err)
				}
				if test.is != nil && !errors.Is(err, test.is) || err != nil && (test.is == nil && errors.Is(err, forge.ErrNotYet) || !strings.Contains(err.Error(), test.says)) {
					t.Errorf("error %v", err)
				}
			}
			if p := w.Pulls(gitOps)[0]; p.Later != test.later {
				t.Errorf("later %q", p.Later)
			}
			if got := len(strings.Fields(w.Log(gitOps, "dev", "%P")[0])); test.parents > 0 && got != test.parents {
				t.Errorf("%d parents", got)
			}
		})
	}
}
