package publish_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-dev/kalypso/internal/testkit/forgefake"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/publish"
)

// flow is one Apply that matters, on a forge that something has happened on
// before.
type flow struct {
	before func(*fixture)
	plan   func(*fixture) *plan.Plan
}

func flows() map[string]flow {
	one, two := pairFiles("large", "web-dev", "1"), pairFiles("large", "web-dev", "2")
	ten := many(10, "1")
	promoted := map[string]string{".github/tracking/Promoted_Commit_Id": "0123456789abcdef"}
	a, b, c := problem("drone", "a-dev", "a"), problem("drone", "b-dev", "b"), problem("drone", "c-dev", "c")
	opened := func(want map[string]string, problems ...plan.Problem) func(*fixture) {
		return func(w *fixture) { w.apply(w.plan(want, problems...)) }
	}
	all := func(steps ...func(*fixture)) func(*fixture) {
		return func(w *fixture) {
			for _, step := range steps {
				step(w)
			}
		}
	}
	theirs := func(w *fixture) { w.pushToOwn(map[string]string{"drone/theirs.yaml": "x\n"}) }
	close := func(w *fixture) { w.close(1) }
	closeIssue := func(w *fixture) { w.forge.EditIssue(repo, 1, func(i *forge.Issue) { i.State = forge.Closed }) }
	release := func(w *fixture) { w.takeOff(1, forge.LabelMassDelete) }
	push := func(files map[string]string) func(*fixture) {
		return func(w *fixture) { w.forge.Push(repo, "dev", files) }
	}
	twice := func(w *fixture) {
		i := w.forge.AllIssues(repo)[0]
		w.forge.OpenIssue(repo, forgefake.Account, i.Title, i.Body)
	}
	to := func(want map[string]string, problems ...plan.Problem) func(*fixture) *plan.Plan {
		return func(w *fixture) *plan.Plan { return w.plan(want, problems...) }
	}
	return map[string]flow{
		"nothing":                  {all(), to(ten)},
		"open":                     {all(), to(merged(ten, one))},
		"open promoted":            {all(), to(merged(ten, one, promoted))},
		"open held":                {all(), to(many(2, "1"))},
		"open held and promoted":   {all(), to(merged(many(2, "1"), promoted))},
		"update":                   {opened(merged(ten, one)), to(merged(ten, two))},
		"update to promoted":       {opened(merged(ten, one)), to(merged(ten, one, promoted))},
		"update from promoted":     {opened(merged(ten, one, promoted)), to(merged(ten, one))},
		"base moved":               {all(opened(merged(ten, one)), push(map[string]string{"README.md": "users'\n", "drone/app01-dev/namespace.yaml": "x"})), to(merged(ten, one))},
		"hold":                     {opened(merged(ten, one)), to(many(2, "1"))},
		"held, others do the same": {all(opened(many(2, "1")), push(pairFilesGone(9))), to(many(2, "1"))},
		"hold worse":               {opened(many(3, "1")), to(many(2, "1"))},
		"hold worse than released": {all(opened(many(3, "1")), release, opened(many(3, "1"))), to(many(2, "1"))},
		"release":                  {all(opened(many(2, "1")), release), to(many(2, "1"))},
		"release, and plan moves":  {all(opened(many(2, "1")), release), to(many(2, "2"))},
		"held to harmless":         {opened(many(2, "1")), to(many(9, "1"))},
		"withdraw":                 {opened(merged(ten, one)), to(ten)},
		"withdraw held":            {opened(many(2, "1")), to(ten)},
		"left closed":              {all(opened(merged(ten, one)), close), to(merged(ten, one))},
		"closed, other plan":       {all(opened(merged(ten, one)), close), to(merged(ten, two))},
		"closed, then nothing":     {all(opened(merged(ten, one)), close), to(ten)},
		"closed held, other plan":  {all(opened(many(2, "1")), close), to(many(1, "1"))},
		"issue of the model":       {all(), to(ten, a, problem("", "", "not valid YAML"))},
		"issues open":              {all(), to(ten, a, b)},
		"issues change":            {opened(ten, a, b), to(ten, a, problem("drone", "b-dev", "b2"), c)},
		"issue closes":             {opened(ten, a, b), to(ten, b)},
		"issue comes back":         {all(opened(ten, a), opened(ten)), to(ten, a)},
		"issue doubled":            {all(opened(ten, a), twice), to(ten, a)},
		"issue doubled, gone":      {all(opened(ten, a), twice), to(ten)},
		"issue closed, gone":       {all(opened(ten, a), closeIssue), to(ten)},
		"issue closed, changed":    {all(opened(ten, a), closeIssue), to(ten, problem("drone", "a-dev", "a2"))},
		"theirs":                   {all(opened(merged(ten, one)), theirs), to(merged(ten, one))},
		"theirs, plan moves":       {all(opened(merged(ten, one)), theirs), to(merged(ten, two))},
		"theirs, withdrawn":        {all(opened(merged(ten, one)), theirs), to(ten)},
		"theirs, closed":           {all(opened(merged(ten, one)), close, theirs), to(merged(ten, two))},
		"theirs, closed, gone":     {all(opened(merged(ten, one)), close, theirs), to(ten)},
		"theirs, hold":             {all(opened(merged(ten, one)), theirs), to(many(2, "1"))},
		"theirs, held":             {all(opened(many(2, "1")), theirs), to(many(2, "1"))},
		"all at once":              {opened(merged(ten, one), a, b), to(merged(many(2, "1"), promoted), problem("drone", "b-dev", "b2"), c)},
	}
}

