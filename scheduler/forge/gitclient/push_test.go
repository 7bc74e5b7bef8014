package gitclient_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/memory"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
)

// TestCommitIsTheSchedulers makes one commit with the scheduler as author and
// committer, on top of its parent and nothing else.
func TestCommitIsTheSchedulers(t *testing.T) {
	s := newServer(t)
	remote, work := s.create("app")
	base := s.push(work, "main", "1")
	if _, err := gitclient.New(&http.Client{}, 1<<20).Commit(ctx, remote, forge.CommitRequest{
		Branch: "kalypso/dev", Parent: base, Message: "Kalypso: dev\n", When: time.Unix(1700000000, 0),
		Changes: []forge.Change{{Path: "x", Content: []byte("x")}},
	}); err != nil {
		t.Fatal(err)
	}
	for branch, own := range map[string]bool{"kalypso/dev": true, "main": false} {
		if tree, err := gitclient.New(&http.Client{}, 1<<20).Tree(ctx, remote, branch, ""); err != nil || tree.Own != own {
			t.Errorf("branch %s: %+v, %v", branch, tree, err)
		}
	}
	got := s.git(filepath.Join(s.root, "app.git"), "log", "--format=%an <%ae> %cn <%ce> %ct %P %s", "main..kalypso/dev")
	want := "Kalypso Scheduler <scheduler@kalypso.local> Kalypso Scheduler <scheduler@kalypso.local> 1700000000 " + base + " Kalypso: dev"
	if got != want {
		t.Errorf("commits\n%s\nwant\n%s", got, want)
	}
}

// TestLostAnswer carries out a push and loses the answer.
func TestLostAnswer(t *testing.T) {
	s := newServer(t)
	remote, work := s.create("app")
	base := s.push(work, "main", "1")
	lost := 0
	s.put(func(w http.ResponseWriter, r *http.Request, backend http.Handler) {
		if strings.HasSuffix(r.URL.Path, "/git-receive-pack") {
			backend.ServeHTTP(httptest.NewRecorder(), r)
			lost++
			panic(http.ErrAbortHandler)
		}
		backend.ServeHTTP(w, r)
	})
	c := gitclient.New(&http.Client{}, 1<<20)
	commit, err := c.Commit(ctx, remote, forge.CommitRequest{
		Branch: "kalypso/dev", Parent: base, Message: "m\n", Changes: []forge.Change{{Path: "x", Content: []byte("x")}},
	})
	if err != nil || commit != s.git(filepath.Join(s.root, "app.git"), "rev-parse", "kalypso/dev") {
		t.Errorf("commit %s, %v", commit, err)
	}
	if err := c.Delete(ctx, remote, "kalypso/dev"); err != nil {
		t.Errorf("Delete: %v", err)
	}
	if lost != 2 {
		t.Errorf("%d answers were lost", lost)
	}
}

// TestTenThousandFiles makes, reads and removes many files at once.
func TestTenThousandFiles(t *testing.T) {
	s := newServer(t)
	remote, work := s.create("app")
	base := s.push(work, "main", "1")
	request := forge.CommitRequest{Branch: "kalypso/dev", Parent: base, Message: "many\n"}
	for i := range 10_000 {
		name := fmt.Sprintf("type-%03d/app%04d-dev/reconciler.yaml", i%100, i)
		request.Changes = append(request.Changes, forge.Change{Path: name, Content: []byte(name)})
	}
	made, err := gitclient.New(&http.Client{}, 64<<20).Commit(ctx, remote, request)
	if err != nil {
		t.Fatal(err)
	}
	c := gitclient.New(&http.Client{}, 64<<20)
	tree, err := c.Tree(ctx, remote, "kalypso/dev", "")
	if err != nil || len(tree.Files) != 10_001 {
		t.Fatalf("%d files, %v", len(tree.Files), err)
	}
	for i := range request.Changes {
		request.Changes[i].Content = nil
	}
	request.Parent, request.Changes = made, request.Changes[:9_999]
	if _, err := c.Commit(ctx, remote, request); err != nil {
		t.Fatal(err)
	}
	if tree, err = c.Tree(ctx, remote, "kalypso/dev", ""); err != nil || len(tree.Files) != 2 {
		t.Errorf("%d files, %v", len(tree.Files), err)
	}
}

