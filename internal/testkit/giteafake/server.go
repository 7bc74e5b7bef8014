// Package giteafake is a Gitea in this process for tests: git over HTTP on real
// repositories in a temporary folder, and those parts of Gitea's API by which
// users and their workflows see what the scheduler does.
//
// What users and the scheduler do, a test does by changing a [Repository].
package giteafake

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"code.gitea.io/sdk/gitea"

	"github.com/kalypso-dev/kalypso/internal/testkit/gitkit"
	"github.com/kalypso-dev/kalypso/internal/testkit/httpfault"
)

// The account that may do everything; its token is its password for git.
const (
	User  = "platform"
	Token = "s3cret-t0ken"
)

// Server is a Gitea. Its lock is for tests that change repositories while
// requests come in.
type Server struct {
	sync.Mutex
	URL    string            // without a path; set by Start
	Root   string            // of the bare repositories, which are at Root/owner/name.git
	OnPush func(repo string) // is called with owner/name after a push over HTTP, unless it is nil

	tb     testing.TB
	mux    *http.ServeMux
	repos  map[string]*Repository // by owner/name
	faults httpfault.Faults[*http.Request]

	accounts map[string]*account // by user
	members  []string            // of teams
	secrets  map[string]string   // of the workflows of the organisation
	made     int                 // tokens
}

// Fault lets requests fail.
type Fault = httpfault.Fault[*http.Request]

// New returns a server that listens nowhere.
func New(tb testing.TB) *Server {
	s := &Server{tb: tb, Root: tb.TempDir(), mux: http.NewServeMux(), repos: map[string]*Repository{}}
	s.mux.Handle("/", s.serveGit(gitkit.Handler(tb, s.Root)))
	s.mux.HandleFunc("/api/", missing)
	s.routes()
	return s
}

// Start starts a server that ends with the test.
func Start(tb testing.TB) *Server {
	s := New(tb)
	server := httptest.NewServer(s)
	tb.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// Fail makes requests fail until the fault is used up.
func (s *Server) Fail(f Fault) { s.faults.Add(f) }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	if fault := s.faults.Next(q); fault != nil {
		fault.Serve(w, q, func() httpfault.Outcome {
			recorder := httptest.NewRecorder()
			s.mux.ServeHTTP(recorder, q)
			return httpfault.Outcome{Status: recorder.Code, Header: recorder.Header(), Body: recorder.Body.Bytes()}
		})
		return
	}
	s.mux.ServeHTTP(w, q)
}

func (s *Server) serveGit(backend http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, q *http.Request) {
		if _, password, _ := q.BasicAuth(); password != Token { // whatever the user, as Gitea does with a token
			w.Header().Set("WWW-Authenticate", "Basic")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, q)
		if repo, ok := strings.CutSuffix(q.URL.Path, "/git-receive-pack"); ok && s.OnPush != nil {
			s.OnPush(strings.Trim(strings.TrimSuffix(repo, ".git"), "/"))
		}
	}
}

// handle answers requests of the API about a repository that is there. The
// pattern is a method and what follows the repository's path.
func (s *Server) handle(pattern string, answer func(r *Repository, w http.ResponseWriter, q *http.Request)) {
	method, path, _ := strings.Cut(pattern, " ")
	s.mux.HandleFunc(method+" /api/v1/repos/{owner}/{repo}"+path, s.authorized(func(w http.ResponseWriter, q *http.Request) {
		r := s.repos[q.PathValue("owner")+"/"+q.PathValue("repo")]
		if r == nil {
			missing(w, q)
			return
		}
		answer(r, w, q)
	}))
}

func (s *Server) authorized(answer http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, q *http.Request) {
		s.Lock()
		defer s.Unlock()
		if kind, token, _ := strings.Cut(q.Header.Get("Authorization"), " "); token != Token || kind != "token" && kind != "Bearer" {
			http.Error(w, `{"message":"token is required"}`, http.StatusUnauthorized)
			return
		}
		answer(w, q)
	}
}

func missing(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, `{"message":"not found"}`, http.StatusNotFound)
}

func answer(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) }

// Page answers with one page of a list, as Gitea does.
func Page[T any](w http.ResponseWriter, q *http.Request, all []T) {
	size, _ := strconv.Atoi(q.URL.Query().Get("limit"))
	page, _ := strconv.Atoi(q.URL.Query().Get("page"))
	size, page = cmp.Or(size, 30), max(page, 1)
	from, to := min((page-1)*size, len(all)), min(page*size, len(all))
	if to < len(all) {
		w.Header().Set("Link", fmt.Sprintf(`<http://%s%s?limit=%d&page=%d>; rel="next"`, q.Host, q.URL.Path, size, page+1))
	}
	answer(w, slices.Concat([]T{}, all[from:to])) // a list that is empty is [], not null
}

