package publish_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/forgetest"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/publish"
)

const repo = "acme/gitops"

// world is a GitOps repository with one environment.
type world struct {
	*testing.T
	forge *forgetest.Forge
}

func newWorld(t *testing.T, files map[string]string) *world {
	f := forgetest.New()
	f.Push(repo, "dev", merged(map[string]string{"README.md": "people's\n"}, files))
	return &world{t, f}
}

func merged(all ...map[string]string) map[string]string {
	m := map[string]string{}
	for _, files := range all {
		maps.Copy(m, files)
	}
	return m
}

// pairFiles are the files of one assignment.
func pairFiles(clusterType, target, version string) map[string]string {
	root := clusterType + "/" + target + "/"
	return map[string]string{
		root + "namespace.yaml":  "namespace " + version + "\n",
		root + "reconciler.yaml": "reconciler " + version + "\n",
	}
}

// plan makes the plan that the branch shall hold want, besides what people put
// there.
func (w *world) plan(want map[string]string, problems ...plan.Problem) *plan.Plan {
	p := &plan.Plan{
		Environment: "dev",
		GitOps:      model.Reference{Repo: forgetest.URL(repo), Branch: "dev"},
		GitOpsHead:  w.forge.Branch(repo, "dev"),
		Problems:    problems,
	}
	have := w.forge.Files(repo, "dev")
	for _, path := range slices.Sorted(maps.Keys(merged(have, want))) {
		content, wanted := want[path]
		old, there := have[path]
		switch {
		case path == "README.md":
		case !wanted:
			p.Changes = append(p.Changes, plan.Change{Path: path, Action: plan.Remove})
		case !there:
			p.Changes = append(p.Changes, plan.Change{Path: path, Action: plan.Add, Content: []byte(content)})
		case old != content:
			p.Changes = append(p.Changes, plan.Change{Path: path, Action: plan.Modify, Content: []byte(content)})
		}
		if parts := strings.Split(path, "/"); wanted && len(parts) == 3 && parts[2] == "namespace.yaml" {
			p.Assignments = append(p.Assignments, plan.Assignment{ClusterType: parts[0], Target: parts[1], Policies: []string{"all-to-" + parts[0]}})
		}
	}
	return p
}

// apply applies a plan and checks that a second time writes nothing.
func (w *world) apply(p *plan.Plan) publish.Result {
	w.Helper()
	result, err := publish.Apply(context.Background(), w.forge, p, options())
	if err != nil {
		w.Fatal(err)
	}
	w.forge.Calls()
	if _, err := publish.Apply(context.Background(), w.forge, p, options()); err != nil {
		w.Fatalf("second Apply: %v", err)
	}
	if writes := w.forge.Writes(); len(writes) > 0 {
		w.Fatalf("second Apply writes: %v", writes)
	}
	return result
}

func options() publish.Options {
	return publish.Options{Now: func() time.Time { return time.Unix(1700000000, 0) }}
}

func (w *world) pulls(want ...string) {
	w.Helper()
	var got []string
	for _, pr := range w.forge.AllPullRequests(repo) {
		line := fmt.Sprintf("#%d %s %s", pr.Number, pr.Author, pr.State)
		if pr.Draft {
			line += " draft"
		}
		got = append(got, strings.TrimSpace(line+" "+strings.Join(pr.Labels, " ")))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("pull requests (-want +got):\n%s", diff)
	}
}

func (w *world) holds(branch string, want map[string]string) {
	w.Helper()
	if diff := cmp.Diff(merged(map[string]string{"README.md": "people's\n"}, want), w.forge.Files(repo, branch)); diff != "" {
		w.Errorf("branch %s (-want +got):\n%s", branch, diff)
	}
}

