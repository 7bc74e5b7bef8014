package publish_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-dev/kalypso/internal/testkit/forgefake"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/publish"
)

func TestFault04UnchangedPlanGetsNoPullRequest(t *testing.T) {
	w := newFixture(t, pairFiles("drone", "web-dev", "1"))
	r := w.apply(w.plan(pairFiles("drone", "web-dev", "1")))
	if r.Action != publish.Nothing || r.Writes != 0 {
		t.Errorf("action %q, %d writes", r.Action, r.Writes)
	}
	w.pulls()
	if w.forge.Branch(repo, "kalypso/dev") != "" {
		t.Error("there is a branch kalypso/dev")
	}
}

func TestLifecycle(t *testing.T) {
	w := newFixture(t, nil)
	one := pairFiles("drone", "web-dev", "1")

	r := w.apply(w.plan(one))
	if r.Action != publish.Opened || r.Commit == "" || r.PullRequest.Number != 1 {
		t.Errorf("first: %+v", r)
	}
	if got, want := r.PullRequest.Title, "Kalypso: dev: assign web-dev to drone"; got != want {
		t.Errorf("title %q, want %q", got, want)
	}
	w.pulls("#1 kalypso-bot open")
	w.oneCommit("Kalypso Scheduler: Kalypso: dev: assign web-dev to drone", one)
	w.holds("dev", nil)

	two := merged(one, pairFiles("large", "web-dev", "1"))
	if r = w.apply(w.plan(two)); r.Action != publish.Updated {
		t.Errorf("second: %+v", r)
	}
	w.pulls("#1 kalypso-bot open")
	w.oneCommit("Kalypso Scheduler: Kalypso: dev: add 2 assignments", two)

	w.forge.Merge(repo, 1)
	w.holds("dev", two)
	if r = w.apply(w.plan(two)); r.Action != publish.Nothing {
		t.Errorf("after the merge: %+v", r)
	}

	r = w.apply(w.plan(one))
	if r.Action != publish.Opened || r.PullRequest.Number != 2 {
		t.Errorf("after the merge, another plan: %+v", r)
	}
	w.pulls("#1 kalypso-bot merged", "#2 kalypso-bot open")
	w.oneCommit("Kalypso Scheduler: Kalypso: dev: remove web-dev from large", one)
}

// oneCommit checks that the scheduler's branch is one commit on top of its
// base.
func (w *fixture) oneCommit(line string, want map[string]string) {
	w.Helper()
	base, head := w.forge.Log(repo, "dev"), w.forge.Log(repo, "kalypso/dev")
	if diff := cmp.Diff(append([]string{line}, base...), head); diff != "" {
		w.Errorf("commits of kalypso/dev (-want +got):\n%s", diff)
	}
	if w.forge.Parent(repo, "kalypso/dev") != w.forge.Branch(repo, "dev") {
		w.Error("kalypso/dev is not on top of dev")
	}
	w.holds("kalypso/dev", want)
}

// TestBranchFollowsBase moves the base in all ways that matter: beside what is
// proposed, without a difference in the end, and in a file that is proposed,
// which would conflict if the branch stayed where it is.
func TestBranchFollowsBase(t *testing.T) {
	one, two := pairFiles("drone", "web-dev", "1"), pairFiles("drone", "web-dev", "2")
	for name, move := range map[string]func(*fixture) (extra map[string]string){
		"beside": func(w *fixture) map[string]string {
			w.forge.Push(repo, "dev", map[string]string{"notes.txt": "by ann\n"})
			return map[string]string{"notes.txt": "by ann\n"}
		},
		"there and back": func(w *fixture) map[string]string {
			w.forge.Push(repo, "dev", map[string]string{"notes.txt": "by ann\n"})
			w.forge.Push(repo, "dev", map[string]string{"notes.txt": ""})
			return nil
		},
		"a proposed file": func(w *fixture) map[string]string {
			w.forge.Push(repo, "dev", map[string]string{"drone/web-dev/namespace.yaml": "by hand\n"})
			if c := w.forge.Conflicts(repo, 1); len(c) != 1 {
				t.Errorf("conflicts %v: the test shows nothing", c)
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, one)
			w.apply(w.plan(two))
			extra := move(w)
			if r := w.apply(w.plan(merged(two, extra))); r.Action != publish.Updated {
				t.Errorf("action %q", r.Action)
			}
			w.pulls("#1 kalypso-bot open")
			w.oneCommit("Kalypso Scheduler: Kalypso: dev: update web-dev on drone", merged(two, extra))
			if c := w.forge.Conflicts(repo, 1); len(c) > 0 {
				t.Errorf("conflicts %v", c)
			}
		})
	}
}

