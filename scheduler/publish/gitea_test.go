package publish_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitea"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/publish"
)

// giteaRepo is a GitOps repository on a real server.
type giteaRepo struct {
	*testing.T
	api         *sdk.Client
	forge       *gitea.Forge
	owner, name string
	url         string
}

// newGiteaRepo makes one on the server that KALYPSO_TEST_GITEA_URL names. The
// token in KALYPSO_TEST_GITEA_TOKEN must be an administrator's.
func newGiteaRepo(t *testing.T) *giteaRepo {
	url, token := strings.TrimSuffix(os.Getenv("KALYPSO_TEST_GITEA_URL"), "/"), os.Getenv("KALYPSO_TEST_GITEA_TOKEN")
	if url == "" || token == "" {
		t.Skip("KALYPSO_TEST_GITEA_URL and KALYPSO_TEST_GITEA_TOKEN name no Gitea server")
	}
	w := &giteaRepo{T: t, owner: fmt.Sprintf("p%08x", rand.Uint32()), name: "gitops"}
	var err error
	if w.api, err = sdk.NewClient(url, sdk.SetToken(token)); err != nil {
		t.Fatal(err)
	}
	if w.forge, err = gitea.New(gitea.Options{URL: url, Token: token}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.api.CreateOrg(sdk.CreateOrgOption{Name: w.owner}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.api.CreateOrgRepo(w.owner, sdk.CreateRepoOption{Name: w.name, DefaultBranch: "dev", AutoInit: true}); err != nil {
		t.Fatal(err)
	}
	w.url = url + "/" + w.owner + "/" + w.name
	return w
}

// plan makes the plan that the branch shall hold want, besides its README.md.
func (w *giteaRepo) plan(want map[string]string, problems ...plan.Problem) *plan.Plan {
	w.Helper()
	tree, err := w.forge.Read(context.Background(), model.Reference{Repo: w.url, Branch: "dev"})
	if err != nil {
		w.Fatal(err)
	}
	p := &plan.Plan{Environment: "dev", GitOps: model.Reference{Repo: w.url, Branch: "dev"}, GitOpsHead: tree.Commit, Problems: problems}
	for path, content := range want {
		old, there := tree.Files[path]
		switch {
		case !there:
			p.Changes = append(p.Changes, plan.Change{Path: path, Action: plan.Add, Content: []byte(content)})
		case string(old) != content:
			p.Changes = append(p.Changes, plan.Change{Path: path, Action: plan.Modify, Content: []byte(content)})
		}
		if ct, rest, ok := strings.Cut(path, "/"); ok && strings.HasSuffix(rest, "/namespace.yaml") {
			p.Assignments = append(p.Assignments, plan.Assignment{ClusterType: ct, Target: strings.TrimSuffix(rest, "/namespace.yaml"), Policies: []string{"all"}})
		}
	}
	for path := range tree.Files {
		if _, wanted := want[path]; !wanted && path != "README.md" {
			p.Changes = append(p.Changes, plan.Change{Path: path, Action: plan.Remove})
		}
	}
	return p
}

// apply applies a plan and checks that a second time writes nothing.
func (w *giteaRepo) apply(what string, p *plan.Plan, want publish.Action) publish.Result {
	w.Helper()
	start := time.Now()
	r, err := publish.Apply(context.Background(), w.forge, p, publish.Options{})
	if err != nil {
		w.Fatalf("%s: %v", what, err)
	}
	w.Logf("%s: %s, %d writes, %s", what, r.Action, r.Writes, time.Since(start).Round(time.Millisecond))
	if r.Action != want {
		w.Errorf("%s: action %q, want %q", what, r.Action, want)
	}
	again, err := publish.Apply(context.Background(), w.forge, p, publish.Options{})
	if err != nil || again.Writes != 0 {
		w.Errorf("%s: the second time writes %d times (%s), %v", what, again.Writes, again.Action, err)
	}
	return r
}

// TestGitea takes a pull request and issues through their lives on a real
// server, and looks whether the server keeps every text as it was given.
func TestGitea(t *testing.T) {
	w := newGiteaRepo(t)
	long := problem("drone", "web-dev", strings.Repeat("é <b>*x*</b> `y` ", 300))
	long.Position.Repo = w.url
	promoted := map[string]string{".github/tracking/Promoted_Commit_Id": "0123456789abcdef\n"}

	r := w.apply("open", w.plan(merged(many(10, "1"), promoted), long), publish.Opened)
	if len(r.PullRequest.Labels) != 1 || len(r.Issues) != 1 {
		t.Errorf("opened %+v, issues %+v", r.PullRequest, r.Issues)
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		merged, _, err := w.api.MergePullRequest(w.owner, w.name, int64(r.PullRequest.Number), sdk.MergePullRequestOption{Style: sdk.MergeStyleMerge})
		if merged {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("not merged after 10 s: %v", err)
		}
	}
	w.apply("merged", w.plan(merged(many(10, "1"), promoted)), publish.Nothing)

	held := merged(many(2, "1"), promoted)
	r = w.apply("hold", w.plan(held, problem("drone", "web-dev", "x is required")), publish.Opened)
	if !r.Held || !r.PullRequest.Draft || len(r.PullRequest.Labels) != 1 || r.PullRequest.Labels[0] != forge.LabelMassDelete {
		t.Errorf("held: %+v", r.PullRequest)
	}
	number := int64(r.PullRequest.Number)
	labels, _, err := w.api.GetIssueLabels(w.owner, w.name, number, sdk.ListLabelsOptions{})
	if err != nil || len(labels) != 1 {
		t.Fatalf("labels %+v, %v", labels, err)
	}
	if _, err := w.api.DeleteIssueLabel(w.owner, w.name, number, labels[0].ID); err != nil {
		t.Fatal(err)
	}
	if r = w.apply("release", w.plan(held), publish.Updated); r.Held || r.PullRequest.Draft {
		t.Errorf("released: %+v", r.PullRequest)
	}
	if r = w.apply("worse", w.plan(many(1, "1")), publish.Updated); !r.Held || int64(r.PullRequest.Number) != number {
		t.Errorf("worse: %+v", r.PullRequest)
	}
	if r = w.apply("harmless", w.plan(many(9, "1")), publish.Updated); r.Held || r.PullRequest.Draft || len(r.PullRequest.Labels) > 0 {
		t.Errorf("harmless: %+v", r.PullRequest)
	}
	closed := sdk.StateClosed
	if _, _, err := w.api.EditPullRequest(w.owner, w.name, number, sdk.EditPullRequestOption{State: &closed}); err != nil {
		t.Fatal(err)
	}
	w.apply("closed by a user", w.plan(many(9, "1")), publish.LeftClosed)
	w.apply("nothing", w.plan(merged(many(10, "1"), promoted)), publish.Nothing)
	if r = w.apply("the same again", w.plan(many(9, "1")), publish.Opened); int64(r.PullRequest.Number) == number {
		t.Errorf("opened again: %+v", r.PullRequest)
	}
	w.apply("withdraw", w.plan(merged(many(10, "1"), promoted)), publish.Withdrawn)

	huge := map[string]string{}
	for i := range 300 {
		for path, content := range pairFiles(fmt.Sprintf("%s-%03d", strings.Repeat("c", 200), i), strings.Repeat("t", 240), "1") {
			huge[path] = content
		}
	}
	one := pairFiles(strings.Repeat("c", 240), strings.Repeat("é", 120), "1")
	w.apply("a long title", w.plan(merged(many(10, "1"), one)), publish.Opened)
	w.apply("a long body", w.plan(merged(many(10, "1"), huge), problem(strings.Repeat("é", 120), strings.Repeat("t", 240), "x")), publish.Updated)
	w.apply("a long title of a draft", w.plan(one), publish.Updated)
}
