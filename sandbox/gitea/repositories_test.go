package gitea

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/testkit/gitkit"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"github.com/kalypso-dev/kalypso/workshop"
	"github.com/kalypso-dev/kalypso/workshop/seed"
)

// written is a repository on disk.
func written(t *testing.T, r seed.Repository) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "r.git")
	if err := writeBare(dir, r); err != nil {
		t.Fatal(err)
	}
	return dir
}

func runGit(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := gitkit.Output(dir, "", args...)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

var sample = seed.Repository{Repository: workshop.Repository{Name: "r", Branches: []workshop.Branch{
	{Name: "main", Files: map[string][]byte{
		"README.md":     []byte("# r\n"),
		"a/b/c.yaml":    []byte("c: 1\n"),
		"a/b.yaml":      []byte("b: 1\n"),
		"a.yaml":        []byte("a: 1\n"),
		"a-b/run.sh":    []byte("#!/bin/sh\n"),
		".hidden/x.yml": []byte("x: 1\n"),
	}},
	{Name: "dev", Files: map[string][]byte{"README.md": []byte("dev\n")}},
}}}

func TestWriteBareMakesWhatGitWouldMake(t *testing.T) {
	dir := written(t, sample)
	runGit(t, dir, "fsck", "--strict", "--full")
	work := filepath.Join(t.TempDir(), "work")
	runGit(t, "", "clone", "-q", "-b", "main", dir, work)
	for name, content := range sample.Branches[0].Files {
		got, err := os.ReadFile(filepath.Join(work, name))
		if err != nil || string(got) != string(content) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if info, err := os.Stat(filepath.Join(work, "a-b/run.sh")); err != nil || info.Mode()&0o100 == 0 {
		t.Error("a script is not executable")
	}
	if out := runGit(t, work, "status", "--porcelain"); out != "" {
		t.Errorf("a fresh clone has changes:\n%s", out)
	}
	// the tree must be the one that git itself writes for these files
	before := runGit(t, work, "rev-parse", "HEAD^{tree}")
	runGit(t, work, "rm", "-rq", "--cached", ".")
	runGit(t, work, "add", "-A")
	if after := runGit(t, work, "write-tree"); after != before {
		t.Errorf("tree %s, git makes %s", before, after)
	}
}

// TestPinnedBranch takes the default branch's first commit, by a second commit
// of its own.
func TestPinnedBranch(t *testing.T) {
	base := "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: BaseRepo\nmetadata:\n  name: main\nspec:\n  repo: r\n  branch: main\n"
	r := seed.Repository{Repository: workshop.Repository{Name: "r", Branches: []workshop.Branch{
		{Name: "main", Files: map[string][]byte{"README.md": []byte("main\n")}},
		{Name: "stage", Pinned: true, Files: map[string][]byte{"base-repo.yaml": []byte(base)}},
	}}}
	dir := written(t, r)
	main := strings.TrimSpace(runGit(t, dir, "rev-parse", "main"))
	if got, want := runGit(t, dir, "show", "stage:base-repo.yaml"), base+"  commit: "+main+"\n"; got != want {
		t.Errorf("stage has:\n%s", got)
	}
	if got := runGit(t, dir, "show", "stage~:base-repo.yaml"); got != base {
		t.Errorf("stage began with:\n%s", got)
	}
	if ours, err := untouched(dir, r); err != nil || !ours {
		t.Errorf("what was written is not taken for it: %v, %v", ours, err)
	}
	r.Branches[1].Files = nil
	if err := writeBare(filepath.Join(t.TempDir(), "r.git"), r); err == nil || !strings.Contains(err.Error(), "branch stage") {
		t.Error(err)
	}
}

// TestBranchOnTop adds one commit to another branch, called like its pull
// request.
func TestBranchOnTop(t *testing.T) {
	r := seed.Repository{Repository: workshop.Repository{
		Name: "r",
		Branches: []workshop.Branch{
			{Name: "main", Files: map[string][]byte{"README.md": []byte("main\n")}},
			{Name: "more", OnTop: "main", Files: map[string][]byte{"README.md": []byte("main\n"), "more": []byte("1\n")}},
		},
		PullRequests: []workshop.PullRequest{{Head: "more", Base: "main", Title: "Add more"}},
	}}
	dir := written(t, r)
	if got, want := runGit(t, dir, "rev-parse", "more~"), runGit(t, dir, "rev-parse", "main"); got != want {
		t.Errorf("more is on top of %s, want %s", got, want)
	}
	if got := runGit(t, dir, "log", "-1", "--format=%s", "more"); got != "Add more\n" {
		t.Errorf("the commit is called %q", got)
	}
	if got := runGit(t, dir, "diff", "--name-status", "main", "more"); got != "A\tmore\n" {
		t.Errorf("it changes %q", got)
	}
	r.Branches[0], r.Branches[1] = r.Branches[1], r.Branches[0]
	if err := writeBare(filepath.Join(t.TempDir(), "r.git"), r); err == nil || !strings.Contains(err.Error(), "no branch main before it") {
		t.Error(err)
	}
}

// TestRecordedCommit is of the control plane's first commit, on all branches
// but the default one.
func TestRecordedCommit(t *testing.T) {
	all, err := seed.Of(&workshop.Workshop{
		ControlPlane: workshop.ControlPlane{Repository: "control"},
		Repositories: []workshop.Repository{
			{Name: "gitops", Records: true, Branches: []workshop.Branch{{Name: "main"}, {Name: "dev"}}},
			{Name: "control", Branches: sample.Branches},
		},
	}, workshop.On("http://localhost:1/kalypso"))
	if err != nil {
		t.Fatal(err)
	}
	var dirs []string
	for _, r := range all {
		dirs = append(dirs, written(t, r))
	}
	const record = ".github/tracking/Promoted_Commit_Id"
	if got, want := runGit(t, dirs[0], "show", "dev:"+record), runGit(t, dirs[1], "rev-parse", "main"); got != want {
		t.Errorf("recorded %s, want %s", got, want)
	}
	if got := runGit(t, dirs[0], "ls-tree", "-r", "main"); got != "" {
		t.Errorf("main has %s", got)
	}
}

func TestSameFilesMakeSameCommit(t *testing.T) {
	var commits []string
	for range 2 {
		dir := written(t, sample)
		commits = append(commits, runGit(t, dir, "for-each-ref"))
	}
	if commits[0] != commits[1] {
		t.Errorf("%s\n%s", commits[0], commits[1])
	}
}

func TestWorkOfAUserIsNotOurs(t *testing.T) {
	dir := written(t, sample)
	work := filepath.Join(t.TempDir(), "work")
	runGit(t, "", "clone", "-q", "-b", "main", dir, work)
	if err := os.WriteFile(filepath.Join(work, "mine"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	runGit(t, work, "add", "-A")
	runGit(t, work, "-c", "user.name=p", "-c", "user.email=p@localhost", "commit", "-qm", "mine")
	runGit(t, work, "push", "-q")
	if ours, err := untouched(dir, sample); err != nil || ours {
		t.Errorf("a repository with a user's commit counts as ours: %v", err)
	}
}

func TestSettingsAreComplete(t *testing.T) {
	staged := t.TempDir()
	g := Server{
		Host: supervisor.Host{Staged: func(string) string { return staged }, Port: func(string) int { return 21000 }}, Dir: t.TempDir(), URL: "http://localhost:21000",
		Secret: "s3", Internal: "int", JWT: "jwt",
	}
	for range 2 { // the second start replaces what the first wrote
		if err := g.writeSettings(); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(g.config()); err != nil || !strings.Contains(string(text), filepath.Join(staged, "static")) {
		t.Errorf("app.ini: %v\n%s", err, text)
	}
	for _, name := range []string{"gitea", "hook"} {
		if target, err := os.Readlink(g.path("bin", name)); err != nil || target != filepath.Join(staged, name) {
			t.Errorf("link to %s: %s, %v", name, target, err)
		}
	}
	hook, err := os.ReadFile(g.path("bin", "hook.json"))
	if err != nil || !strings.Contains(string(hook), `"url":"http://127.0.0.1:21000/"`) || !strings.Contains(string(hook), `"token":"int"`) {
		t.Errorf("hook.json: %s, %v", hook, err)
	}
}

// TestWriteBare makes on disk what a push makes.
func TestWriteBare(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "r.git")
	for range 2 { // also over what a cut has left
		if err := writeBare(dir, sample); err != nil {
			t.Fatal(err)
		}
		runGit(t, dir, "fsck", "--strict", "--full")
		if got := runGit(t, dir, "symbolic-ref", "HEAD"); got != "refs/heads/main\n" {
			t.Errorf("HEAD is %s", got)
		}
		if got := runGit(t, dir, "rev-parse", "--is-bare-repository"); got != "true\n" {
			t.Errorf("bare: %s", got)
		}
		if ours, err := untouched(dir, sample); err != nil || !ours {
			t.Errorf("%v, %v", ours, err)
		}
		if err := os.Remove(filepath.Join(dir, "HEAD")); err != nil {
			t.Fatal(err)
		}
		if _, err := untouched(dir, sample); err == nil {
			t.Error("half a repository is read")
		}
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(dir), ".*")); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}