// twoBranches are made of one commit without files.
func twoBranches(t *testing.T) (*memory.Storage, map[plumbing.ReferenceName]plumbing.Hash) {
	t.Helper()
	store := memory.NewStorage()
	tree, commit := store.NewEncodedObject(), store.NewEncodedObject()
	if err := (&object.Tree{}).Encode(tree); err != nil {
		t.Fatal(err)
	}
	if err := (&object.Commit{Message: "first\n", TreeHash: tree.Hash()}).Encode(commit); err != nil {
		t.Fatal(err)
	}
	for _, o := range []plumbing.EncodedObject{tree, commit} {
		if _, err := store.SetEncodedObject(o); err != nil {
			t.Fatal(err)
		}
	}
	return store, map[plumbing.ReferenceName]plumbing.Hash{"refs/heads/a": commit.Hash(), "refs/heads/b": commit.Hash()}
}

// script writes a hook of git's.
func (s *server) script(file, text string) {
	s.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o755)); err != nil {
		s.Fatal(err)
	}
}

// TestCreateIsAllOrNothing is about branches that come into being together.
func TestCreateIsAllOrNothing(t *testing.T) {
	s := newServer(t)
	remote, work := s.create("r")
	c := gitclient.New(http.DefaultClient, 1<<20)
	if all, err := c.Branches(ctx, remote); err != nil || len(all) > 0 {
		t.Errorf("an empty repository: %v, %v", all, err)
	}
	store, branches := twoBranches(t)
	// the server takes no branch b
	hook := s.root + "/r.git/hooks/update"
	s.git(s.root+"/r.git", "config", "core.hooksPath", s.root+"/r.git/hooks")
	s.script(hook, "#!/bin/sh\ntest \"$1\" != refs/heads/b\n")
	if err := c.Create(ctx, remote, store, branches); err == nil || !strings.Contains(err.Error(), "pushing 2 branches") {
		t.Errorf("error %v", err)
	}
	if all, err := c.Branches(ctx, remote); err != nil || len(all) > 0 {
		t.Errorf("half of it is there: %v, %v", all, err)
	}
	s.script(hook, "#!/bin/sh\n")
	mine := s.push(work, "a", "mine")
	for range 2 {
		if err := c.Create(ctx, remote, store, branches); err != nil {
			t.Fatal(err)
		}
	}
	if all, err := c.Branches(ctx, remote); err != nil || all["a"] != mine || all["b"] != branches["refs/heads/b"].String() {
		t.Errorf("%v, %v", all, err)
	}
}

// TestCreateWithoutAnAnswer looks what became of it.
func TestCreateWithoutAnAnswer(t *testing.T) {
	s := newServer(t)
	c := gitclient.New(http.DefaultClient, 1<<20)
	for name, carriedOut := range map[string]bool{"carried": true, "lost": false} {
		remote, _ := s.create(name)
		store, branches := twoBranches(t)
		s.put(func(w http.ResponseWriter, r *http.Request, backend http.Handler) {
			if !strings.HasSuffix(r.URL.Path, "/git-receive-pack") {
				backend.ServeHTTP(w, r)
				return
			}
			if carriedOut {
				backend.ServeHTTP(nowhere{}, r)
			}
			panic(http.ErrAbortHandler)
		})
		err := c.Create(ctx, remote, store, branches)
		if carriedOut != (err == nil) || !carriedOut && !errors.Is(err, gitclient.ErrNetwork) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := c.Branches(ctx, gitclient.Remote{URL: s.url + "/none.git"}); !errors.Is(err, forge.ErrNotFound) {
		t.Errorf("no repository: %v", err)
	}
}

// nowhere takes an answer that nobody gets.
type nowhere struct{}

func (nowhere) Header() http.Header         { return http.Header{} }
func (nowhere) WriteHeader(int)             {}
func (nowhere) Write(b []byte) (int, error) { return len(b), nil }

// TestManyBranchesDoNotBlock pushes to a server with more branches than fit into
// the memory of a small read: what they take is free again after each push.
func TestManyBranchesDoNotBlock(t *testing.T) {
	s := newServer(t)
	remote, work := s.create("app")
	base := s.push(work, "main", "1")
	var refs strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&refs, "%s refs/heads/b%05d\n", base, i)
	}
	writeFile(t, filepath.Join(s.root, "app.git", "packed-refs"), refs.String())
	c := gitclient.New(&http.Client{}, 1<<20)
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for range gitclient.MiddleSlots + 1 {
		if all, err := c.Branches(ctx, remote); err != nil || len(all) != 20_001 {
			t.Fatalf("%d branches, %v", len(all), err)
		}
		if err := c.Delete(ctx, remote, "kalypso/none"); err != nil {
			t.Fatal(err)
		}
	}
}
