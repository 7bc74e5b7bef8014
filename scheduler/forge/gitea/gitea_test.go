package gitea_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "code.gitea.io/sdk/gitea"
	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitea"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

var ctx = context.Background()

func TestRead(t *testing.T) {
	s := newServer(t)
	repo := s.create("app", true)
	if _, err := s.forge.Read(ctx, s.ref(repo, "main")); !errors.Is(err, forge.ErrNotFound) {
		t.Errorf("empty repository: %v", err)
	}
	w := s.clone(repo)
	first := w.push("main", map[string]string{"a.txt": "1", "dir/b.txt": "2"})
	if err := os.Symlink("a.txt", filepath.Join(w.dir, "link")); err != nil {
		t.Fatal(err)
	}
	second := w.push("main", map[string]string{"a.txt": "3"})
	w.push("main", map[string]string{"a.txt": "4"})
	lost := w.git("rev-parse", "HEAD")
	w.git("reset", "-q", "--hard", second)
	w.push("main", map[string]string{"a.txt": "5"})

	for name, test := range map[string]struct {
		ref   model.Reference
		a     string
		found bool
	}{
		"head":                    {s.ref(repo, "main"), "5", true},
		"default branch":          {s.ref(repo, ""), "5", true},
		"older commit":            {model.Reference{Repo: s.cloneURL(repo), Branch: "main", Commit: first}, "1", true},
		"commit of no branch":     {model.Reference{Repo: s.cloneURL(repo), Commit: second}, "3", true},
		"commit that was lost":    {model.Reference{Repo: s.cloneURL(repo), Branch: "main", Commit: lost}, "4", true},
		"other spelling":          {model.Reference{Repo: strings.Replace(s.url, "127.0.0.1", "localhost", 1) + "/" + repo + "/", Branch: "main"}, "5", true},
		"no such branch":          {s.ref(repo, "feature/x"), "", false},
		"no such repository":      {s.ref(s.org+"/none", "main"), "", false},
		"no such owner":           {s.ref("none/none", "main"), "", false},
		"no such commit":          {model.Reference{Repo: s.cloneURL(repo), Branch: "main", Commit: strings.Repeat("1", 40)}, "", false},
		"abbreviated commit":      {model.Reference{Repo: s.cloneURL(repo), Branch: "main", Commit: first[:10]}, "", false},
		"a file":                  {model.Reference{Repo: "file://" + w.dir, Branch: "main"}, "", false},
		"a path":                  {model.Reference{Repo: w.dir, Branch: "main"}, "", false},
		"an address without http": {model.Reference{Repo: "git@127.0.0.1:" + repo, Branch: "main"}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			tree, err := s.forge.Read(ctx, test.ref)
			if !test.found {
				if !errors.Is(err, forge.ErrNotFound) {
					t.Errorf("error %v, want not found", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := string(tree.Files["a.txt"]); got != test.a || tree.Repo != test.ref.Repo {
				t.Errorf("a.txt is %q in %s, want %q", got, tree.Repo, test.a)
			}
			if _, ok := tree.Files["link"]; ok {
				t.Error("a link is among the files")
			}
			if string(tree.Files["dir/b.txt"]) != "2" {
				t.Errorf("files %v", tree.Files)
			}
			head, err := s.forge.Head(ctx, test.ref)
			if err != nil || head != tree.Commit {
				t.Errorf("Head is %s, %v, want %s", head, err, tree.Commit)
			}
		})
	}
}

func TestRightsAreNoAbsence(t *testing.T) {
	s := newServer(t)
	repo := s.create("app", true)
	s.clone(repo).push("main", map[string]string{"a": "b"})
	wrong, err := gitea.New(gitea.Options{URL: s.url, Token: strings.Repeat("0", 40)})
	if err != nil {
		t.Fatal(err)
	}
	down, err := gitea.New(gitea.Options{URL: "http://127.0.0.1:1", Token: s.token})
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]*gitea.Forge{"wrong token": wrong, "server is down": down} {
		ref := s.ref(repo, "main")
		ref.Repo = strings.Replace(ref.Repo, s.url, map[bool]string{true: s.url, false: "http://127.0.0.1:1"}[f == wrong], 1)
		if _, err := f.Read(ctx, ref); err == nil || errors.Is(err, forge.ErrNotFound) {
			t.Errorf("%s: Read: %v", name, err)
		}
		if _, err := f.Head(ctx, ref); err == nil || errors.Is(err, forge.ErrNotFound) {
			t.Errorf("%s: Head: %v", name, err)
		}
		ref.Commit = strings.Repeat("1", 40)
		if _, err := f.Read(ctx, ref); err == nil || errors.Is(err, forge.ErrNotFound) {
			t.Errorf("%s: Read of a commit: %v", name, err)
		}
		if _, err := f.Issues(ctx, repo); err == nil || errors.Is(err, forge.ErrNotFound) {
			t.Errorf("%s: Issues: %v", name, err)
		}
	}
}

func TestCommit(t *testing.T) {
	s := newServer(t)
	repo := s.create("gitops", false)
	w := s.clone(repo)
	if err := os.WriteFile(filepath.Join(w.dir, "run.sh"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("run.sh", filepath.Join(w.dir, "link")); err != nil {
		t.Fatal(err)
	}
	w.push("main", map[string]string{"old/x.yaml": "x"})
	base := w.push("main", map[string]string{"drone/a/b.yaml": "1", "drone/c.yaml": "2", "drone.txt": "3"})
	when := time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC)
	request := forge.CommitRequest{
		Branch: "kalypso/dev", Parent: base, Message: "Kalypso: dev\n", When: when,
		Changes: []forge.Change{
			{Path: "run.sh", Content: []byte("#!/bin/sh\necho\n")},
			{Path: "drone/a/b.yaml"},
			{Path: "large/n/x.yaml", Content: []byte("new")},
			{Path: "large/empty", Content: []byte{}},
			{Path: "old/x.yaml"},
			{Path: "never/was"},
		},
	}
	commit, err := s.forge.Commit(ctx, repo, request)
	if err != nil {
		t.Fatal(err)
	}
	w.git("fetch", "-q", "origin")
	w.git("fsck", "--strict")
	got := w.git("ls-tree", "-r", "--format=%(objectmode) %(path)", "origin/kalypso/dev")
	want := "100644 drone.txt\n100644 drone/c.yaml\n100644 large/empty\n100644 large/n/x.yaml\n120000 link\n100755 run.sh"
	if got != want {
		t.Errorf("tree\n%s\nwant\n%s", got, want)
	}
	if got, want := w.git("log", "-1", "--format=%H %P %an <%ae> %cn <%ce> %aI %s", "origin/kalypso/dev"),
		commit+" "+base+" Kalypso Scheduler <scheduler@kalypso.local> Kalypso Scheduler <scheduler@kalypso.local> 2024-01-02T03:04:05+00:00 Kalypso: dev"; got != want {
		t.Errorf("commit %s\nwant   %s", got, want)
	}
	if again, err := s.forge.Commit(ctx, repo, request); err != nil || again != commit {
		t.Errorf("the same request again: %s, %v", again, err)
	}
	tree, err := s.forge.Read(ctx, s.ref(repo, "kalypso/dev"))
	if err != nil || tree.Commit != commit || string(tree.Files["large/n/x.yaml"]) != "new" {
		t.Errorf("Read after Commit: %+v, %v", tree, err)
	}

	// The branch is overwritten, on top of a commit that no branch points to.
	w.git("checkout", "-q", "--orphan", "fresh")
	w.push("main", map[string]string{"fresh.txt": "x"})
	request.Expect, request.Message = commit, "second\n"
	second, err := s.forge.Commit(ctx, repo, request)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.forge.Commit(ctx, repo, forge.CommitRequest{
		Branch: "kalypso/dev", Parent: base, Expect: commit, Message: "late", Changes: request.Changes,
	}); !errors.Is(err, forge.ErrMoved) {
		t.Errorf("a branch that moved: %v", err)
	}
	if head, _ := s.forge.Head(ctx, s.ref(repo, "kalypso/dev")); head != second {
		t.Errorf("head %s, want %s", head, second)
	}

	for name, bad := range map[string]forge.CommitRequest{
		"a user's branch": {Branch: "main", Parent: base, Changes: request.Changes},
		"the bare prefix": {Branch: "kalypso/", Parent: base, Changes: request.Changes},
		"not on top":      {Branch: "main", Parent: base, Expect: commit, FastForward: true, Changes: request.Changes},
		"outside":         {Branch: "kalypso/dev", Parent: base, Changes: []forge.Change{{Path: "../x", Content: []byte("x")}}},
		"git's own":       {Branch: "kalypso/dev", Parent: base, Changes: []forge.Change{{Path: "a/.GIT/config", Content: []byte("x")}}},
		"file and folder": {Branch: "kalypso/dev", Parent: base, Changes: []forge.Change{{Path: "drone.txt/x", Content: []byte("x")}}},
		"nothing":         {Branch: "kalypso/dev", Parent: base, Changes: []forge.Change{{Path: "drone.txt", Content: []byte("3")}}},
	} {
		if _, err := s.forge.Commit(ctx, repo, bad); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	head, err := s.forge.Head(ctx, s.ref(repo, "main"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.forge.Commit(ctx, repo, forge.CommitRequest{
		Branch: "main", Parent: head, Expect: head, FastForward: true, Message: "Promote\n",
		Changes: []forge.Change{{Path: "fresh.txt", Content: []byte("y")}},
	}); err != nil {
		t.Errorf("fast-forward: %v", err)
	}
	if _, err := s.forge.Commit(ctx, repo, forge.CommitRequest{
		Branch: "main", Parent: head, Expect: head, FastForward: true, Message: "Promote\n",
		Changes: []forge.Change{{Path: "fresh.txt", Content: []byte("z")}},
	}); !errors.Is(err, forge.ErrMoved) {
		t.Errorf("fast-forward of a branch that moved: %v", err)
	}

	for range 2 {
		if err := s.forge.DeleteBranch(ctx, repo, "kalypso/dev"); err != nil {
			t.Error(err)
		}
	}
	if _, err := s.forge.Head(ctx, s.ref(repo, "kalypso/dev")); !errors.Is(err, forge.ErrNotFound) {
		t.Errorf("head of a deleted branch: %v", err)
	}
	if err := s.forge.DeleteBranch(ctx, repo, "main"); err == nil {
		t.Error("a user's branch was deleted")
	}
}

func TestPullRequest(t *testing.T) {
	s := newServer(t)
	repo := s.create("gitops", false)
	owner, name, _ := strings.Cut(repo, "/")
	w := s.clone(repo)
	base := w.push("dev", map[string]string{"README.md": "x"})
	commit := func(content string) string {
		t.Helper()
		id, err := s.forge.Commit(ctx, repo, forge.CommitRequest{
			Branch: "kalypso/dev", Parent: base, Message: content, Changes: []forge.Change{{Path: "a.yaml", Content: []byte(content)}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	first := commit("1")
	// At once: Gitea has not yet noticed the repository's first push.
	body := "text\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n<!-- kalypso:plan sha256=1 environment=dev -->\n"
	pr, err := s.forge.SavePullRequest(ctx, repo, forge.PullRequest{
		Title: "Kalypso: dev", Body: body, Head: "kalypso/dev", Base: "dev", Draft: true,
		Labels: []string{forge.LabelMassDelete, forge.LabelPromoted}, State: forge.Open,
	})
	if err != nil {
		t.Fatal(err)
	}
	list := func() []forge.PullRequest {
		t.Helper()
		l, err := s.forge.PullRequests(ctx, repo, "kalypso/dev", "dev")
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	want := forge.PullRequest{
		Number: 1, Title: "Kalypso: dev", Body: body, Head: "kalypso/dev", HeadCommit: first, Base: "dev", Draft: true,
		Labels: []string{"mass-delete", "promoted"}, State: forge.Open, Author: pr.Author, Own: true, URL: s.url + "/" + repo + "/pulls/1",
		Created: pr.Created,
	}
	if diff := cmp.Diff(want, pr); diff != "" {
		t.Errorf("created (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]forge.PullRequest{want}, list()); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}

	login, ann := s.newUser("ann")
	label := must(ann.CreateLabel(owner, name, sdk.CreateLabelOption{Name: "theirs", Color: "#00aabb"}))
	must(ann.AddIssueLabels(owner, name, 1, sdk.IssueLabelsOption{Labels: []int64{label.ID}}))
	second := commit("2")
	want.Title, want.Draft, want.Labels = "Kalypso: dev: other", false, []string{forge.LabelPromoted}
	pr, err = s.forge.SavePullRequest(ctx, repo, want)
	if err != nil {
		t.Fatal(err)
	}
	if pr.Title != "Kalypso: dev: other" || pr.Draft || !slices.Equal(pr.Labels, []string{"promoted", "theirs"}) {
		t.Errorf("updated: %+v", pr)
	}
	deadline := time.Now().Add(5 * time.Second)
	for list()[0].HeadCommit != second {
		if time.Now().After(deadline) {
			t.Fatalf("the pull request does not follow its branch: %+v", list())
		}
		time.Sleep(20 * time.Millisecond)
	}

	closed := sdk.StateClosed
	must(ann.EditPullRequest(owner, name, 1, sdk.EditPullRequestOption{State: &closed}))
	if l := list(); len(l) != 1 || l[0].State != forge.Closed || l[0].Head != "kalypso/dev" {
		t.Errorf("closed by a user: %+v", l)
	}
	must(ann.CreatePullRequest(owner, name, sdk.CreatePullRequestOption{Head: "kalypso/dev", Base: "dev", Title: "theirs"}))
	if l := list(); len(l) != 2 || l[0].Own || l[0].Author != login || !l[1].Own {
		t.Errorf("with a user's: %+v", l)
	}
	must(ann.EditPullRequest(owner, name, 2, sdk.EditPullRequestOption{State: &closed}))

	third, err := s.forge.SavePullRequest(ctx, repo, forge.PullRequest{Title: "third", Body: body, Head: "kalypso/dev", Base: "dev", State: forge.Open})
	if err != nil {
		t.Fatal(err)
	}
	merge(t, ann, owner, name, int64(third.Number))
	if l := list(); l[0].State != forge.Merged || l[0].MergeCommit == "" || l[0].Number != third.Number {
		t.Errorf("merged: %+v", l)
	}
	base, err = s.forge.Head(ctx, s.ref(repo, "dev"))
	if err != nil || base != list()[0].MergeCommit {
		t.Errorf("head %s, %v, want the merge commit", base, err)
	}
	commit("4")
	fourth, err := s.forge.SavePullRequest(ctx, repo, forge.PullRequest{Title: "fourth", Body: body, Head: "kalypso/dev", Base: "dev", State: forge.Open})
	if err != nil {
		t.Fatal(err)
	}
	fourth.State, fourth.Body = forge.Closed, "closed"
	if pr, err = s.forge.SavePullRequest(ctx, repo, fourth); err != nil || pr.State != forge.Closed || pr.Body != "closed" {
		t.Errorf("closed: %+v, %v", pr, err)
	}
	if err := s.forge.DeleteBranch(ctx, repo, "kalypso/dev"); err != nil {
		t.Fatal(err)
	}
	if l := list(); len(l) == 0 || l[0].Number != fourth.Number || l[0].Head != "kalypso/dev" {
		t.Errorf("without the branch: %+v", l)
	}
}

// merge merges a pull request as soon as Gitea has found out that it can be.
func merge(t *testing.T, c *sdk.Client, owner, name string, number int64) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for {
		ok, _, err := c.MergePullRequest(owner, name, number, sdk.MergePullRequestOption{Style: sdk.MergeStyleMerge})
		if ok && err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("pull request %d is not merged after 5 s: %v", number, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func TestIssues(t *testing.T) {
	s := newServer(t)
	repo := s.create("gitops", false)
	owner, name, _ := strings.Cut(repo, "/")
	_, ann := s.newUser("ann")
	must(ann.CreateIssue(owner, name, sdk.CreateIssueOption{Title: "theirs"}))
	body := "Config data validation failed:\n\n- x is required\n\n<!-- kalypso:problem environment=dev -->\n"
	i, err := s.forge.SaveIssue(ctx, repo, forge.Issue{Title: "Can't generate", Body: body})
	if err != nil {
		t.Fatal(err)
	}
	want := forge.Issue{Number: 2, Title: "Can't generate", Body: body, State: forge.Open, Author: i.Author, URL: s.url + "/" + repo + "/issues/2"}
	if diff := cmp.Diff(want, i); diff != "" {
		t.Errorf("created (-want +got):\n%s", diff)
	}
	for range 2 { // the second one says the same
		if err := s.forge.Comment(ctx, repo, 2, "gone"); err != nil {
			t.Fatal(err)
		}
	}
	want.State, want.Body = forge.Closed, body+"more\n"
	if _, err := s.forge.SaveIssue(ctx, repo, want); err != nil {
		t.Fatal(err)
	}
	list, err := s.forge.Issues(ctx, repo)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]forge.Issue{want}, list); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}
	want.State = forge.Open
	if i, err := s.forge.SaveIssue(ctx, repo, want); err != nil || i.State != forge.Open {
		t.Errorf("opened again: %+v, %v", i, err)
	}
	if comments := must(s.admin.ListIssueComments(owner, name, 2, sdk.ListIssueCommentOptions{})); len(comments) != 1 || comments[0].Body != "gone" {
		t.Errorf("%d comments", len(comments))
	}
	for range 60 { // more than a page
		if _, err := s.forge.SaveIssue(ctx, repo, forge.Issue{Title: "many"}); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := s.forge.Issues(ctx, repo); err != nil || len(list) != 61 {
		t.Errorf("%d issues, %v", len(list), err)
	}
	if _, err := s.forge.Issues(ctx, s.org+"/none"); !errors.Is(err, forge.ErrNotFound) {
		t.Errorf("no such repository: %v", err)
	}
}

func TestStatuses(t *testing.T) {
	s := newServer(t)
	repo := s.create("control-plane", false)
	commit := s.clone(repo).push("main", map[string]string{"a": "b"})
	for _, status := range []forge.Status{
		{Context: "stage environment", State: forge.Pending, Description: "Promoted"},
		{Context: "dev environment", State: forge.Pending, Description: "Promoted"},
		{Context: "dev environment", State: forge.Success, Description: "Deployed", URL: "http://hub/"},
	} {
		if err := s.forge.SetStatus(ctx, repo, commit, status); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.forge.Statuses(ctx, repo, commit)
	if err != nil {
		t.Fatal(err)
	}
	want := []forge.Status{
		{Context: "dev environment", State: forge.Success, Description: "Deployed", URL: "http://hub/"},
		{Context: "stage environment", State: forge.Pending, Description: "Promoted"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := s.forge.Statuses(ctx, repo, strings.Repeat("1", 40)); err == nil {
		t.Log("Gitea lists no statuses for a commit that is not there, without an error")
	} else if !errors.Is(err, forge.ErrNotFound) {
		t.Errorf("no such commit: %v", err)
	}
}
