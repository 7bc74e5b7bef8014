package gitclient_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/memory"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
)

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
