package gitclient_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// TestFetch: all of a branch, then only what is new, with the account of the remote.
func TestFetch(t *testing.T) {
	s := newServer(t)
	s.password = "secret"
	remote, work := s.create("gitops")
	s.git(filepath.Join(s.root, "gitops.git"), "config", "uploadpack.allowFilter", "true")
	remote.Auth = &gitclient.Auth{User: "u", Password: "secret"}
	large := make([]byte, model.MaxFile+1)
	if _, err := rand.Read(large); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(work, "large.bin"), string(large))
	s.push(work, "main", "1")
	first := s.push(work, "main", "2")
	into := filesystem.NewStorage(osfs.New(t.TempDir()), cache.NewObjectLRUDefault())
	c := gitclient.New(&http.Client{}, 1<<20)
	objects := func() int {
		t.Helper()
		n := 0
		all, err := into.IterEncodedObjects(plumbing.AnyObject)
		if err == nil {
			err = all.ForEach(func(plumbing.EncodedObject) error { n++; return nil })
		}
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	head, err := c.Fetch(ctx, remote, "main", nil, into)
	if err != nil || head != first {
		t.Fatalf("%s, %v", head, err)
	}
	commit, err := object.GetCommit(into, plumbing.NewHash(first))
	if err != nil {
		t.Fatal(err)
	}
	if file, err := commit.File("a.txt"); err != nil || file.Size != 1 {
		t.Errorf("%+v, %v", file, err)
	}
	if _, err := commit.File("large.bin"); err == nil {
		t.Error("a large file came, too")
	}
	before, packs := objects(), s.packs.Load()
	second := s.push(work, "main", "3")
	if head, err := c.Fetch(ctx, remote, "main", []string{first, "1111111111111111111111111111111111111111"}, into); err != nil || head != second || objects() != before+3 {
		t.Errorf("%s, %v: %d objects, not three more than %d", head, err, objects(), before)
	}
	if head, err := c.Fetch(ctx, remote, "main", nil, into); err != nil || head != second || s.packs.Load() != packs+1 {
		t.Errorf("%s, %v: %d packs for what is there", head, err, s.packs.Load()-packs)
	}

	if _, err := c.Fetch(ctx, remote, "none", nil, into); !errors.Is(err, forge.ErrNotFound) {
		t.Errorf("no such branch: %v", err)
	}
	if _, err := c.Fetch(ctx, gitclient.Remote{URL: remote.URL}, "main", nil, into); !errors.Is(err, gitclient.ErrDenied) {
		t.Errorf("without the account: %v", err)
	}
	elsewhere := gitclient.New(&http.Client{}, 1<<20)
	if elsewhere.Hosts, err = gitclient.NewHosts("git.example.com"); err != nil {
		t.Fatal(err)
	}
	var host *model.HostError
	if _, err := elsewhere.Fetch(ctx, remote, "main", nil, into); !errors.As(err, &host) {
		t.Errorf("a server that is not allowed: %v", err)
	}
}

// TestFetchIsBounded: what is too much, or no pack, is an error and leaves nothing.
func TestFetchIsBounded(t *testing.T) {
	gitclient.BoundFetch(t, 1000)
	s := newServer(t)
	remote, work := s.create("gitops")
	noise := make([]byte, 4000)
	if _, err := rand.Read(noise); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(work, "noise"), string(noise))
	head := s.push(work, "main", "1")
	into := filesystem.NewStorage(osfs.New(t.TempDir()), cache.NewObjectLRUDefault())
	c := gitclient.New(&http.Client{}, 1<<20)
	var limit *model.LimitError
	if _, err := c.Fetch(ctx, remote, "main", nil, into); !errors.As(err, &limit) || limit.Max != 1000 {
		t.Errorf("too much: %v", err)
	}
	s.put(func(w http.ResponseWriter, r *http.Request, backend http.Handler) {
		if r.Method == http.MethodGet {
			backend.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
		_, _ = w.Write(append([]byte("0008NAK\n"), bytes.Repeat([]byte{'x'}, 100)...))
	})
	if _, err := c.Fetch(ctx, remote, "main", nil, into); err == nil {
		t.Error("no pack is taken")
	}
	if into.HasEncodedObject(plumbing.NewHash(head)) == nil {
		t.Error("there is something of it")
	}
}
