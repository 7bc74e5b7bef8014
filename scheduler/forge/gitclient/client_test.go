package gitclient_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
)

// TestPinnedCommit reads commits that no branch points to, from a server that
// gives them out by their ID and from one that does not.
func TestPinnedCommit(t *testing.T) {
	for _, allowed := range []string{"false", "true"} {
		t.Run("allowed "+allowed, func(t *testing.T) {
			s := newServer(t)
			remote, work := s.create("app")
			first := s.push(work, "main", "1")
			s.push(work, "main", "2")
			s.git(filepath.Join(s.root, "app.git"), "config", "uploadpack.allowAnySHA1InWant", allowed)
			c := gitclient.New(&http.Client{}, 1<<20)
			for _, branch := range []string{"main", "gone", ""} {
				tree, err := c.Tree(ctx, remote, branch, first)
				if err != nil || string(tree.Files["a.txt"]) != "1" {
					t.Errorf("branch %q: %+v, %v", branch, tree, err)
				}
			}
			if _, err := c.Tree(ctx, remote, "main", strings.Repeat("1", 40)); !errors.Is(err, forge.ErrNotFound) {
				t.Errorf("no such commit: %v", err)
			}
		})
	}
}

func TestCacheSavesRequests(t *testing.T) {
	s := newServer(t)
	remote, work := s.create("app")
	commit := s.push(work, "main", "1")
	c := gitclient.New(&http.Client{}, 1<<20)
	read := func(branch, commit string, want int64) {
		t.Helper()
		before := s.requests.Load()
		if _, err := c.Tree(ctx, remote, branch, commit); err != nil {
			t.Fatal(err)
		}
		if n := s.requests.Load() - before; n != want {
			t.Errorf("%d requests, want %d", n, want)
		}
	}
	read("main", "", 2)
	read("main", "", 1)
	read("main", commit, 0)
	tiny := gitclient.New(&http.Client{}, 1)
	for range 2 { // what was read last is kept whatever its size
		if _, err := tiny.Tree(ctx, remote, "main", commit); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWhatIsNotThere(t *testing.T) {
	s := newServer(t)
	remote, work := s.create("app")
	c := gitclient.New(&http.Client{}, 1<<20)
	if _, err := c.Tree(ctx, remote, "main", ""); !errors.Is(err, forge.ErrNotFound) {
		t.Errorf("empty repository: %v", err)
	}
	s.push(work, "main", "1")
	if _, err := c.Tree(ctx, remote, "feature", ""); !errors.Is(err, forge.ErrNotFound) {
		t.Errorf("no such branch: %v", err)
	}
	if _, err := c.Head(ctx, gitclient.Remote{URL: s.url + "/none.git"}, "main"); !errors.Is(err, forge.ErrNotFound) {
		t.Errorf("no such repository: %v", err)
	}
	for _, url := range []string{"file://" + s.root + "/app.git", s.root + "/app.git", "git@host:a/b", "ssh://host/a/b", "http://", "%"} {
		if _, err := c.Head(ctx, gitclient.Remote{URL: url}, "main"); !errors.Is(err, forge.ErrNotFound) {
			t.Errorf("URL %q: %v", url, err)
		}
	}
	s.password = "needed"
	if _, err := c.Head(ctx, remote, "main"); err == nil || errors.Is(err, forge.ErrNotFound) {
		t.Errorf("without rights: %v", err)
	}
	remote.Auth = &gitclient.Auth{User: "x", Password: "needed"}
	if _, err := c.Head(ctx, remote, "main"); err != nil {
		t.Errorf("with rights: %v", err)
	}
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := c.Tree(canceled, remote, "main", ""); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

// TestRedirectTakesNoToken redirects to another origin, which must not get
// what was meant for the first.
func TestRedirectTakesNoToken(t *testing.T) {
	s := newServer(t)
	_, work := s.create("app")
	s.push(work, "main", "1")
	var leaked atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, _, ok := r.BasicAuth(); ok {
			leaked.Store(true)
		}
		http.Redirect(w, r, s.url+r.URL.RequestURI(), http.StatusFound)
	}))
	defer other.Close()
	first := httptest.NewServer(http.RedirectHandler(other.URL+"/app.git/info/refs?service=git-upload-pack", http.StatusFound))
	defer first.Close()
	_, _ = gitclient.New(&http.Client{}, 1).Head(ctx, gitclient.Remote{URL: first.URL + "/app.git", Auth: &gitclient.Auth{User: "x", Password: "token"}}, "main")
	if leaked.Load() {
		t.Error("the token went to another origin")
	}
}

func TestCommitAndLease(t *testing.T) {
	s := newServer(t)
	remote, work := s.create("app")
	s.push(work, "main", "0")
	base := s.push(work, "main", "1")
	c := gitclient.New(&http.Client{}, 1<<20)
	request := forge.CommitRequest{
		Branch: "kalypso/dev", Parent: base, Message: "m\n", When: time.Unix(1700000000, 0),
		Changes: []forge.Change{{Path: "x/y.yaml", Content: []byte("y")}},
	}
	first, err := c.Commit(ctx, remote, request)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := gitclient.New(&http.Client{}, 1<<20).Commit(ctx, remote, request); err != nil || again != first {
		t.Errorf("the same request makes %s, %v, want %s", again, err, first)
	}
	s.git(filepath.Join(s.root, "app.git"), "fsck", "--strict")

	request.Changes[0].Content, request.Expect = []byte("z"), base
	if _, err := c.Commit(ctx, remote, request); !errors.Is(err, forge.ErrMoved) {
		t.Errorf("a branch elsewhere: %v", err)
	}
	request.Expect = strings.Repeat("1", 40)
	request.Branch = "kalypso/none"
	if _, err := c.Commit(ctx, remote, request); !errors.Is(err, forge.ErrMoved) {
		t.Errorf("a branch that is gone: %v", err)
	}
	head, err := c.Head(ctx, remote, "kalypso/dev")
	if err != nil || head != first {
		t.Errorf("head %s, %v, want %s", head, err, first)
	}
	if err := c.Delete(ctx, remote, "kalypso/dev"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Head(ctx, remote, "kalypso/dev"); !errors.Is(err, forge.ErrNotFound) {
		t.Errorf("after Delete: %v", err)
	}
}
