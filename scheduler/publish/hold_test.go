package publish_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/testkit/forgefake"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/publish"
)

func TestMassDelete(t *testing.T) {
	for _, test := range []struct {
		have, want int
		held       bool
	}{
		{10, 4, true},
		{10, 5, false}, // half is not more than half
		{5, 0, false},  // five are few
		{6, 0, true},
		{20, 8, true},
	} {
		t.Run(fmt.Sprintf("%d of %d", test.have-test.want, test.have), func(t *testing.T) {
			w := newFixture(t, many(test.have, "1"))
			r := w.apply(w.plan(many(test.want, "1")))
			if r.Held != test.held {
				t.Errorf("held is %t", r.Held)
			}
			if test.held {
				w.pulls("#1 kalypso-bot open draft mass-delete")
				said := fmt.Sprintf("**Held:** this removes %d of %d assignments", test.have-test.want, test.have)
				if !strings.Contains(r.PullRequest.Body, said) {
					t.Errorf("the body does not say %q:\n%s", said, r.PullRequest.Body)
				}
			} else {
				w.pulls("#1 kalypso-bot open")
			}
		})
	}
}

// TestUsersFoldersAreNoAssignments has folders that look like assignments
// and must not make a mass deletion look small.
func TestUsersFoldersAreNoAssignments(t *testing.T) {
	w := newFixture(t, many(6, "1"))
	for i := range 20 {
		w.forge.Push(repo, "dev", map[string]string{fmt.Sprintf("docs/example%d/namespace.yaml", i): "by ann\n"})
	}
	p := w.plan(nil)
	p.Changes = slices.DeleteFunc(p.Changes, func(c change) bool { return strings.HasPrefix(c.Path, "docs/") })
	if r := w.apply(p); !r.Held {
		t.Error("not held")
	}
}

// TestReplacedAssignmentsAreHeld renames the cluster type: as many come as go,
// and all that is there goes.
func TestReplacedAssignmentsAreHeld(t *testing.T) {
	w := newFixture(t, many(6, "1"))
	renamed := map[string]string{}
	for path, content := range many(6, "1") {
		renamed[strings.Replace(path, "drone/", "drones/", 1)] = content
	}
	if r := w.apply(w.plan(renamed)); !r.Held {
		t.Error("not held")
	}
}

func TestMassDeleteIsReleasedByUser(t *testing.T) {
	w := newFixture(t, many(10, "1"))
	w.apply(w.plan(many(2, "1")))
	w.pulls("#1 kalypso-bot open draft mass-delete")
	w.takeOff(1, forge.LabelMassDelete)
	if r := w.apply(w.plan(many(2, "1"))); r.Held {
		t.Error("held though a user released it")
	}
	w.pulls("#1 kalypso-bot open")

	// Whatever else changes, these removals are released.
	w.apply(w.plan(merged(many(2, "2"), pairFiles("large", "web-dev", "1"))))
	w.pulls("#1 kalypso-bot open")
	w.forge.Push(repo, "dev", map[string]string{"README.md": "users'\n"})
	w.apply(w.plan(many(2, "1")))
	w.pulls("#1 kalypso-bot open")

	w.apply(w.plan(many(1, "1"))) // worse
	w.pulls("#1 kalypso-bot open draft mass-delete")
	w.takeOff(1, forge.LabelMassDelete)
	w.apply(w.plan(many(1, "1")))
	w.pulls("#1 kalypso-bot open")
	w.apply(w.plan(many(3, "1"))) // better, but not what the user saw
	w.pulls("#1 kalypso-bot open draft mass-delete")

	w.apply(w.plan(many(9, "1"))) // harmless
	w.pulls("#1 kalypso-bot open")
	w.holds("kalypso/dev", many(9, "1"))
}

// TestHoldIsTheLabels makes ready what is held: only taking the label off
// releases it.
func TestHoldIsTheLabels(t *testing.T) {
	w := newFixture(t, many(10, "1"))
	p := w.plan(many(2, "1"))
	w.apply(p)
	w.forge.EditPullRequest(repo, 1, func(p *forge.PullRequest) { p.Draft = false })
	w.apply(p)
	w.pulls("#1 kalypso-bot open draft mass-delete")
}

// TestReleasedDraftOfUser is about a user who, after the release, makes a
// draft of the pull request all the same.
func TestReleasedDraftOfUser(t *testing.T) {
	w := newFixture(t, many(10, "1"))
	p := w.plan(many(2, "1"))
	w.apply(p)
	w.takeOff(1, forge.LabelMassDelete)
	w.apply(p)
	w.forge.EditPullRequest(repo, 1, func(p *forge.PullRequest) { p.Draft = true })
	w.apply(p)
	w.pulls("#1 kalypso-bot open draft")
}

// refusals are the ways in which a forge does not make a draft.
var refusals = map[string]struct {
	err    error
	opened bool
}{
	"there are none":             {forge.ErrNoDrafts, false},
	"there are none, but opened": {forge.ErrNoDrafts, true},
	"not this one":               {forge.ErrNotDraft, false},
	"for a while":                {errors.New("rate limited"), false},
	"for a while, but opened":    {errors.New("rate limited"), true},
}

