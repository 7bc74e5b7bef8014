package publish_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/forgetest"
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
			w := newWorld(t, many(test.have, "1"))
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

// TestPeoplesFoldersAreNoAssignments has folders that look like assignments
// and must not make a mass deletion look small.
func TestPeoplesFoldersAreNoAssignments(t *testing.T) {
	w := newWorld(t, many(6, "1"))
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
	w := newWorld(t, many(6, "1"))
	renamed := map[string]string{}
	for path, content := range many(6, "1") {
		renamed[strings.Replace(path, "drone/", "drones/", 1)] = content
	}
	if r := w.apply(w.plan(renamed)); !r.Held {
		t.Error("not held")
	}
}

func TestMassDeleteIsReleasedByPerson(t *testing.T) {
	w := newWorld(t, many(10, "1"))
	w.apply(w.plan(many(2, "1")))
	w.pulls("#1 kalypso-bot open draft mass-delete")
	w.takeOff(1, forge.LabelMassDelete)
	if r := w.apply(w.plan(many(2, "1"))); r.Held {
		t.Error("held though a person released it")
	}
	w.pulls("#1 kalypso-bot open")

	// Whatever else changes, these removals are released.
	w.apply(w.plan(merged(many(2, "2"), pairFiles("large", "web-dev", "1"))))
	w.pulls("#1 kalypso-bot open")
	w.forge.Push(repo, "dev", map[string]string{"README.md": "people's\n"})
	w.apply(w.plan(many(2, "1")))
	w.pulls("#1 kalypso-bot open")

	w.apply(w.plan(many(1, "1"))) // worse
	w.pulls("#1 kalypso-bot open draft mass-delete")
	w.takeOff(1, forge.LabelMassDelete)
	w.apply(w.plan(many(1, "1")))
	w.pulls("#1 kalypso-bot open")
	w.apply(w.plan(many(3, "1"))) // better, but not what the person saw
	w.pulls("#1 kalypso-bot open draft mass-delete")

	w.apply(w.plan(many(9, "1"))) // harmless
	w.pulls("#1 kalypso-bot open")
	w.holds("kalypso/dev", many(9, "1"))
}

// TestHoldIsTheLabels makes ready what is held: only taking the label off
// releases it.
func TestHoldIsTheLabels(t *testing.T) {
	w := newWorld(t, many(10, "1"))
	p := w.plan(many(2, "1"))
	w.apply(p)
	w.forge.EditPullRequest(repo, 1, func(p *forge.PullRequest) { p.Draft = false })
	w.apply(p)
	w.pulls("#1 kalypso-bot open draft mass-delete")
}

// TestReleasedDraftOfPerson is about a person who, after the release, makes a
// draft of the pull request all the same.
func TestReleasedDraftOfPerson(t *testing.T) {
	w := newWorld(t, many(10, "1"))
	p := w.plan(many(2, "1"))
	w.apply(p)
	w.takeOff(1, forge.LabelMassDelete)
	w.apply(p)
	w.forge.EditPullRequest(repo, 1, func(p *forge.PullRequest) { p.Draft = true })
	w.apply(p)
	w.pulls("#1 kalypso-bot open draft")
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
			w := newWorld(t, many(10, "1"))
			dangers := 0
			w.forge.OnCall(func(c forgetest.Call) {
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
