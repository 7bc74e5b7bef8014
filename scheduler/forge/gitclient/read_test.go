package gitclient_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

func isPack(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/git-upload-pack") }

// TestReadsAreShared reads one commit from many places at once: each asks
// where the branch is, and all get what one of them downloads.
func TestReadsAreShared(t *testing.T) {
	s := newServer(t)
	remote, work := s.create("app")
	first := s.push(work, "main", "1")
	const readers = 8
	looked := make(chan struct{}, readers)
	s.put(func(w http.ResponseWriter, r *http.Request, backend http.Handler) {
		if isPack(r) {
			for range readers {
				<-looked
			}
		}
		backend.ServeHTTP(w, r)
		if !isPack(r) {
			looked <- struct{}{}
		}
	})
	c := gitclient.New(&http.Client{}, 1<<20)
	var all sync.WaitGroup
	for range readers {
		all.Go(func() {
			tree, err := c.Tree(ctx, remote, "main", "")
			if err != nil || tree.Commit != first || string(tree.Files["a.txt"]) != "1" {
				t.Errorf("%+v, %v", tree, err)
			}
		})
	}
	all.Wait()
	if requests, packs := s.requests.Load(), s.packs.Load(); requests != readers+1 || packs != 1 {
		t.Errorf("%d requests, %d of them for a pack", requests, packs)
	}
}

// TestReadSeesThePushBeforeIt reads a branch while an older read of it is
// still under way.
func TestReadSeesThePushBeforeIt(t *testing.T) {
	s := newServer(t)
	remote, work := s.create("app")
	s.push(work, "main", "1")
	hold, entered := make(chan struct{}), make(chan struct{})
	var packs atomic.Int64
	s.put(func(w http.ResponseWriter, r *http.Request, backend http.Handler) {
		if isPack(r) && packs.Add(1) == 1 {
			close(entered)
			<-hold
		}
		backend.ServeHTTP(w, r)
	})
	c := gitclient.New(&http.Client{}, 1<<20)
	older := make(chan error, 1)
	go func() {
		_, err := c.Tree(ctx, remote, "main", "")
		older <- err
	}()
	<-entered
	second := s.push(work, "main", "2")
	tree, err := c.Tree(ctx, remote, "main", "")
	if err != nil || tree.Commit != second {
		t.Errorf("%+v, %v", tree, err)
	}
	close(hold)
	if err := <-older; err != nil {
		t.Error(err)
	}
}

// TestGivingUpFailsNobodyElse has the caller that a shared read began for go
// away.
func TestGivingUpFailsNobodyElse(t *testing.T) {
	s := newServer(t)
	remote, work := s.create("app")
	commit := s.push(work, "main", "1")
	hold, entered := make(chan struct{}), make(chan struct{})
	s.put(func(w http.ResponseWriter, r *http.Request, backend http.Handler) {
		if isPack(r) {
			close(entered)
			<-hold
		}
		backend.ServeHTTP(w, r)
	})
	c := gitclient.New(&http.Client{}, 1<<20)
	first, giveUp := context.WithCancel(ctx)
	errs := make(chan error, 2)
	go func() {
		_, err := c.Tree(first, remote, "main", commit)
		errs <- err
	}()
	<-entered
	giveUp()
	if err := <-errs; !errors.Is(err, context.Canceled) {
		t.Errorf("the one that gave up: %v", err)
	}
	go func() {
		_, err := c.Tree(ctx, remote, "main", commit)
		errs <- err
	}()
	close(hold)
	if err := <-errs; err != nil {
		t.Errorf("the other: %v", err)
	}
}

// cutter passes on so many bytes of a body.
type cutter struct {
	http.ResponseWriter
	left int
}

func (c *cutter) Write(p []byte) (int, error) {
	if len(p) > c.left {
		n, _ := c.ResponseWriter.Write(p[:c.left])
		c.left -= n
		panic(http.ErrAbortHandler)
	}
	c.left -= len(p)
	return c.ResponseWriter.Write(p)
}

// TestFault05HalfReadTree cuts the answer with the files at every length: the
// read fails, and never returns the part that came.
func TestFault05HalfReadTree(t *testing.T) {
	s := newServer(t)
	remote, work := s.create("app")
	for name := range map[string]string{"dir/b.txt": "", "dir/deep/c.txt": "", "z.txt": ""} {
		if err := errors.Join(os.MkdirAll(filepath.Join(work, filepath.Dir(name)), 0o755), os.WriteFile(filepath.Join(work, name), []byte(name), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	s.push(work, "main", "1")
	length := 0
	s.put(func(w http.ResponseWriter, r *http.Request, backend http.Handler) {
		if isPack(r) {
			w = &cutter{w, length}
		}
		backend.ServeHTTP(w, r)
	})
	c := gitclient.New(&http.Client{}, 1<<20)
	for failed := 0; ; length += 7 {
		tree, err := c.Tree(ctx, remote, "main", "")
		if err == nil {
			if len(tree.Files) != 4 {
				t.Errorf("%d bytes: files %v", length, tree.Files)
			}
			if failed < 20 {
				t.Errorf("only %d reads were cut", failed)
			}
			return
		}
		failed++
		if errors.Is(err, forge.ErrNotFound) {
			t.Errorf("%d bytes: a cut answer passes for absence: %v", length, err)
		}
	}
}

// TestBranchIsOverwrittenMeanwhile replaces the branch between the server's
// two answers. What it listed first it does not have any more.
func TestBranchIsOverwrittenMeanwhile(t *testing.T) {
	for name, test := range map[string]struct {
		times int64
		ok    bool
	}{"once": {1, true}, "again and again": {100, false}} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			remote, work := s.create("app")
			s.push(work, "main", "1")
			var packs atomic.Int64
			s.put(func(w http.ResponseWriter, r *http.Request, backend http.Handler) {
				if isPack(r) && packs.Add(1) <= test.times {
					s.git(work, "commit", "-q", "--amend", "--allow-empty", "-m", r.RemoteAddr+strings.Repeat("x", int(packs.Load())))
					s.git(work, "push", "-q", "-f", "origin", "HEAD:refs/heads/main")
				}
				backend.ServeHTTP(w, r)
			})
			tree, err := gitclient.New(&http.Client{}, 1<<20).Tree(ctx, remote, "main", "")
			if test.ok && (err != nil || tree.Commit != s.git(work, "rev-parse", "HEAD")) {
				t.Errorf("%+v, %v", tree, err)
			}
			if !test.ok && (err == nil || errors.Is(err, forge.ErrNotFound)) {
				t.Errorf("error %v: a branch that is there passes for absent", err)
			}
		})
	}
}

// TestOddNames reads files that some file system would not take.
func TestOddNames(t *testing.T) {
	s := newServer(t)
	remote, work := s.create("app")
	names := []string{"aux.yaml", "CON", "a\tb", "日本.yaml", "back\\slash", "trailing.", "C:", "-"}
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(work, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.push(work, "main", "1")
	tree, err := gitclient.New(&http.Client{}, 1<<20).Tree(ctx, remote, "main", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if string(tree.Files[name]) != name {
			t.Errorf("file %q is %q", name, tree.Files[name])
		}
	}
}

// TestLinksAreNoFiles reads links, which have names and no content.
func TestLinksAreNoFiles(t *testing.T) {
	s := newServer(t)
	remote, work := s.create("app")
	for link, target := range map[string]string{"z.yaml": "/etc/passwd", "folder": ".."} {
		if err := os.Symlink(target, filepath.Join(work, link)); err != nil {
			t.Fatal(err)
		}
	}
	s.push(work, "main", "1")
	tree, err := gitclient.New(&http.Client{}, 1<<20).Tree(ctx, remote, "main", "")
	if err != nil {
		t.Fatal(err)
	}
	want := []model.Skipped{{Path: "folder", What: model.SymbolicLink}, {Path: "z.yaml", What: model.SymbolicLink}}
	if _, read := tree.Files["z.yaml"]; read || !slices.Equal(tree.Skipped, want) {
		t.Errorf("links %v, read as files: %v, want %v", tree.Skipped, read, want)
	}
}

func TestErrorsAreTyped(t *testing.T) {
	s := newServer(t)
	remote, work := s.create("app")
	head := s.push(work, "main", "1")
	answer := func(code int) handler {
		return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { w.WriteHeader(code) }
	}
	hangUp := func(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }
	packOnly := func(do handler) handler {
		return func(w http.ResponseWriter, r *http.Request, backend http.Handler) {
			if r.Method == http.MethodPost {
				do(w, r, backend)
			} else {
				backend.ServeHTTP(w, r)
			}
		}
	}
	all := []error{gitclient.ErrDenied, gitclient.ErrNetwork, forge.ErrNotFound, forge.ErrMoved}
	for name, test := range map[string]struct {
		between handler
		want    error // of all; nil: none of them
	}{
		"401":                {answer(401), gitclient.ErrDenied},
		"403":                {answer(403), gitclient.ErrDenied},
		"404":                {answer(404), forge.ErrNotFound},
		"500":                {answer(500), nil},
		"503":                {answer(503), nil},
		"hangs up":           {hangUp, gitclient.ErrNetwork},
		"401 for the pack":   {packOnly(answer(401)), gitclient.ErrDenied},
		"500 for the pack":   {packOnly(answer(500)), nil},
		"hangs up then":      {packOnly(hangUp), gitclient.ErrNetwork},
		"no git server":      {answer(200), nil},
		"nothing for a pack": {packOnly(answer(200)), nil},
	} {
		s.put(test.between)
		c := gitclient.New(&http.Client{}, 1<<20)
		_, read := c.Tree(ctx, remote, "main", "")
		_, pinned := c.Tree(ctx, remote, "main", head)
		_, written := c.Commit(ctx, remote, forge.CommitRequest{Branch: "kalypso/dev", Parent: head, Changes: []forge.Change{{Path: "x", Content: []byte("x")}}})
		for _, err := range []error{read, pinned, written} {
			if err == nil {
				t.Errorf("%s: no error", name)
			}
			for _, kind := range all {
				if errors.Is(err, kind) != (kind == test.want) { //nolint:errorlint // the sentinels are compared
					t.Errorf("%s: %v is %v: %t", name, err, kind, errors.Is(err, kind))
				}
			}
		}
	}
	refused := gitclient.Remote{URL: "http://127.0.0.1:1/app.git"}
	if _, err := gitclient.New(&http.Client{}, 1).Head(ctx, refused, "main"); !errors.Is(err, gitclient.ErrNetwork) {
		t.Errorf("nobody there: %v", err)
	}
}
