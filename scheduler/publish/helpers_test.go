package publish_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-dev/kalypso/internal/testkit/forgefake"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/publish"
)

const repo = "acme/gitops"

type change = plan.Change

// fixture is a GitOps repository with one environment.
type fixture struct {
	kept []string // branches for commits of users
	*testing.T
	forge *forgefake.Forge
}

func newFixture(t *testing.T, files map[string]string) *fixture {
	f := forgefake.New()
	f.Push(repo, "dev", merged(map[string]string{"README.md": "users'\n"}, files))
	return &fixture{T: t, forge: f}
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

func many(n int, version string) map[string]string {
	files := map[string]string{}
	for i := range n {
		maps.Copy(files, pairFiles("drone", fmt.Sprintf("app%02d-dev", i), version))
	}
	return files
}

// plan makes the plan that the branch shall hold want, besides what users put
// there.
func (w *fixture) plan(want map[string]string, problems ...plan.Problem) *plan.Plan {
	p := &plan.Plan{
		Environment: "dev",
		GitOps:      model.Reference{Repo: forgefake.URL(repo), Branch: "dev"},
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
func (w *fixture) apply(p *plan.Plan) publish.Result {
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

func (w *fixture) pulls(want ...string) {
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

func (w *fixture) holds(branch string, want map[string]string) {
	w.Helper()
	if diff := cmp.Diff(merged(map[string]string{"README.md": "users'\n"}, want), w.forge.Files(repo, branch)); diff != "" {
		w.Errorf("branch %s (-want +got):\n%s", branch, diff)
	}
}

// problem is a finding about one assignment.
func problem(clusterType, target, message string) plan.Problem {
	return plan.Problem{
		ClusterType: clusterType, Target: target, Severity: model.Error, Reason: plan.InvalidConfig, Message: message,
		Position: model.Position{Repo: "http://forge.test/acme/platform.git", Branch: "dev", File: "config.yaml", Line: 3},
		Hint:     "add it to a platform config",
	}
}

// issueTitle is the title that the specification prescribes.
func issueTitle(target string) string {
	return "Can't generate manifests for deployment target " + target + " in cluster type drone in dev environment"
}

func (w *fixture) issuesAre(want ...string) {
	w.Helper()
	var got []string
	for _, i := range w.forge.AllIssues(repo) {
		got = append(got, fmt.Sprintf("#%d %s %s", i.Number, i.State, i.Title))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("issues (-want +got):\n%s", diff)
	}
}

func (w *fixture) comments(number int, want ...string) {
	w.Helper()
	var got []string
	for _, c := range w.forge.Comments(repo, number) {
		got = append(got, c.Author+": "+c.Body)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("comments on #%d (-want +got):\n%s", number, diff)
	}
}

// pushToOwn pushes to the scheduler's branch as a user.
func (w *fixture) pushToOwn(files map[string]string) {
	w.kept = append(w.kept, "kalypso/dev-kept-"+w.forge.Push(repo, "kalypso/dev", files)[:7])
}

// close closes a pull request as a user does.
func (w *fixture) close(number int) {
	w.forge.EditPullRequest(repo, number, func(p *forge.PullRequest) { p.State = forge.Closed })
}

// takeOff takes a label off a pull request as a user does.
func (w *fixture) takeOff(number int, label string) {
	w.forge.EditPullRequest(repo, number, func(p *forge.PullRequest) {
		p.Labels = slices.DeleteFunc(p.Labels, func(l string) bool { return l == label })
	})
}