// TestPartlyMergedByHand leaves the branch with the very files of the new
// plan, and too much in it.
func TestPartlyMergedByHand(t *testing.T) {
	w := newFixture(t, nil)
	drone, large := pairFiles("drone", "web-dev", "1"), pairFiles("large", "web-dev", "1")
	w.apply(w.plan(merged(drone, large)))
	w.forge.Push(repo, "dev", drone)
	w.apply(w.plan(merged(drone, large)))
	w.oneCommit("Kalypso Scheduler: Kalypso: dev: assign web-dev to large", merged(drone, large))
}

// TestOwnBranchIsRestored undoes what a user pushes to the scheduler's
// branch, which is its own.
func TestOwnBranchIsRestored(t *testing.T) {
	w := newFixture(t, nil)
	one := pairFiles("drone", "web-dev", "1")
	w.apply(w.plan(one))
	w.forge.Push(repo, "kalypso/dev", map[string]string{"by-ann": "x"})
	if r := w.apply(w.plan(one)); r.Action != publish.Updated {
		t.Errorf("action %q", r.Action)
	}
	w.oneCommit("Kalypso Scheduler: Kalypso: dev: assign web-dev to drone", one)
}

func TestWithdrawn(t *testing.T) {
	w := newFixture(t, nil)
	one := pairFiles("drone", "web-dev", "1")
	w.apply(w.plan(one))
	if r := w.apply(w.plan(nil)); r.Action != publish.Withdrawn {
		t.Errorf("action %q", r.Action)
	}
	w.pulls("#1 kalypso-bot closed")
	w.comments(1, "kalypso-bot: Nothing is left to change: the branch holds what the platform model asks for. Closing.")
	if w.forge.Branch(repo, "kalypso/dev") != "" {
		t.Error("the branch is still there")
	}
	// The scheduler closed it, not a user: the same plan opens a new one.
	if r := w.apply(w.plan(one)); r.Action != publish.Opened {
		t.Errorf("action %q", r.Action)
	}
	w.pulls("#1 kalypso-bot closed", "#2 kalypso-bot open")
}

// TestFault04ClosedUnmergedComesBack closes the pull request as a user: it
// stays closed while the plan is the same, and no longer.
func TestFault04ClosedUnmergedComesBack(t *testing.T) {
	one, two := pairFiles("drone", "web-dev", "1"), pairFiles("drone", "web-dev", "2")
	hows := map[string]func(*fixture){
		"closed":         func(w *fixture) { w.close(1) },
		"branch deleted": func(w *fixture) { w.forge.DeleteByUser(repo, "kalypso/dev") },
	}
	for name, how := range hows {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, nil)
			w.apply(w.plan(one))
			how(w)
			if r := w.apply(w.plan(one)); r.Action != publish.LeftClosed || r.Writes != 0 || r.PullRequest.Number != 1 {
				t.Errorf("same plan: %+v", r)
			}
			w.pulls("#1 kalypso-bot closed")
			if r := w.apply(w.plan(two)); r.Action != publish.Opened {
				t.Errorf("another plan: %+v", r)
			}
			w.pulls("#1 kalypso-bot closed", "#2 kalypso-bot open")
			w.oneCommit("Kalypso Scheduler: Kalypso: dev: assign web-dev to drone", two)
		})
		t.Run(name+", and nothing differs meanwhile", func(t *testing.T) {
			w := newFixture(t, nil)
			w.apply(w.plan(one))
			how(w)
			if r := w.apply(w.plan(nil)); r.Action != publish.Nothing {
				t.Errorf("no plan: %+v", r)
			}
			w.comments(1) // a user closed it; there is nothing to say
			if r := w.apply(w.plan(one)); r.Action != publish.Opened {
				t.Errorf("same plan again: %+v", r)
			}
			w.pulls("#1 kalypso-bot closed", "#2 kalypso-bot open")
		})
		t.Run(name+", and the model breaks meanwhile", func(t *testing.T) {
			w := newFixture(t, nil)
			w.apply(w.plan(one))
			how(w)
			broken := w.plan(nil)
			broken.Incomplete = true
			if r := w.apply(broken); r.Action != publish.Nothing || r.Writes != 0 {
				t.Errorf("broken model: %+v", r)
			}
			if r := w.apply(w.plan(one)); r.Action != publish.LeftClosed {
				t.Errorf("same plan again: %+v", r)
			}
		})
	}
}

