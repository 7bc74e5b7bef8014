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
// A test acts as users do by [Server.Push], [Server.Merge] and their like,
// sees what became of it by [Server.Files] and its like, and makes requests
// fail by [Server.Fail].
//
// What it does not have: forks, branches that are protected one by one, and
// permissions of an App one by one.
package githubfake

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kalypso-dev/kalypso/internal/testkit/githubapi"
	"github.com/kalypso-dev/kalypso/internal/testkit/gitkit"
	"github.com/kalypso-dev/kalypso/internal/testkit/httpfault"
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
	orgs    map[string]*User // by name in lower case
	plans   map[string]organisation
	renamed map[string]*repository // by their old names
	repos   map[string]*repository // by owner/name in lower case
	nextID  int64
	rate    rate
	calls   []Call
	faults  httpfault.Faults[Call]
	started time.Time
	skew    time.Duration // how far this GitHub's clock is ahead
	hold    func(githubapi.Exchange)
	wrong   sync.Map // what hold has said
}

// TB is what a server needs of a *testing.T.
type TB interface {
	Helper()
	Skip(args ...any)
	Errorf(format string, args ...any)
	Fatal(args ...any)
	TempDir() string
	Cleanup(do func())
}

// Start starts a GitHub that ends with the test. Without git the test is
// skipped. A request that GitHub's description does not have, and an answer that
// GitHub would not give, fail the test.
func Start(tb TB) *Server {
	tb.Helper()
	description, err := githubapi.Load()
	if err != nil {
		tb.Fatal(err)
	}
	var s *Server
	s = &Server{
		root: tb.TempDir(), mux: http.NewServeMux(), users: map[string]*User{}, tokens: map[string]*grant{},
		apps: map[int64]*app{}, orgs: map[string]*User{}, plans: map[string]organisation{}, renamed: map[string]*repository{}, repos: map[string]*repository{}, nextID: 1000,
		rate: rate{limit: 5000, left: 5000}, started: time.Now(),
		hold: func(x githubapi.Exchange) {
			check := description.Check
			if strings.HasSuffix(x.URL.Path, "/graphql") {
				check = githubapi.CheckGraphQL
			}
			err := check(x)
			if _, said := s.wrong.LoadOrStore(fmt.Sprint(err), true); err != nil && !said {
				tb.Errorf("%v", err)
			}
		},
	}
	s.git = gitkit.Handler(tb, s.root)
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
	s.org(name)
}

// org returns the account of an organisation, and makes it when it is missing.
func (s *Server) org(name string) *User {
	key := strings.ToLower(name)
	if s.orgs[key] == nil {
		s.orgs[key] = &User{Login: name, id: s.id(), organisation: true}
	}
	return s.orgs[key]
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

// serve answers a request, unless a fault does.
func (s *Server) serve(w http.ResponseWriter, q *http.Request, path string, api bool) {
	body, _ := io.ReadAll(q.Body)
	q.Body = io.NopCloser(bytes.NewReader(body))
	note := Call{API: api, Path: path, Kind: gitKind(q)}
	if api {
		q = q.Clone(q.Context())
		q.URL.Path, q.URL.RawPath = path, strings.TrimPrefix(q.URL.RawPath, "/api/v3")
		if q.URL.RawPath == "" {
			q.URL.RawPath = (&url.URL{Path: path}).EscapedPath()
		}
		_, note.Kind = s.mux.Handler(q)
		if note.Kind == "" {
			note.Kind = q.Method + " " + path
		}
	}
	fault := s.faults.Next(note)
	run := func() httpfault.Outcome {
		if !api {
			return s.serveGit(q)
		}
		return s.serveAPI(q)
	}
	if fault == nil {
		o := run()
		if api {
			s.hold(githubapi.Exchange{Method: q.Method, URL: q.URL, Header: q.Header, Body: body, Status: o.Status, AnswerHeader: o.Header, Answer: o.Body})
		}
		note.Status = o.Status
		s.note(note)
		o.Write(w)
		return
	}
	s.note(note)
	fault.Serve(w, q, run)
}

func (s *Server) note(c Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, c)
}

// serveAPI answers an API request and counts it, unless nothing has changed
// since it was asked last (docs: using-the-rest-api/best-practices-for-using-
// the-rest-api).
func (s *Server) serveAPI(q *http.Request) httpfault.Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := httptest.NewRecorder()
	if v := q.Header.Get("X-GitHub-Api-Version"); v != "" && !slices.Contains([]string{"2022-11-28", "2026-03-10"}, v) {
		write(w, q, nil, refuse(http.StatusBadRequest, fmt.Sprintf("The API version %q is not supported", v)))
	} else if q.Header.Get("User-Agent") == "" {
		write(w, q, nil, refuse(http.StatusForbidden, "Request forbidden by administrative rules. Please make sure your request has a User-Agent header"))
	} else if s.rate.left <= 0 && s.now().Before(s.rate.reset) {
		write(w, q, nil, refuse(http.StatusForbidden, "API rate limit exceeded for user ID 1."))
	} else if _, pattern := s.mux.Handler(q); pattern == "" {
		write(w, q, nil, notFound())
	} else {
		s.mux.ServeHTTP(w, q)
	}
	o := httpfault.Outcome{Status: w.Code, Header: w.Header(), Body: w.Body.Bytes()}
	if q.Method == http.MethodGet && o.Status == http.StatusOK {
		sum := sha256.Sum256(append([]byte(o.Header.Get("Link")), o.Body...))
		etag := `W/"` + hex.EncodeToString(sum[:]) + `"`
		o.Header.Set("ETag", etag)
		if q.Header.Get("If-None-Match") == etag {
			o.Status, o.Body = http.StatusNotModified, nil
			o.Header.Del("Content-Type")
		}
	}
	if !s.now().Before(s.rate.reset) {
		s.rate.reset = s.now().Add(time.Hour)
		s.rate.left = max(s.rate.left, s.rate.limit)
	}
	if o.Status != http.StatusNotModified && s.rate.left > 0 {
		s.rate.left--
	}
	s.limits(o.Header)
	return o
}

