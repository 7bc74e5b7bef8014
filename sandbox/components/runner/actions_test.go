package main

import (
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	runnerv1 "code.gitea.io/actions-proto-go/runner/v1"
	"google.golang.org/protobuf/types/known/structpb"
)

// TestCheckout checks out from a real repository, as steps do.
func TestCheckout(t *testing.T) {
	root := t.TempDir()
	bare := filepath.Join(root, "org", "app.git")
	git := func(dir string, args ...string) string {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + root, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b"}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %s: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git(root, "init", "-q", "--bare", "-b", "main", bare)
	git(bare, "config", "uploadpack.allowAnySHA1InWant", "true")
	work := filepath.Join(root, "work")
	git(root, "init", "-q", "-b", "main", work)
	git(work, "commit", "-q", "--allow-empty", "-m", "one")
	sha := git(work, "rev-parse", "HEAD")
	git(work, "tag", "v1")
	git(work, "commit", "-q", "--allow-empty", "-m", "two")
	git(work, "push", "-q", bare, "main", "v1", "main:dev")
	newest := git(work, "rev-parse", "HEAD")
	server := httptest.NewServer(&cgi.Handler{
		Path: filepath.Join(git(root, "--exec-path"), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1"},
	})
	defer server.Close()

	f := newForge(t)
	start(t, runnerConfig(t, f))
	outside := scratch(t)
	kept := filepath.Join(outside, "kept")
	if err := os.WriteFile(kept, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
			t.Errorf("outside of the workspace: %v, %v", entries, err)
		}
	}()
	for i, c := range []struct {
		with   string
		result string
		says   []string
	}{
		{"{}", success, []string{"at " + sha + " on main, 1 commits, out " + sha, "refs/remotes/origin/main", "token kept"}},
		{"{fetch-depth: 0, ref: dev}", success, []string{"at " + newest + " on dev, 2 commits, out " + newest, "refs/remotes/origin/dev"}},
		{"{ref: v1, persist-credentials: false}", success, []string{"at " + sha + " on , 1 commits, out " + sha, "no token"}},
		{"{ref: v1, persist-credentials: False}", success, []string{"no token"}},
		{"{fetch-tags: true, ref: dev}", success, []string{"at " + newest + " on dev, 1 commits, out " + newest, "refs/tags/v1"}},
		{"{fetch-tags: true, fetch-depth: 0}", success, []string{"refs/tags/v1"}},
		{"{clean: false}", success, []string{"::warning::clean: false has no effect here: what stood in the folder has been removed. Check out first, or to another path."}},
		{"{path: new, clean: false}", success, []string{"nothing here"}},
		{"{path: sub/dir}", success, []string{"nothing here"}},
		{"{ref: none}", failure, []string{`::error::ref: org/app has no branch and no tag "none"`}},
		{"{repository: org/none, ref: main}", failure, []string{"::error::git ls-remote: org/none cannot be read"}},
		{"{path: link}", failure, nil},
		{"{path: link/sub}", failure, nil},
		{"{path: ./sub/../link}", failure, nil},
		{"{lfs: true}", failure, []string{"::error::lfs: is not served here"}},
	} {
		workflow := `
jobs:
  j:
    steps:
      - {run: 'echo old > old; ln -s ` + outside + ` link'}
      - {id: c, uses: actions/checkout@v4, with: ` + c.with + `}
      - run: |
          test ! -e .git && { echo nothing here; git -C sub/dir log || git -C new log; test -e old; exit; }
          test ! -e old
          echo "at $(git rev-parse HEAD) on $(git branch --show-current), $(git rev-list --count HEAD) commits, out ${{ steps.c.outputs.commit }}"
          git for-each-ref --format='%(refname)' refs/remotes refs/tags
          git config --get-regexp 'http..*extraheader' > kept && echo token kept || echo no token
          ! grep -rl "$(printf x-access-token:job-token | base64)" .git/config
`
		f.give(int64(i), workflow, func(task *runnerv1.Task) {
			task.Context.Fields["server_url"] = structpb.NewStringValue(server.URL + "/")
			task.Context.Fields["sha"] = structpb.NewStringValue(sha)
		})
		g := f.ended(int64(i))
		if got := resultName(g.state.Result); got != c.result {
			t.Errorf("%s: %s:\n%s", c.with, got, g.log())
		}
		if warned := strings.Contains(g.log(), "::warning::"); warned != (c.with == "{clean: false}") {
			t.Errorf("%s: warned %v:\n%s", c.with, warned, g.log())
		}
		for _, line := range c.says {
			if !slices.Contains(g.lines, line) {
				t.Errorf("%s: no line %q:\n%s", c.with, line, g.log())
			}
		}
	}
}