// TestMergedAndReverted proposes anew what a user has taken back: to merge is
// not to close.
func TestMergedAndReverted(t *testing.T) {
	w := newFixture(t, nil)
	one := pairFiles("drone", "web-dev", "1")
	w.apply(w.plan(one))
	w.forge.Merge(repo, 1)
	w.forge.Push(repo, "dev", map[string]string{"drone/web-dev/namespace.yaml": "", "drone/web-dev/reconciler.yaml": ""})
	if r := w.apply(w.plan(one)); r.Action != publish.Opened {
		t.Errorf("action %q", r.Action)
	}
	w.pulls("#1 kalypso-bot merged", "#2 kalypso-bot open")
}

// TestFault03ClosesUsersPullRequests has users at work on the same base, on
// branches that look alike, and with pull requests that look like ours.
func TestFault03ClosesUsersPullRequests(t *testing.T) {
	w := newFixture(t, nil)
	w.apply(w.plan(pairFiles("drone", "web-dev", "1")))
	copied := w.forge.AllPullRequests(repo)[0]
	w.forge.Push(repo, "stage", map[string]string{"x": "y"})
	for _, head := range []string{"feature", "kalypso/stage", "kalypso/dev-2", "dev-kalypso/dev"} {
		w.forge.Push(repo, head, map[string]string{"by-ann": "x"})
		n := w.forge.OpenPullRequest(repo, "ann", head, "dev")
		w.forge.EditPullRequest(repo, n, func(p *forge.PullRequest) {
			p.Title, p.Body, p.Labels = copied.Title, copied.Body, []string{forge.LabelMassDelete, forge.LabelPromoted}
		})
	}
	w.forge.OpenPullRequest(repo, forgefake.Account, "feature", "stage") // the scheduler's account, but not its work
	foreign := w.forge.AllPullRequests(repo)[1:]
	var branches []string
	for _, p := range foreign {
		branches = append(branches, w.forge.Branch(repo, p.Head))
	}

	w.apply(w.plan(pairFiles("drone", "web-dev", "2")))
	w.apply(w.plan(nil))
	w.apply(w.plan(pairFiles("drone", "web-dev", "3")))
	w.close(7)
	w.apply(w.plan(nil))
	w.apply(w.plan(pairFiles("drone", "web-dev", "3")))

	if diff := cmp.Diff(foreign, w.forge.AllPullRequests(repo)[1:len(foreign)+1]); diff != "" {
		t.Errorf("users' pull requests (-before +after):\n%s", diff)
	}
	for i, p := range foreign {
		if w.forge.Branch(repo, p.Head) != branches[i] {
			t.Errorf("branch %s was touched", p.Head)
		}
		w.comments(p.Number)
	}
}

