package gitea_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/kalypso-dev/kalypso/internal/testkit/giteafake"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitea"
)

// api is as much of Gitea's API as these tests ask for, where no server is
// needed to know what it answers.
type api struct {
	*testing.T
	forge    *gitea.Forge
	mu       sync.Mutex
	requests []string
}

func newAPI(t *testing.T, answer http.HandlerFunc) *api {
	a := &api{T: t}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		a.requests = append(a.requests, r.Method+" "+r.URL.Path)
		a.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	var err error
	if a.forge, err = gitea.New(gitea.Options{URL: server.URL, Token: "t", User: "bot"}); err != nil {
		t.Fatal(err)
	}
	return a
}

// made returns the requests since it was called last.
func (a *api) made() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	made := a.requests
	a.requests = nil
	return made
}

func user(name string) *sdk.User { return &sdk.User{UserName: name} }

// TestIssuesOfAllPages lists more than a page, with users' among them.
func TestIssuesOfAllPages(t *testing.T) {
	var all []*sdk.Issue
	for i := 130; i > 0; i-- {
		issue := &sdk.Issue{Index: int64(i), State: sdk.StateOpen, Poster: user("Bot")}
		switch {
		case i%13 == 0:
			issue.Poster = user("ann")
		case i%17 == 0:
			issue.Poster = nil // the account is gone
		case i%19 == 0:
			issue.PullRequest = &sdk.PullRequestMeta{}
		}
		all = append(all, issue)
	}
	a := newAPI(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("state") != "all" {
			t.Errorf("query %s", r.URL.RawQuery)
		}
		giteafake.Page(w, r, all)
	})
	list, err := a.forge.Issues(ctx, "acme/gitops")
	if err != nil {
		t.Fatal(err)
	}
	if want := 130 - 130/13 - 130/17 - 130/19; len(list) != want {
		t.Errorf("%d issues, want %d", len(list), want)
	}
	if !slices.IsSortedFunc(list, func(a, b forge.Issue) int { return b.Number - a.Number }) {
		t.Error("the newest is not first")
	}
	if n := len(a.made()); n != 3 {
		t.Errorf("%d requests", n)
	}
}

// TestPullRequestsEndAtTheNewest looks no further into the past than needed,
// and at all that are open.
func TestPullRequestsEndAtTheNewest(t *testing.T) {
	pull := func(i int, author, head string, state sdk.StateType) *sdk.PullRequest {
		return &sdk.PullRequest{
			Index: int64(i), State: state, Poster: user(author),
			Head: &sdk.PRBranchInfo{Ref: head, Name: head, RepoID: 1}, Base: &sdk.PRBranchInfo{Ref: "dev", RepoID: 1},
		}
	}
	lists := map[string][]*sdk.PullRequest{}
	for i := 1000; i > 800; i-- {
		lists["open"] = append(lists["open"], pull(i, "ann", "feature", sdk.StateOpen))
	}
	for i := 800; i > 0; i-- {
		author, head := "ann", "kalypso/dev"
		if i%70 == 0 {
			author = "bot"
		}
		if i == 780 {
			author, head = "bot", "kalypso/stage"
		}
		lists["closed"] = append(lists["closed"], pull(i, author, head, sdk.StateClosed))
	}
	lists["open"][120].Head.Name = "kalypso/dev"
	fork := *lists["open"][121]
	fork.Head = &sdk.PRBranchInfo{Ref: "kalypso/dev", Name: "kalypso/dev", RepoID: 2}
	lists["open"][121] = &fork
	a := newAPI(t, func(w http.ResponseWriter, r *http.Request) { giteafake.Page(w, r, lists[r.URL.Query().Get("state")]) })
	list, err := a.forge.PullRequests(ctx, "acme/gitops", "kalypso/dev", "dev")
	if err != nil {
		t.Fatal(err)
	}
	if list[0].Number != 880 || list[0].Own || list[1].State != forge.Closed {
		t.Errorf("newest first: %+v", list[:2])
	}
	newest := slices.IndexFunc(list, func(p forge.PullRequest) bool { return p.Own })
	if newest < 0 || list[newest].Number != 770 {
		t.Errorf("the newest of the account's is at %d", newest)
	}
	if n := len(a.made()); n != 4+4 {
		t.Errorf("%d requests, want all pages of the open ones, and of the closed those to the newest of the account's", n)
	}
}