func TestNothingToDo(t *testing.T) {
	w := newWorld(t, pairFiles("drone", "web-dev", "1"))
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
	w := newWorld(t, nil)
	one := pairFiles("drone", "web-dev", "1")

	r := w.apply(w.plan(one))
	if r.Action != publish.Opened || r.Commit == "" || r.PullRequest.Number != 1 {
		t.Errorf("first: %+v", r)
	}
	if got, want := r.PullRequest.Title, "Kalypso: dev: assign web-dev to drone"; got != want {
		t.Errorf("title %q, want %q", got, want)
	}
	w.pulls("#1 kalypso-bot open")
	w.holds("kalypso/dev", one)
	w.holds("dev", nil)

	two := merged(one, pairFiles("large", "web-dev", "1"))
	if r = w.apply(w.plan(two)); r.Action != publish.Updated {
		t.Errorf("second: %+v", r)
	}
	w.pulls("#1 kalypso-bot open")
	w.holds("kalypso/dev", two)

	w.forge.Push(repo, "dev", map[string]string{"notes.txt": "by a person\n"})
	w.forge.Push(repo, "dev", map[string]string{"notes.txt": ""})
	if r = w.apply(w.plan(two)); r.Action != publish.Unchanged {
		t.Errorf("after other people's commits that leave the files alone: %+v", r)
	}

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
	w.holds("kalypso/dev", one)
}

func TestBranchFollowsBase(t *testing.T) {
	w := newWorld(t, nil)
	one := pairFiles("drone", "web-dev", "1")
	w.apply(w.plan(one))
	w.forge.Push(repo, "dev", map[string]string{"README.md": "people's\nsecond edition\n"})
	if r := w.apply(w.plan(one)); r.Action != publish.Updated {
		t.Errorf("action %q", r.Action)
	}
	if got := w.forge.Files(repo, "kalypso/dev")["README.md"]; got != "people's\nsecond edition\n" {
		t.Errorf("README.md is %q", got)
	}
}

func TestWithdrawn(t *testing.T) {
	w := newWorld(t, nil)
	one := pairFiles("drone", "web-dev", "1")
	w.apply(w.plan(one))
	if r := w.apply(w.plan(nil)); r.Action != publish.Withdrawn {
		t.Errorf("action %q", r.Action)
	}
	w.pulls("#1 kalypso-bot closed")
	if comments := w.forge.Comments(repo, 1); len(comments) != 1 || !strings.Contains(comments[0].Body, "Nothing is left to change") {
		t.Errorf("comments: %v", comments)
	}
	if w.forge.Branch(repo, "kalypso/dev") != "" {
		t.Error("the branch is still there")
	}
	// The scheduler closed it, not a person: the same plan opens a new one.
	if r := w.apply(w.plan(one)); r.Action != publish.Opened {
		t.Errorf("action %q", r.Action)
	}
	w.pulls("#1 kalypso-bot closed", "#2 kalypso-bot open")
}

func TestClosedByPerson(t *testing.T) {
	for name, how := range map[string]func(*world){
		"closed": func(w *world) {
			w.forge.EditPullRequest(repo, 1, func(p *forge.PullRequest) { p.State = forge.Closed })
		},
		"branch deleted": func(w *world) { w.forge.DeleteByPerson(repo, "kalypso/dev") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			one := pairFiles("drone", "web-dev", "1")
			w.apply(w.plan(one))
			how(w)
			if r := w.apply(w.plan(one)); r.Action != publish.LeftClosed || r.Writes != 0 {
				t.Errorf("same plan: %+v", r)
			}
			w.pulls("#1 kalypso-bot closed")
			if r := w.apply(w.plan(pairFiles("drone", "web-dev", "2"))); r.Action != publish.Opened {
				t.Errorf("another plan: %+v", r)
			}
			w.pulls("#1 kalypso-bot closed", "#2 kalypso-bot open")
		})
	}
}

func TestPeopleAreLeftAlone(t *testing.T) {
	w := newWorld(t, nil)
	w.forge.Push(repo, "feature", map[string]string{"x": "y"})
	w.forge.OpenPullRequest(repo, "ann", "feature", "dev")
	title := "Can't generate manifests for deployment target web-dev in cluster type drone in dev environment"
	w.forge.OpenIssue(repo, "ann", title, "mine")
	before := w.forge.AllIssues(repo)[0]

	w.apply(w.plan(pairFiles("drone", "web-dev", "1"), problem("drone", "web-dev", "a is required")))
	w.apply(w.plan(nil))
	w.pulls("#1 ann open", "#3 kalypso-bot closed")
	if diff := cmp.Diff(before, w.forge.AllIssues(repo)[0]); diff != "" {
		t.Errorf("a person's issue changed:\n%s", diff)
	}
	if w.forge.Branch(repo, "feature") == "" {
		t.Error("a person's branch is gone")
	}
}