// TestUserUsesOurBranch has a user open a pull request from the
// scheduler's branch, which leaves no room for the scheduler's.
func TestUserUsesOurBranch(t *testing.T) {
	w := newFixture(t, nil)
	w.forge.Push(repo, "kalypso/dev", map[string]string{"x": "y"})
	w.forge.OpenPullRequest(repo, "ann", "kalypso/dev", "dev")
	w.forge.Calls()
	p := w.plan(pairFiles("drone", "web-dev", "1"))
	_, err := publish.Apply(context.Background(), w.forge, p, options())
	if err == nil || !strings.Contains(err.Error(), "ann opened pull request #1") {
		t.Errorf("error %v", err)
	}
	if writes := w.forge.Writes(); len(writes) > 0 {
		t.Errorf("writes %v", writes)
	}
	w.apply(w.plan(nil)) // nothing to do is no conflict
	w.close(1)
	if r := w.apply(p); r.Action != publish.Opened {
		t.Errorf("after ann closed hers: %+v", r)
	}
}

func TestPromotedLabel(t *testing.T) {
	w := newFixture(t, nil)
	promoted := map[string]string{".github/tracking/Promoted_Commit_Id": "0123456789abcdef"}
	r := w.apply(w.plan(merged(promoted, pairFiles("drone", "web-dev", "1"))))
	w.pulls("#1 kalypso-bot open promoted")
	if want := "Kalypso: dev: assign web-dev to drone, promote 0123456"; r.PullRequest.Title != want {
		t.Errorf("title %q, want %q", r.PullRequest.Title, want)
	}
	w.takeOff(1, forge.LabelPromoted)
	w.apply(w.plan(merged(promoted, pairFiles("drone", "web-dev", "1"))))
	w.pulls("#1 kalypso-bot open promoted")
	w.forge.EditPullRequest(repo, 1, func(p *forge.PullRequest) { p.Labels = append(p.Labels, "reviewed") })
	w.apply(w.plan(pairFiles("drone", "web-dev", "1")))
	w.pulls("#1 kalypso-bot open reviewed")
}

func TestUsersDraftStays(t *testing.T) {
	w := newFixture(t, nil)
	w.apply(w.plan(pairFiles("drone", "web-dev", "1")))
	w.forge.EditPullRequest(repo, 1, func(p *forge.PullRequest) { p.Draft = true })
	w.apply(w.plan(pairFiles("drone", "web-dev", "2")))
	w.pulls("#1 kalypso-bot open draft")
}

// TestEditedByUser restores the text, which is the scheduler's, even where
// its marker is gone.
func TestEditedByUser(t *testing.T) {
	w := newFixture(t, nil)
	p := w.plan(pairFiles("drone", "web-dev", "1"))
	w.apply(p)
	before := w.forge.AllPullRequests(repo)
	w.forge.EditPullRequest(repo, 1, func(p *forge.PullRequest) { p.Title, p.Body = "mine", "no marker" })
	if r := w.apply(p); r.Action != publish.Updated {
		t.Errorf("action %q", r.Action)
	}
	if diff := cmp.Diff(before, w.forge.AllPullRequests(repo)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEnvironmentsShareARepository(t *testing.T) {
	w := newFixture(t, nil)
	w.apply(w.plan(nil, problem("drone", "web-dev", "a is required")))
	w.forge.Push(repo, "stage", map[string]string{"README.md": "x"})
	stage := w.plan(nil)
	stage.Environment, stage.GitOps.Branch, stage.GitOpsHead = "stage", "stage", w.forge.Branch(repo, "stage")
	stage.Changes = []plan.Change{{Path: "drone/web-stage/namespace.yaml", Action: plan.Add, Content: []byte("x")}}
	w.apply(stage)
	w.apply(w.plan(nil, problem("drone", "web-dev", "a is required")))
	w.issuesAre("#1 open " + issueTitle("web-dev"))
	w.comments(1)
	w.pulls("#2 kalypso-bot open")
}

// TestBranchMovesMeanwhile pushes to the scheduler's branch between its
// reading and writing: what was pushed must not be lost unseen.
func TestBranchMovesMeanwhile(t *testing.T) {
	w := newFixture(t, nil)
	w.apply(w.plan(pairFiles("drone", "web-dev", "1")))
	w.forge.OnCall(func(c forgefake.Call) {
		if c.Method == "Commit" {
			w.forge.OnCall(nil)
			w.forge.Push(repo, "kalypso/dev", map[string]string{"by-ann": "x"})
		}
	})
	two := pairFiles("drone", "web-dev", "2")
	if _, err := publish.Apply(context.Background(), w.forge, w.plan(two), options()); !errors.Is(err, forge.ErrMoved) {
		t.Errorf("error %v, want that the branch has moved", err)
	}
	w.apply(w.plan(two))
	w.holds("kalypso/dev", two)
}

// TestWhereNothingCanBePublished asks for what is not there: an error, and
// nothing written anywhere.
func TestWhereNothingCanBePublished(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(*plan.Plan)
		want  string
	}{
		"another forge": {func(p *plan.Plan) { p.GitOps.Repo = "http://elsewhere/acme/gitops" }, "is not on this forge"},
		"no branch":     {func(p *plan.Plan) { p.GitOpsHead = "" }, "not found"},
		"no repository": {func(p *plan.Plan) { p.GitOps.Repo = forgefake.URL("acme/none") }, "not found"},
		"no commit":     {func(p *plan.Plan) { p.GitOpsHead = strings.Repeat("1", 40) }, "not found"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, nil)
			p := w.plan(pairFiles("drone", "web-dev", "1"))
			test.spoil(p)
			_, err := publish.Apply(context.Background(), w.forge, p, options())
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "environment dev") {
				t.Errorf("error %v, want %q", err, test.want)
			}
			if writes := w.forge.Writes(); len(writes) > 0 {
				t.Errorf("writes %v", writes)
			}
		})
	}
}