// TestErrorsAreTyped has every method answered in every way.
func TestErrorsAreTyped(t *testing.T) {
	calls := map[string]func(*gitea.Forge) error{
		"Issues":       func(f *gitea.Forge) error { _, err := f.Issues(ctx, "a/b"); return err },
		"SaveIssue":    func(f *gitea.Forge) error { _, err := f.SaveIssue(ctx, "a/b", forge.Issue{Number: 1}); return err },
		"open issue":   func(f *gitea.Forge) error { _, err := f.SaveIssue(ctx, "a/b", forge.Issue{Title: "t"}); return err },
		"PullRequests": func(f *gitea.Forge) error { _, err := f.PullRequests(ctx, "a/b", "x", "y"); return err },
		"SavePullRequest": func(f *gitea.Forge) error {
			_, err := f.SavePullRequest(ctx, "a/b", forge.PullRequest{Number: 1})
			return err
		},
		"Comment":   func(f *gitea.Forge) error { return f.Comment(ctx, "a/b", 1, "x") },
		"Statuses":  func(f *gitea.Forge) error { _, err := f.Statuses(ctx, "a/b", "c"); return err },
		"SetStatus": func(f *gitea.Forge) error { return f.SetStatus(ctx, "a/b", "c", forge.Status{}) },
	}
	code := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = w.Write([]byte(`{"message": "no"}`))
		}
	}
	all := []error{gitclient.ErrDenied, gitclient.ErrNetwork, forge.ErrNotFound}
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		want   error // of all; nil: none of them
	}{
		"401":      {code(401), gitclient.ErrDenied},
		"403":      {code(403), gitclient.ErrDenied},
		"404":      {code(404), forge.ErrNotFound},
		"409":      {code(409), nil},
		"500":      {code(500), nil},
		"503":      {code(503), nil},
		"hangs up": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, gitclient.ErrNetwork},
	} {
		a := newAPI(t, test.answer)
		for method, call := range calls {
			err := call(a.forge)
			if err == nil {
				t.Errorf("%s, %s: no error", name, method)
			}
			for _, kind := range all {
				if errors.Is(err, kind) != (kind == test.want) { //nolint:errorlint // the sentinels are compared
					t.Errorf("%s, %s: %v is %v: %t", name, method, err, kind, errors.Is(err, kind))
				}
			}
		}
	}
}

// TestRequestsPerCall counts what each call costs, so that it cannot grow
// unnoticed.
func TestRequestsPerCall(t *testing.T) {
	label := &sdk.Label{ID: 7, Name: forge.LabelPromoted}
	a := newAPI(t, func(w http.ResponseWriter, r *http.Request) {
		var answer any
		switch r.Method + " " + r.URL.Path {
		case "GET /api/v1/repos/a/b/issues", "GET /api/v1/repos/a/b/pulls", "GET /api/v1/repos/a/b/issues/1/comments", "GET /api/v1/repos/a/b/commits/c/statuses":
			answer = []int{}
		case "GET /api/v1/repos/a/b/labels", "GET /api/v1/repos/a/b/issues/1/labels", "POST /api/v1/repos/a/b/issues/1/labels":
			answer = []*sdk.Label{label}
		default:
			answer = struct{}{}
		}
		_ = json.NewEncoder(w).Encode(answer)
	})
	for name, test := range map[string]struct {
		call func() error
		want int
	}{
		"Issues":                  {func() error { _, err := a.forge.Issues(ctx, "a/b"); return err }, 1},
		"open an issue":           {func() error { _, err := a.forge.SaveIssue(ctx, "a/b", forge.Issue{Title: "t"}); return err }, 1},
		"save an issue":           {func() error { _, err := a.forge.SaveIssue(ctx, "a/b", forge.Issue{Number: 1}); return err }, 1},
		"PullRequests":            {func() error { _, err := a.forge.PullRequests(ctx, "a/b", "x", "y"); return err }, 2},
		"open a pull request":     {func() error { _, err := a.forge.SavePullRequest(ctx, "a/b", forge.PullRequest{}); return err }, 1},
		"open one with a label":   {func() error { return save(a.forge, 0, forge.LabelPromoted) }, 2},
		"save a pull request":     {func() error { return save(a.forge, 1, forge.LabelPromoted) }, 2},
		"save and take a label":   {func() error { return save(a.forge, 1) }, 4},
		"save and make a label":   {func() error { return save(a.forge, 1, forge.LabelPromoted, forge.LabelMassDelete) }, 6},
		"Comment":                 {func() error { return a.forge.Comment(ctx, "a/b", 1, "x") }, 2},
		"Statuses":                {func() error { _, err := a.forge.Statuses(ctx, "a/b", "c"); return err }, 1},
		"SetStatus":               {func() error { return a.forge.SetStatus(ctx, "a/b", "c", forge.Status{}) }, 1},
		"Repo, which asks no one": {func() error { _, _ = a.forge.Repo("http://x/a/b"); return nil }, 0},
	} {
		if err := test.call(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if made := a.made(); len(made) != test.want {
			t.Errorf("%s makes %d requests, want %d: %q", name, len(made), test.want, made)
		}
	}
}

func save(f *gitea.Forge, number int, labels ...string) error {
	_, err := f.SavePullRequest(ctx, "a/b", forge.PullRequest{Number: number, Labels: labels})
	return err
}
