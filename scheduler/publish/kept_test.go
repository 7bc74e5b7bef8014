package publish_test

import (
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/testkit/forgefake"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/publish"
)

// TestKeepsCommitsOfOthers has a user push to the scheduler's branch: the commit is kept
// on a branch, the pull request says so, once, and holds what the plan says.
func TestKeepsCommitsOfOthers(t *testing.T) {
	w := newFixture(t, nil)
	want := pairFiles("drone", "web-dev", "1")
	w.apply(w.plan(want))
	w.pushToOwn(map[string]string{"drone/web-dev/reconciler.yaml": "mine\n", "drone/theirs.yaml": "x\n"})
	theirs := w.forge.Branch(repo, "kalypso/dev")
	if r := w.apply(w.plan(want)); r.Action != publish.Updated {
		t.Errorf("action %s", r.Action)
	}
	w.holds("kalypso/dev", want)
	kept := w.forge.Files(repo, w.kept[0])
	if w.forge.Parent(repo, w.kept[0]) != theirs || kept["drone/theirs.yaml"] != "x\n" || kept["drone/web-dev/reconciler.yaml"] != "mine\n" {
		t.Errorf("branch %s holds %v", w.kept[0], kept)
	}
	says := func(texts ...string) {
		t.Helper()
		for _, text := range texts {
			if !strings.Contains(text, "`"+w.kept[0]+"`") {
				t.Errorf("it does not name %s:\n%s", w.kept[0], text)
			}
		}
	}
	comments := w.forge.Comments(repo, 1)
	if len(comments) != 1 {
		t.Fatalf("comments %v", comments)
	}
	says(comments[0].Body, w.forge.AllPullRequests(repo)[0].Body)
	if r := w.apply(w.plan(want)); r.Writes != 0 {
		t.Errorf("%d writes", r.Writes)
	}
	w.apply(w.plan(pairFiles("drone", "web-dev", "2")))
	says(w.forge.AllPullRequests(repo)[0].Body)
	if n := len(w.forge.Comments(repo, 1)); n != 1 {
		t.Errorf("%d comments", n)
	}
	w.pushToOwn(map[string]string{"drone/theirs.yaml": "y\n"})
	w.apply(w.plan(nil))
	if w.forge.Files(repo, w.kept[1])["drone/theirs.yaml"] != "y\n" || w.forge.Branch(repo, "kalypso/dev") != "" {
		t.Error("what was on the branch of the withdrawn pull request is lost")
	}
}

// TestApplyFilesKeepsCommitsOfOthers does so for a pull request of a workflow.
func TestApplyFilesKeepsCommitsOfOthers(t *testing.T) {
	w := newFixture(t, nil)
	bring := func(content string) {
		t.Helper()
		base, err := w.forge.Read(t.Context(), model.Reference{Repo: forgefake.URL(repo), Branch: "dev"})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := publish.ApplyFiles(t.Context(), w.forge, repo, publish.Files{
			Base: base, Changes: []plan.Change{{Path: "a.yaml", Action: plan.Add, Content: []byte(content)}},
			PullRequest: forge.PullRequest{Title: "Deploy", Head: "kalypso/dev", Base: "dev"},
		}); err != nil {
			t.Fatal(err)
		}
	}
	bring("1")
	w.pushToOwn(map[string]string{"theirs.yaml": "x\n"})
	bring("1")
	if w.forge.Files(repo, w.kept[0])["theirs.yaml"] != "x\n" || w.forge.Files(repo, "kalypso/dev")["theirs.yaml"] != "" {
		t.Error("the commit is lost, or still there")
	}
	pulls, comments := w.forge.AllPullRequests(repo), w.forge.Comments(repo, 1)
	if len(pulls) != 1 || len(comments) != 1 || !strings.Contains(pulls[0].Body, w.kept[0]) {
		t.Errorf("pull requests %+v, comments %v", pulls, comments)
	}
}