// Repository is a repository with what Gitea keeps of it. The lists begin with
// what is oldest, the statuses of a commit with the latest.
type Repository struct {
	Dir      string // the bare repository
	Pulls    []*gitea.PullRequest
	Issues   []*gitea.Issue
	Statuses map[string][]*gitea.Status // by commit
	Reviews  map[int64][]*gitea.PullReview
	Runs     []*Run

	tb  testing.TB
	url string
}

// Run is a run of a workflow, of one job with one step.
type Run struct {
	gitea.ActionWorkflowRun
	Log string `json:"-"`
}

// Create makes an empty repository; name is owner/name.
func (s *Server) Create(name, branch string) *Repository {
	s.tb.Helper()
	r := &Repository{Dir: filepath.Join(s.Root, name+".git"), Statuses: map[string][]*gitea.Status{}, Reviews: map[int64][]*gitea.PullReview{}, tb: s.tb, url: s.URL + "/" + name}
	if err := os.MkdirAll(filepath.Dir(r.Dir), 0o755); err != nil {
		s.tb.Fatal(err)
	}
	gitkit.Run(s.tb, s.Root, "init", "--quiet", "--bare", "--initial-branch", branch, r.Dir)
	s.Lock()
	defer s.Unlock()
	s.repos[name] = r
	return r
}

// Git runs git in the bare repository.
func (r *Repository) Git(args ...string) string {
	r.tb.Helper()
	return gitkit.Run(r.tb, r.Dir, args...)
}

// Push brings a branch, by force, to a new commit on the default branch, which
// writes files.
func (r *Repository) Push(branch string, files map[string]string) (commit string) {
	r.tb.Helper()
	var stream strings.Builder
	fmt.Fprintf(&stream, "commit refs/heads/%s\ncommitter ann <ann@example.com> now\ndata 6\nchange\n", branch)
	if parent, err := gitkit.Git(r.Dir, "", "rev-parse", "--verify", "--quiet", "HEAD"); err == nil {
		fmt.Fprintf(&stream, "from %s\n", parent)
	}
	for path, content := range files {
		fmt.Fprintf(&stream, "M 100644 inline %s\ndata %d\n%s\n", path, len(content), content)
	}
	if _, err := gitkit.Git(r.Dir, stream.String(), "fast-import", "--quiet", "--force", "--date-format=now"); err != nil {
		r.tb.Fatal(err)
	}
	return r.Git("rev-parse", "refs/heads/"+branch)
}

// Open makes a pull request, or brings the open one of these branches to a new
// head.
func (r *Repository) Open(title, base, branch, head string) *gitea.PullRequest {
	for _, p := range r.Pulls {
		if p.State == gitea.StateOpen && p.Base.Name == base && p.Head.Name == branch {
			p.Head.Sha = head
			return p
		}
	}
	n := int64(len(r.Pulls) + 1)
	p := &gitea.PullRequest{
		Index: n, Title: title, State: gitea.StateOpen, HTMLURL: fmt.Sprintf("%s/pulls/%d", r.url, n),
		Base: &gitea.PRBranchInfo{Name: base, Ref: base}, Head: &gitea.PRBranchInfo{Name: branch, Ref: branch, Sha: head},
	}
	r.Pulls = append(r.Pulls, p)
	return p
}

// Merger is the account that has merged what is merged.
const Merger = "merger"

// Merge merges a pull request by bringing its base to its head.
func (r *Repository) Merge(p *gitea.PullRequest) {
	p.MergeBase = r.Git("merge-base", p.Base.Name, p.Head.Sha)
	r.Git("update-ref", "refs/heads/"+p.Base.Name, p.Head.Sha)
	p.State, p.HasMerged, p.MergedCommitID = gitea.StateClosed, true, &p.Head.Sha
}

// AddRun adds the run of a workflow, which is a file's name.
func (r *Repository) AddRun(file, commit, status, conclusion string) *Run {
	n := int64(len(r.Runs) + 1)
	run := &Run{ActionWorkflowRun: gitea.ActionWorkflowRun{
		ID: n, RunNumber: n, Path: file + "@refs/heads/main", HeadSha: commit, Status: status, Conclusion: conclusion,
		HTMLURL: fmt.Sprintf("%s/actions/runs/%d", r.url, n),
	}}
	r.Runs = append(r.Runs, run)
	return run
}