func (s *Server) limits(h http.Header) {
	h.Set("Date", s.now().Format(http.TimeFormat))
	h.Set("X-RateLimit-Limit", strconv.Itoa(s.rate.limit))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(s.rate.left))
	h.Set("X-RateLimit-Reset", strconv.FormatInt(s.rate.reset.Unix(), 10))
	h.Set("X-RateLimit-Resource", "core")
}

// Call is a request that was made.
type Call struct {
	API    bool
	Kind   string // the method and the route, as in "GET /repos/{owner}/{repo}/pulls"; of git "fetch", "push" or "refs"
	Path   string
	Status int // 0 when there was no whole answer
}

// Write reports whether a request may change something.
func (c Call) Write() bool {
	return !strings.HasPrefix(c.Kind, "GET ") && c.Kind != "fetch" && c.Kind != "refs"
}

// Calls returns the requests since the last Calls.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.calls
	s.calls = nil
	return calls
}

// Count counts the requests of each kind, API requests alone.
func Count(calls []Call) (byKind map[string]int, all int) {
	byKind = map[string]int{}
	for _, c := range calls {
		if c.API {
			byKind[c.Kind]++
			all++
		}
	}
	return byKind, all
}

// rate is the primary rate limit.
type rate struct {
	limit, left int
	reset       time.Time
}

// SetRate says how many requests an account has left until a time.
func (s *Server) SetRate(left int, reset time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rate.left, s.rate.reset = left, reset
}

// Fault makes requests fail. Its zero value but for Answer hits the next API
// request.
type Fault = httpfault.Fault[Call]

// Answer is what a request gets instead of its answer.
type Answer = httpfault.Answer

// Outcome is an answer on its way out.
type Outcome = httpfault.Outcome

// Fail makes requests fail until the fault is used up. It returns what ends it.
func (s *Server) Fail(f Fault) (end func()) {
	if f.On == nil {
		f.On = func(c Call) bool { return c.API }
	}
	return s.faults.Add(f)
}

// Kinds matches requests of the API by the beginning of their kind, or of git
// by their kind.
func Kinds(kinds ...string) func(Call) bool {
	return func(c Call) bool {
		for _, k := range kinds {
			if strings.HasPrefix(c.Kind, k) {
				return true
			}
		}
		return false
	}
}

// Status answers with a status and GitHub's words.
func Status(code int, message string, header ...string) Answer {
	return httpfault.Text(code, "application/json; charset=utf-8", string(must(json.Marshal(refuse(code, message).body()))), header...)
}

// PrimaryLimit says that the budget is used up until a time (docs: using-the-
// rest-api/rate-limits-for-the-rest-api, "Exceeding the rate limit").
func PrimaryLimit(reset time.Time) Answer {
	return Status(http.StatusForbidden, "API rate limit exceeded for user ID 1.",
		"X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", "0", "X-RateLimit-Resource", "core",
		"X-RateLimit-Reset", strconv.FormatInt(reset.Unix(), 10))
}

// SecondaryLimit says that requests come too fast. Without seconds it does not
// say for how long.
func SecondaryLimit(seconds int) Answer {
	header := []string{"X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", "4000"}
	if seconds > 0 {
		header = append(header, "Retry-After", strconv.Itoa(seconds))
	}
	return Status(http.StatusForbidden, "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.", header...)
}

// GraphQL answers as the GraphQL API does where it refuses or fails: with status
// 200. Where a service behind it fails, the error has no kind.
func GraphQL(kind, message string, header ...string) Answer {
	e := object{"message": message}
	if kind != "" {
		e["type"] = kind
	}
	return httpfault.Text(http.StatusOK, "application/json; charset=utf-8",
		string(must(json.Marshal(object{"data": nil, "errors": []object{e}}))), header...)
}

// BadGateway answers as the proxies before GitHub do, not in JSON.
func BadGateway() Answer {
	return httpfault.Text(http.StatusBadGateway, "text/html", "<html><title>Unicorn!</title></html>")
}

// Reset breaks the connection without an answer.
func Reset() Answer { return httpfault.Reset() }

// Half carries the request out, answers with half of the answer and breaks the
// connection.
func Half() Answer { return httpfault.Half() }

// Slow carries the request out and lets its answer trickle for a while.
func Slow(d time.Duration) Answer { return httpfault.Slow(d) }