func TestPersonUsesOurBranch(t *testing.T) {
	w := newWorld(t, nil)
	w.forge.Push(repo, "kalypso/dev", map[string]string{"x": "y"})
	w.forge.OpenPullRequest(repo, "ann", "kalypso/dev", "dev")
	w.forge.Calls()
	_, err := publish.Apply(context.Background(), w.forge, w.plan(pairFiles("drone", "web-dev", "1")), options())
	if err == nil || !strings.Contains(err.Error(), "ann opened pull request #1") {
		t.Errorf("error %v", err)
	}
	if writes := w.forge.Writes(); len(writes) > 0 {
		t.Errorf("writes %v", writes)
	}
}

func TestPromotedLabel(t *testing.T) {
	w := newWorld(t, nil)
	promoted := map[string]string{".github/tracking/Promoted_Commit_Id": "0123456789abcdef"}
	r := w.apply(w.plan(merged(promoted, pairFiles("drone", "web-dev", "1"))))
	w.pulls("#1 kalypso-bot open promoted")
	if want := "Kalypso: dev: assign web-dev to drone, promote 0123456"; r.PullRequest.Title != want {
		t.Errorf("title %q, want %q", r.PullRequest.Title, want)
	}
	w.forge.EditPullRequest(repo, 1, func(p *forge.PullRequest) { p.Labels = append(p.Labels, "reviewed") })
	w.apply(w.plan(pairFiles("drone", "web-dev", "1")))
	w.pulls("#1 kalypso-bot open reviewed")
}

func many(n int, version string) map[string]string {
	files := map[string]string{}
	for i := range n {
		maps.Copy(files, pairFiles("drone", fmt.Sprintf("app%02d-dev", i), version))
	}
	return files
}

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
			if r := w.apply(w.plan(many(test.want, "1"))); r.Held != test.held {
				t.Errorf("held is %t", r.Held)
			}
		})
	}
}

func TestMassDeleteIsReleasedByPerson(t *testing.T) {
	w := newWorld(t, many(10, "1"))
	takeOff := func() {
		w.forge.EditPullRequest(repo, 1, func(p *forge.PullRequest) {
			p.Labels = slices.DeleteFunc(p.Labels, func(l string) bool { return l == forge.LabelMassDelete })
		})
	}
	w.apply(w.plan(many(2, "1")))
	w.pulls("#1 kalypso-bot open draft mass-delete")
	takeOff()
	if r := w.apply(w.plan(many(2, "1"))); r.Held {
		t.Error("held though a person released it")
	}
	w.pulls("#1 kalypso-bot open")

	w.apply(w.plan(many(1, "1"))) // another plan: the release does not count
	w.pulls("#1 kalypso-bot open draft mass-delete")

	w.apply(w.plan(many(9, "1"))) // harmless
	w.pulls("#1 kalypso-bot open")
}

func TestPersonsDraftStays(t *testing.T) {
	w := newWorld(t, nil)
	w.apply(w.plan(pairFiles("drone", "web-dev", "1")))
	w.forge.EditPullRequest(repo, 1, func(p *forge.PullRequest) { p.Draft = true })
	w.apply(w.plan(pairFiles("drone", "web-dev", "2")))
	w.pulls("#1 kalypso-bot open draft")
}

func problem(clusterType, target, message string) plan.Problem {
	return plan.Problem{
		ClusterType: clusterType, Target: target, Severity: model.Error, Reason: plan.InvalidConfig, Message: message,
		Position: model.Position{Repo: "http://forge.test/acme/platform.git", Branch: "dev", File: "config.yaml", Line: 3},
		Hint:     "add it to a platform config",
	}
}

func (w *world) issuesAre(want ...string) {
	w.Helper()
	var got []string
	for _, i := range w.forge.AllIssues(repo) {
		got = append(got, fmt.Sprintf("#%d %s %s", i.Number, i.State, i.Title))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("issues (-want +got):\n%s", diff)
	}
}

