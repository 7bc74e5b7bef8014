package gitclient_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/testkit/gitkit"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
)

var ctx = context.Background()

// server serves bare repositories with git's own http backend.
type server struct {
	*testing.T
	root, url string
	requests  atomic.Int64
	packs     atomic.Int64 // of the requests those for a pack
	password  string       // asked for when set
	between   atomic.Pointer[handler]
}

// handler gets a request in place of git's backend.
type handler func(w http.ResponseWriter, r *http.Request, backend http.Handler)

// put puts a handler between the client and git's backend.
func (s *server) put(h handler) { s.between.Store(&h) }

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{T: t, root: t.TempDir()}
	backend := gitkit.Handler(t, s.root)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		if _, password, _ := r.BasicAuth(); password != s.password {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if strings.HasSuffix(r.URL.Path, "/git-upload-pack") {
			s.packs.Add(1)
		}
		if h := s.between.Load(); h != nil {
			(*h)(w, r, backend)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(h.Close)
	s.url = h.URL
	return s
}

// create makes a bare repository and a work tree that pushes to it.
func (s *server) create(name string) (remote gitclient.Remote, work string) {
	s.Helper()
	bare := filepath.Join(s.root, name+".git")
	s.git(s.root, "init", "-q", "--bare", "-b", "main", bare)
	work = s.TempDir()
	s.git(work, "init", "-q", "-b", "main")
	s.git(work, "remote", "add", "origin", bare)
	return gitclient.Remote{URL: s.url + "/" + name + ".git"}, work
}

func (s *server) git(dir string, args ...string) string {
	s.Helper()
	return gitkit.Run(s, dir, args...)
}

func (s *server) push(work, branch, content string) string {
	s.Helper()
	if err := os.WriteFile(filepath.Join(work, "a.txt"), []byte(content), 0o600); err != nil {
		s.Fatal(err)
	}
	s.git(work, "add", "-A")
	s.git(work, "commit", "-q", "--allow-empty", "-m", content)
	s.git(work, "push", "-q", "origin", "HEAD:refs/heads/"+branch)
	return s.git(work, "rev-parse", "HEAD")
}

func writeFile(t *testing.T, file, content string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(content), 0o600)); err != nil {
		t.Fatal(err)
	}
}
