package gitea_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/kalypso-dev/kalypso/internal/testkit/forgecontract"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// TestContract holds Gitea to what a forge promises.
func TestContract(t *testing.T) {
	for name, part := range forgecontract.Parts() {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			_, ann := s.newUser("ann")
			part(t, &harness{server: s, ann: ann, works: map[string]*work{}})
		})
	}
}

// harness is a Gitea with ann beside the scheduler.
type harness struct {
	*server
	ann   *sdk.Client
	works map[string]*work
}

func (w *harness) Forge() forge.Forge { return w.forge }

func (w *harness) Repo(name string) string { return w.create(name, false) }

func (w *harness) CloneURL(repo string) string { return w.cloneURL(repo) }

func (w *harness) Push(repo, branch string, files map[string]string) string {
	k := w.works[repo]
	if k == nil {
		k = w.clone(repo)
		w.works[repo] = k
	}
	k.git("fetch", "-q", "--prune", "origin")
	if k.git("branch", "-r", "--list", "origin/"+branch) != "" {
		k.git("checkout", "-q", "-f", "-B", branch, "origin/"+branch)
	} else {
		// a branch without a past, as on the other forges
		k.git("checkout", "-q", "--orphan", fmt.Sprintf("%s-%d", branch, len(k.git("for-each-ref"))))
		k.git("rm", "-r", "-q", "-f", "--ignore-unmatch", ".")
	}
	kept := map[string]string{}
	for name, content := range files {
		if content == "" {
			if err := os.Remove(filepath.Join(k.dir, name)); err != nil {
				w.Fatal(err)
			}
			continue
		}
		kept[name] = content
	}
	id := k.push(branch, kept)
	owner, name, _ := split(repo, "")
	for start := time.Now(); must(w.ann.GetRepo(owner, name)).Empty; time.Sleep(10 * time.Millisecond) {
		// Gitea notices a repository's first push a moment later
		if time.Since(start) > 20*time.Second {
			w.Fatalf("%s is empty 20 s after a push", repo)
		}
	}
	return id
}

func (w *harness) DeleteBranch(repo, branch string) {
	if _, _, err := w.ann.DeleteRepoBranch(split(repo, branch)); err != nil {
		w.Fatal(err)
	}
}

func split(repo, branch string) (owner, name, b string) {
	owner, name, _ = strings.Cut(repo, "/")
	return owner, name, branch
}

func (w *harness) Merge(repo string, number int) {
	owner, name, _ := split(repo, "")
	for range 50 {
		// Gitea looks for conflicts first, in its own time
		if ok, _, err := w.ann.MergePullRequest(owner, name, int64(number), sdk.MergePullRequestOption{Style: sdk.MergeStyleMerge}); err == nil && ok {
			return
		}
		if err := w.settled(repo, number); err != nil {
			w.Fatal(err)
		}
	}
	w.Fatalf("pull request %d of %s cannot be merged", number, repo)
}

// settled asks for a pull request, which takes Gitea a moment, and returns an
// error for one that is not open.
func (w *harness) settled(repo string, number int) error {
	owner, name, _ := split(repo, "")
	pr, _, err := w.ann.GetPullRequest(owner, name, int64(number))
	if err == nil && pr.State != sdk.StateOpen {
		err = errors.New("it is " + string(pr.State))
	}
	return err
}

func (w *harness) Close(repo string, number int) {
	owner, name, _ := split(repo, "")
	closed := sdk.StateClosed
	if _, _, err := w.ann.EditIssue(owner, name, int64(number), sdk.EditIssueOption{State: &closed}); err != nil {
		w.Fatal(err)
	}
}

func (w *harness) Review(repo string, number int, verdict forge.Verdict) {
	owner, name, _ := split(repo, "")
	states := map[forge.Verdict]sdk.ReviewStateType{forge.Approves: sdk.ReviewStateApproved, forge.RequestsChanges: sdk.ReviewStateRequestChanges}
	if _, _, err := w.ann.CreatePullReview(owner, name, int64(number), sdk.CreatePullReviewOptions{State: states[verdict], Body: "as it is"}); err != nil {
		w.Fatal(err)
	}
}

func (w *harness) OpenPull(repo, head, base string) int {
	owner, name, _ := split(repo, "")
	return int(must(w.ann.CreatePullRequest(owner, name, sdk.CreatePullRequestOption{Title: "theirs", Head: head, Base: base})).Index)
}

func (w *harness) OpenIssue(repo, title string) int {
	owner, name, _ := split(repo, "")
	return int(must(w.ann.CreateIssue(owner, name, sdk.CreateIssueOption{Title: title})).Index)
}

func (w *harness) label(repo, label string) int64 {
	owner, name, _ := split(repo, "")
	for _, l := range must(w.ann.ListRepoLabels(owner, name, sdk.ListLabelsOptions{})) {
		if l.Name == label {
			return l.ID
		}
	}
	return must(w.ann.CreateLabel(owner, name, sdk.CreateLabelOption{Name: label, Color: "#00aabb"})).ID
}

func (w *harness) Label(repo string, number int, label string) {
	owner, name, _ := split(repo, "")
	must(w.ann.AddIssueLabels(owner, name, int64(number), sdk.IssueLabelsOption{Labels: []int64{w.label(repo, label)}}))
}

func (w *harness) Unlabel(repo string, number int, label string) {
	owner, name, _ := split(repo, "")
	if _, err := w.ann.DeleteIssueLabel(owner, name, int64(number), w.label(repo, label)); err != nil {
		w.Fatal(err)
	}
}

func (w *harness) Comments(repo string, number int) (list []string) {
	owner, name, _ := split(repo, "")
	for _, c := range must(w.ann.ListIssueComments(owner, name, int64(number), sdk.ListIssueCommentOptions{})) {
		list = append(list, c.Body)
	}
	return list
}