// TestUnheld has a forge that makes no drafts, and lets every single call fail
// besides.
func TestUnheld(t *testing.T) {
	ten, one := many(10, "1"), pairFiles("large", "web-dev", "1")
	ready := func(w *fixture) {
		w.forge.EditPullRequest(repo, 1, func(p *forge.PullRequest) { p.Draft = false })
	}
	for name, before := range map[string]func(*fixture){
		"new":        func(*fixture) {},
		"harmless":   func(w *fixture) { w.apply(w.plan(merged(ten, one))) },
		"made ready": func(w *fixture) { w.apply(w.plan(many(2, "1"))); ready(w) },
		"other, made ready": func(w *fixture) {
			w.apply(w.plan(many(3, "1")))
			ready(w)
		},
		"closed by a user": func(w *fixture) { w.apply(w.plan(merged(ten, one))); w.close(1) },
	} {
		for how, refusal := range refusals {
			t.Run(name+", "+how, func(t *testing.T) {
				run := func(n int, late bool) (w *fixture, calls int) {
					w = newFixture(t, ten)
					before(w)
					p := w.plan(many(2, "1"))
					w.forge.RefuseDrafts(refusal.err, refusal.opened)
					exposed := strings.Contains(name, "made ready") // by a user, until it is seen
					w.forge.OnCall(func(c forgefake.Call) {
						if !exposed {
							w.unexposed(fmt.Sprint("call ", n, " fails, before ", c))
						}
					})
					if w.forge.Calls(); n > 0 {
						w.forge.FailAt(n, late)
					}
					for range 5 {
						_, err := publish.Apply(t.Context(), w.forge, p, options())
						if n == 0 && calls == 0 {
							calls = len(w.forge.Calls())
						}
						w.forge.Calls()
						if !errors.Is(err, forgefake.ErrInjected) {
							exposed = false
							w.unexposed(fmt.Sprint("call ", n, " failed"))
						}
					}
					return w, calls
				}
				_, calls := run(0, false)
				for n := 1; n <= calls; n++ {
					for _, late := range []bool{false, true} {
						w, _ := run(n, late)
						w.settlesUnheld(refusal.err)
					}
				}
			})
		}
	}
}

// settlesUnheld checks that a mass deletion which cannot be held is said to be
// so, once; and that it is held as soon as it can be.
func (w *fixture) settlesUnheld(refusal error) {
	w.Helper()
	p := w.plan(many(2, "1"))
	if errors.Is(refusal, forge.ErrNoDrafts) {
		if r := w.apply(p); r.Action != publish.Withheld || !r.Held || len(r.Issues) != 1 || w.forge.Branch(repo, "kalypso/dev") != "" {
			w.Errorf("%+v, branch at %q", r, w.forge.Branch(repo, "kalypso/dev"))
		}
		if all := w.forge.AllIssues(repo); len(all) != 1 || all[0].State != forge.Open {
			w.Errorf("issues %+v", all)
			return
		}
		// a user who closes the issue releases nothing
		w.forge.EditIssue(repo, 1+len(w.forge.AllPullRequests(repo)), func(i *forge.Issue) { i.State = forge.Closed })
		if r := w.apply(p); r.Action != publish.Withheld {
			w.Errorf("after the issue was closed: %+v", r)
		}
		w.unexposed("after the issue was closed")
		w.forge.EditIssue(repo, w.forge.AllIssues(repo)[0].Number, func(i *forge.Issue) { i.State = forge.Closed })
	}
	w.forge.RefuseDrafts(nil, false)
	r := w.apply(p)
	if !r.Held || r.PullRequest == nil || !r.PullRequest.Draft || !slices.Contains(r.PullRequest.Labels, forge.LabelMassDelete) || len(r.Issues) != 0 {
		w.Errorf("when there are drafts: %+v", r)
	}
	w.holds("kalypso/dev", many(2, "1"))
}

// TestWithheldEnds takes back what could not be held.
func TestWithheldEnds(t *testing.T) {
	w := newFixture(t, many(10, "1"))
	w.forge.RefuseDrafts(forge.ErrNoDrafts, false)
	w.apply(w.plan(many(2, "1")))
	w.issuesAre("#1 open Can't hold the removal of most assignments of environment dev")
	if r := w.apply(w.plan(many(1, "1"))); r.Action != publish.Withheld || len(r.Issues) != 1 {
		t.Errorf("%+v", r)
	}
	w.apply(w.plan(many(10, "1")))
	w.issuesAre("#1 closed Can't hold the removal of most assignments of environment dev")
	w.apply(w.plan(many(2, "1")))
	w.issuesAre("#1 open Can't hold the removal of most assignments of environment dev")
	w.pulls()
}

// TestHeldBeforeItCanBeMerged looks at every instant: a branch that deletes
// most of what is there is never offered in a pull request that is no draft.
func TestHeldBeforeItCanBeMerged(t *testing.T) {
	for name, wants := range map[string][]map[string]string{
		"opened held":      {many(2, "1")},
		"harmless to held": {many(9, "1"), many(2, "1")},
		"held to harmless": {many(2, "1"), many(9, "1")},
		"held to gone":     {many(2, "1"), many(10, "1")},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, many(10, "1"))
			dangers := 0
			w.forge.OnCall(func(c forgefake.Call) {
				if c.Method == "DeleteBranch" {
					return // closed by now
				}
				for _, pr := range w.forge.AllPullRequests(repo) {
					branch := w.forge.Files(repo, "kalypso/dev")
					if pr.State == forge.Open && len(branch) < 10 {
						if dangers++; !pr.Draft {
							t.Errorf("before %s, #%d can be merged and leaves %d files", c, pr.Number, len(branch))
						}
					}
				}
			})
			var r publish.Result
			for _, want := range wants {
				r = w.apply(w.plan(want))
			}
			if dangers == 0 {
				t.Errorf("there was nothing to hold at any instant: %+v", r)
			}
		})
	}
}