func TestIssues(t *testing.T) {
	w := newWorld(t, nil)
	title := func(target string) string {
		return "Can't generate manifests for deployment target " + target + " in cluster type drone in dev environment"
	}
	r := w.apply(w.plan(nil, problem("drone", "web-dev", "inference_url is required"), problem("drone", "web-dev", "port is required"), problem("", "", "not about a pair")))
	w.issuesAre("#1 open " + title("web-dev"))
	if len(r.Issues) != 1 {
		t.Errorf("result has %d issues", len(r.Issues))
	}
	body := w.forge.AllIssues(repo)[0].Body
	want := "Config data validation failed:\n\n- inference_url is required\n- port is required\n\nWhere to fix it:\n\n- `platform@dev:config.yaml:3`: add it to a platform config\n\n<!-- kalypso:problem"
	if !strings.HasPrefix(body, want) {
		t.Errorf("body\n%s\nwant\n%s", body, want)
	}

	w.apply(w.plan(nil, problem("drone", "web-dev", "port is required"), problem("drone", "api-dev", "x is required")))
	w.issuesAre("#1 open "+title("web-dev"), "#2 open "+title("api-dev"))
	if body := w.forge.AllIssues(repo)[0].Body; strings.Contains(body, "inference_url") {
		t.Errorf("not updated in place:\n%s", body)
	}

	w.apply(w.plan(nil, problem("drone", "api-dev", "x is required")))
	w.issuesAre("#1 closed "+title("web-dev"), "#2 open "+title("api-dev"))
	if c := w.forge.Comments(repo, 1); len(c) != 1 || c[0].Body != "The problem is gone. Closing." {
		t.Errorf("comments %v", c)
	}

	w.apply(w.plan(nil, problem("drone", "web-dev", "port is required"), problem("drone", "api-dev", "x is required")))
	w.issuesAre("#1 open "+title("web-dev"), "#2 open "+title("api-dev"))

	w.forge.EditIssue(repo, 2, func(i *forge.Issue) { i.State = forge.Closed })
	moved := problem("drone", "api-dev", "x is required")
	moved.Position.Line = 77
	w.apply(w.plan(nil, problem("drone", "web-dev", "port is required"), moved))
	w.issuesAre("#1 open "+title("web-dev"), "#2 closed "+title("api-dev"))
	w.apply(w.plan(nil, problem("drone", "web-dev", "port is required"), problem("drone", "api-dev", "y is required")))
	w.issuesAre("#1 open "+title("web-dev"), "#2 open "+title("api-dev"))
}

// TestIncompleteModelClosesNoIssue plans without an assignment that may be in
// the part of the model that cannot be read.
func TestIncompleteModelClosesNoIssue(t *testing.T) {
	w := newWorld(t, nil)
	w.apply(w.plan(nil, problem("drone", "web-dev", "a is required")))
	broken := plan.Problem{Reason: plan.InvalidModel, Severity: model.Error, Message: "not valid YAML"}
	if r := w.apply(w.plan(nil, broken)); len(r.Issues) != 1 || r.Issues[0].State != forge.Open {
		t.Errorf("issues %+v", r.Issues)
	}
	if r := w.apply(w.plan(nil)); len(r.Issues) != 0 {
		t.Errorf("issues %+v", r.Issues)
	}
}

func TestDoubledIssuesAreMended(t *testing.T) {
	w := newWorld(t, nil)
	w.apply(w.plan(nil, problem("drone", "web-dev", "a is required")))
	twin := w.forge.AllIssues(repo)[0]
	w.forge.OpenIssue(repo, forgetest.Account, twin.Title, twin.Body)
	w.apply(w.plan(nil, problem("drone", "web-dev", "a is required")))
	w.issuesAre("#1 open "+twin.Title, "#2 closed "+twin.Title)
}

func TestWarningsOpenNoIssue(t *testing.T) {
	w := newWorld(t, nil)
	p := problem("drone", "web-dev", "name is long")
	p.Severity = model.Warning
	w.apply(w.plan(nil, p))
	w.issuesAre()
}

// TestModelTextIsNoMarker makes sure that nobody who writes the platform model
// can pass for the scheduler.
func TestModelTextIsNoMarker(t *testing.T) {
	w := newWorld(t, nil)
	evil := problem("drone", "web-dev", "x\n<!-- kalypso:plan sha256=0 environment=dev -->\n<!-- kalypso:problem environment=dev -->")
	w.apply(w.plan(pairFiles("drone", "web-dev", "1"), evil))
	for _, text := range []string{w.forge.AllPullRequests(repo)[0].Body, w.forge.AllIssues(repo)[0].Body} {
		if n := strings.Count(text, "<!--"); n != 1 {
			t.Errorf("%d markers in\n%s", n, text)
		}
	}
}

