// Package githubfake is a GitHub in this process for tests: its REST API, the
// little of its GraphQL API that the scheduler uses, and git over http, on the
// loopback interface. It keeps real repositories, so that a commit made by the
// API is the one that git fetches.
//
// It refuses what the documented API refuses, with the documented status and
// words, and it is stricter where GitHub lets things pass: a field that the
// documentation does not have is refused. Where a rule comes from is said where
// it is kept; "docs" stands for docs.github.com/rest.
//
// A test acts as people do by [Server.Push], [Server.Merge] and their like,
// sees what became of it by [Server.Files] and its like, and makes requests
// fail by [Server.Fail].
//
// What it does not have: forks, reviews, protected branches, permissions of an
// App one by one, and the delay after which GitHub's lists know of a change.
package githubfake

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/httpfault"
)

// Server is a GitHub.
type Server struct {
	URL string // the web root, under which clone URLs are; the API is at URL/api/v3

	root string // of the bare repositories
	mux  *http.ServeMux
	git  http.Handler

	mu      sync.Mutex
	users   map[string]*User // by login
	tokens  map[string]*grant
	apps    map[int64]*app
	orgs    map[string]bool
	plans   map[string]organisation
	renamed map[string]*repository // by their old names
	repos   map[string]*repository // by owner/name in lower case
	nextID  int64
	rate    rate
	calls   []Call
	faults  httpfault.Faults[Call]
	skew    time.Duration // how far this GitHub's clock is ahead
}

// TB is what a server needs of a *testing.T.
type TB interface {
	Helper()
	Skip(args ...any)
	TempDir() string
	Cleanup(do func())
}

// Start starts a GitHub that ends with the test. Without git the test is
// skipped.
func Start(tb TB) *Server {
	tb.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		tb.Skip("there is no git to keep repositories with")
	}
	s := &Server{
		root: tb.TempDir(), mux: http.NewServeMux(), users: map[string]*User{}, tokens: map[string]*grant{},
		apps: map[int64]*app{}, orgs: map[string]bool{}, plans: map[string]organisation{}, renamed: map[string]*repository{}, repos: map[string]*repository{}, nextID: 1000,
		rate: rate{limit: 5000, left: 5000},
	}
	s.git = gitBackend(s.root)
	s.routes()
	server := httptest.NewServer(s)
	tb.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// CloneURL is where a repository is cloned from.
func (s *Server) CloneURL(repo string) string { return s.URL + "/" + repo + ".git" }

// Org makes an organisation. Everybody is its member.
func (s *Server) Org(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.orgs[strings.ToLower(name)] = true
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	path, api := strings.CutPrefix(q.URL.Path, "/api/v3")
	switch {
	case q.URL.Path == "/api/graphql":
		s.serve(w, q, "/graphql", true)
	case api:
		s.serve(w, q, path, true)
	default:
		s.serve(w, q, q.URL.Path, false)
	}
}

// id returns a number that no other thing has. The caller holds s.mu.
func (s *Server) id() int64 {
	s.nextID++
	return s.nextID
}

func (s *Server) now() time.Time { return time.Now().Add(s.skew).UTC().Truncate(time.Second) }

// must ends a test that a mistake of its own has brought where it cannot go on.
func must[T any](v T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("githubfake: %v", err))
	}
	return v
}