// TestBaseIsNotReadAgain gives the tree that the plan was made against, and
// one of another commit, which must not be used.
func TestBaseIsNotReadAgain(t *testing.T) {
	w := newFixture(t, nil)
	p := w.plan(pairFiles("drone", "web-dev", "1"))
	tree, err := w.forge.Read(context.Background(), p.GitOps)
	if err != nil {
		t.Fatal(err)
	}
	reads := func(base *model.Tree) int {
		t.Helper()
		o := options()
		o.Base = base
		w.forge.Calls()
		if _, err := publish.Apply(context.Background(), w.forge, p, o); err != nil {
			t.Fatal(err)
		}
		return len(slices.DeleteFunc(w.forge.Calls(), func(c forgefake.Call) bool { return c.Method != "Read" || c.Detail != "dev" }))
	}
	if n := reads(tree); n != 0 {
		t.Errorf("%d reads of the base with its tree given", n)
	}
	if n := reads(&model.Tree{Commit: "another"}); n != 1 {
		t.Errorf("%d reads of the base with another tree given", n)
	}
}

// TestWithdraw closes the pull request alone, and does not count as a user's
// decision.
func TestWithdraw(t *testing.T) {
	w := newFixture(t, nil)
	p := w.plan(pairFiles("drone", "web-dev", "1"), problem("drone", "api-dev", "no value"))
	w.apply(p)
	for range 2 {
		r, err := publish.Withdraw(t.Context(), w.forge, p, options(), "Another environment is here.")
		if err != nil || r.PullRequest != nil {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	pr := w.forge.AllPullRequests(repo)[0].Number
	w.comments(pr, "kalypso-bot: Another environment is here.")
	w.issuesAre(fmt.Sprintf("#%d open %s", w.forge.AllIssues(repo)[0].Number, issueTitle("api-dev")))
	w.holds("dev", nil)
	if got := w.forge.AllPullRequests(repo)[0].State; got != forge.Closed || len(p.Changes) == 0 {
		t.Errorf("pull request %s, changes %v", got, p.Changes)
	}
	if r := w.apply(p); r.Action != publish.Opened {
		t.Errorf("afterwards: %+v", r)
	}

	p.GitOpsHead = ""
	if r, err := publish.Withdraw(t.Context(), w.forge, p, options(), "x"); err != nil || r.Action != publish.Nothing {
		t.Errorf("without a branch: %+v, %v", r, err)
	}
}