// pairFilesGone removes one of many.
func pairFilesGone(n int) map[string]string {
	gone := map[string]string{}
	for path := range pairFiles("drone", fmt.Sprintf("app%02d-dev", n), "") {
		gone[path] = ""
	}
	return gone
}

// TestInterruptedAnywhere makes every single call of every flow fail, before,
// amid and after its effect, alone and with all that would come after it, and
// expects that the next Apply leaves the forge as if nothing had happened.
func TestInterruptedAnywhere(t *testing.T) {
	for name, flow := range flows() {
		t.Run(name, func(t *testing.T) {
			w, p := flow.start(t)
			w.forge.Calls()
			if _, err := publish.Apply(context.Background(), w.forge, p, options()); err != nil {
				t.Fatal(err)
			}
			calls := w.forge.Calls()
			w.apply(p)
			want := w.outcome()
			counted := map[forgefake.Call]int{}
			for _, call := range calls {
				counted[call]++
				for _, when := range []forgefake.When{forgefake.Before, forgefake.Amid, forgefake.After} {
					for _, dead := range []bool{false, true} {
						got := flow.interrupted(t, call, counted[call], when, dead)
						if diff := cmp.Diff(want, got); diff != "" {
							t.Errorf("call %s (%d), %s its effect, dead %t (-want +got):\n%s", call, counted[call], when, dead, diff)
						}
					}
				}
			}
		})
	}
}

func (f flow) start(t *testing.T) (*fixture, *plan.Plan) {
	w := newFixture(t, many(10, "1"))
	f.before(w)
	w.forge.OpenIssue(repo, "ann", issueTitle("a-dev"), "hers")
	w.forge.Push(repo, "feature", map[string]string{"x": "y"})
	w.forge.OpenPullRequest(repo, "ann", "feature", "dev")
	return w, f.plan(w)
}

// interrupted runs a flow with its n-th such call failing, then without, and
// returns what is on the forge.
func (f flow) interrupted(t *testing.T, call forgefake.Call, n int, when forgefake.When, dead bool) []string {
	t.Helper()
	w, p := f.start(t)
	var hit atomic.Bool
	seen := 0
	w.forge.FailOn(func(c forgefake.Call) bool {
		if c == call {
			if seen++; seen == n {
				hit.Store(true)
			}
		}
		return c == call
	}, n, when)
	errDead := errors.New("the process is dead")
	w.forge.Down(func(forgefake.Call) error {
		if dead && hit.Load() {
			return errDead
		}
		return nil
	})
	w.forge.OnCall(func(c forgefake.Call) { w.unexposed("before " + c.String()) })
	_, err := publish.Apply(context.Background(), w.forge, p, options())
	if !hit.Load() {
		t.Fatalf("call %s (%d) was not made", call, n)
	}
	if err != nil && !errors.Is(err, forgefake.ErrInjected) && !errors.Is(err, errDead) {
		t.Fatal(err)
	}
	w.forge.Down(nil)
	w.forge.Calls()
	w.apply(p)
	w.unexposed("in the end")
	return w.outcome()
}

// unexposed checks that nobody can merge a mass deletion that no user has
// released.
func (w *fixture) unexposed(when string) {
	w.Helper()
	for _, pr := range w.forge.AllPullRequests(repo) {
		exposed := func(pr forge.PullRequest) bool {
			return pr.State == forge.Open && !pr.Draft && pr.Own && !strings.Contains(pr.Body, " hold=released ")
		}
		if !exposed(pr) {
			continue
		}
		have, left := w.forge.Files(repo, "dev"), w.forge.Files(repo, pr.Head)
		// other calls go on meanwhile: the files count only with the pull request as it is after them
		if i := slices.IndexFunc(w.forge.AllPullRequests(repo), func(now forge.PullRequest) bool { return now.Number == pr.Number && exposed(now) }); i < 0 {
			continue
		}
		gone := 0
		for path := range have {
			if _, ok := left[path]; !ok {
				gone++
			}
		}
		if 2*gone > len(have) {
			w.Errorf("%s, #%d can be merged and removes %d of %d files", when, pr.Number, gone, len(have))
		}
	}
}

var numbers = regexp.MustCompile(`#\d+`)

// outcome words all that is on the forge, in an order of its own and without
// numbers: what fails is opened later than the rest.
func (w *fixture) outcome() []string {
	var lines []string
	line := func(format string, args ...any) {
		lines = append(lines, numbers.ReplaceAllString(fmt.Sprintf(format, args...), "#"))
	}
	for _, pr := range w.forge.AllPullRequests(repo) {
		line("%s's pull request %s: %s to %s, %s, draft %t, %v\n%s\n%v", pr.Author, pr.Title, pr.Head, pr.Base, pr.State, pr.Draft, pr.Labels,
			pr.Body, w.forge.Comments(repo, pr.Number))
	}
	for _, i := range w.forge.AllIssues(repo) {
		line("%s's issue %s: %s\n%s\n%v", i.Author, i.Title, i.State, i.Body, w.forge.Comments(repo, i.Number))
	}
	for _, branch := range append([]string{"dev", "feature", "kalypso/dev"}, w.kept...) {
		line("branch %s\n%s\n%v", branch, strings.Join(w.forge.Log(repo, branch), "\n"), w.forge.Files(repo, branch))
	}
	slices.Sort(lines)
	return lines
}
