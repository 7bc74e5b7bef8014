package gitclient_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