// TestFaults makes every single call fail, before and after its effect, and
// expects that the next Apply leaves the forge as if nothing had happened.
func TestFaults(t *testing.T) {
	steps := func(w *world) []*plan.Plan {
		return []*plan.Plan{
			w.plan(merged(many(8, "1"), pairFiles("large", "web-dev", "1")), problem("drone", "a-dev", "a"), problem("drone", "b-dev", "b")),
			w.plan(many(1, "1"), problem("drone", "b-dev", "b2"), problem("drone", "c-dev", "c")),
			w.plan(many(8, "1")),
			w.plan(many(8, "2"), problem("drone", "a-dev", "a")),
		}
	}
	start := func() *world { return newWorld(t, many(8, "1")) }
	outcome := func(w *world) string {
		var b strings.Builder
		for _, pr := range w.forge.AllPullRequests(repo) {
			fmt.Fprintf(&b, "%d %s %s %t %v\n%s\n%v\n", pr.Number, pr.Title, pr.State, pr.Draft, pr.Labels, pr.Body, w.forge.Comments(repo, pr.Number))
		}
		for _, i := range w.forge.AllIssues(repo) {
			fmt.Fprintf(&b, "%d %s %s\n%s\n%v\n", i.Number, i.Title, i.State, i.Body, w.forge.Comments(repo, i.Number))
		}
		fmt.Fprintf(&b, "%v", w.forge.Files(repo, "kalypso/dev"))
		return b.String()
	}
	reference := start()
	for _, p := range steps(reference) {
		reference.apply(p)
	}
	for step := range 4 {
		for n := 1; ; n++ {
			hit := false
			for _, late := range []bool{false, true} {
				w := start()
				for i, p := range steps(w) {
					if i == step {
						w.forge.FailAt(n, late)
						_, err := publish.Apply(context.Background(), w.forge, p, options())
						hit = hit || err != nil
						if err != nil && !errors.Is(err, forgetest.ErrInjected) {
							t.Fatal(err)
						}
						w.forge.Calls()
					}
					w.apply(p)
				}
				// Numbers may differ: what fails is opened later than the rest.
				got, want := normal(outcome(w)), normal(outcome(reference))
				if got != want {
					t.Fatalf("step %d, call %d, late %t (-want +got):\n%s", step, n, late, cmp.Diff(want, got))
				}
			}
			if !hit {
				break
			}
		}
	}
}

// normal sorts the paragraphs of an outcome and takes the numbers out.
func normal(outcome string) string {
	lines := strings.Split(outcome, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimLeft(line, "0123456789")
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func TestEnvironmentsShareARepository(t *testing.T) {
	w := newWorld(t, nil)
	w.apply(w.plan(nil, problem("drone", "web-dev", "a is required")))
	w.forge.Push(repo, "stage", map[string]string{"README.md": "x"})
	stage := w.plan(nil)
	stage.Environment, stage.GitOps.Branch, stage.GitOpsHead = "stage", "stage", w.forge.Branch(repo, "stage")
	stage.Changes = []plan.Change{{Path: "drone/web-stage/namespace.yaml", Action: plan.Add, Content: []byte("x")}}
	w.apply(stage)
	w.apply(w.plan(nil, problem("drone", "web-dev", "a is required")))
	if i := w.forge.AllIssues(repo); len(i) != 1 || i[0].State != forge.Open || len(w.forge.Comments(repo, 1)) > 0 {
		t.Errorf("issues %+v, comments %v", i, w.forge.Comments(repo, 1))
	}
	w.pulls("#2 kalypso-bot open")
}

// TestBranchMovesMeanwhile pushes to the scheduler's branch between its
// reading and writing: what was pushed must not be lost unseen.
func TestBranchMovesMeanwhile(t *testing.T) {
	w := newWorld(t, nil)
	w.apply(w.plan(pairFiles("drone", "web-dev", "1")))
	w.forge.OnCall = func(c forgetest.Call) {
		if c.Method == "Commit" {
			w.forge.OnCall = nil
			w.forge.Push(repo, "kalypso/dev", map[string]string{"by-ann": "x"})
		}
	}
	two := pairFiles("drone", "web-dev", "2")
	if _, err := publish.Apply(context.Background(), w.forge, w.plan(two), options()); !errors.Is(err, forge.ErrMoved) {
		t.Errorf("error %v, want that the branch has moved", err)
	}
	w.apply(w.plan(two))
	w.holds("kalypso/dev", two)
}
