package github_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/internal/testkit/githubfake"
	"github.com/kalypso-dev/kalypso/internal/testkit/httpfault"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
	"github.com/kalypso-dev/kalypso/scheduler/forge/github"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

func TestApp(t *testing.T) {
	w := newFixture(t)
	w.Push("acme/gitops", "dev", map[string]string{"a": "b"})
	key := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(key, w.App("kalypso", 7, 99), 0o600); err != nil {
		t.Fatal(err)
	}
	f := w.connect(t, github.Options{App: &github.App{ID: 7, Installation: 99, KeyFile: key}})
	i, err := f.SaveIssue(t.Context(), "acme/gitops", forge.Issue{Title: "t"})
	if err != nil || i.Author != "kalypso[bot]" {
		t.Fatalf("%+v, %v", i, err)
	}
	if l, err := f.Issues(t.Context(), "acme/gitops"); err != nil || len(l) != 1 {
		t.Errorf("issues %+v, %v", l, err)
	}
	if tree, err := f.Read(t.Context(), model.Reference{Repo: w.CloneURL("acme/gitops"), Branch: "dev"}); err != nil || string(tree.Files["a"]) != "b" {
		t.Errorf("by git: %v, %v", tree, err)
	}
	if kinds, _ := githubfake.Count(w.Calls()); kinds["POST /app/installations/{id}/access_tokens"] != 1 || kinds["GET /app"] != 1 {
		t.Errorf("requests %v", kinds)
	}
	other := filepath.Join(t.TempDir(), "other.pem")
	if err := os.WriteFile(other, w.App("other", 8, 100), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, app := range map[string]github.App{
		"refuses App 7's key":    {ID: 7, Installation: 99, KeyFile: other},
		"has no installation 98": {ID: 7, Installation: 98, KeyFile: key},
		"refuses App 70's key":   {ID: 70, Installation: 99, KeyFile: key},
	} {
		f := w.connect(t, github.Options{App: &app})
		if _, err := f.Issues(t.Context(), "acme/gitops"); !errors.Is(err, gitclient.ErrDenied) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
		if _, err := f.Read(t.Context(), model.Reference{Repo: w.CloneURL("acme/gitops"), Branch: "dev"}); !errors.Is(err, gitclient.ErrDenied) {
			t.Errorf("by git: %v", err)
		}
	}
}

func TestNewSaysWhatIsWrong(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(secret, []byte("s3cret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, o := range map[string]github.Options{
		"no token and no App":   {},
		"choose one":            {Token: "t", App: &github.App{}},
		"an App needs its ID":   {App: &github.App{ID: 1}},
		"no RSA key in PEM":     {App: &github.App{ID: 1, Installation: 1, KeyFile: secret}},
		"private key of App 1":  {App: &github.App{ID: 1, Installation: 1, KeyFile: secret + "-none"}},
		"URL is not an http":    {URL: "github.com", Token: "t"},
		"holds credentials":     {URL: "https://x:s3cret@github.com", Token: "t"},
		"API URL is not an htt": {API: "x", Token: "t"},
	} {
		_, err := github.New(o)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestURLs(t *testing.T) {
	for web, want := range map[string][2]string{
		"https://github.com":           {"https://api.github.com", "https://api.github.com/graphql"},
		"https://acme.ghe.com":         {"https://api.acme.ghe.com", "https://api.acme.ghe.com/graphql"},
		"https://git.example.com":      {"https://git.example.com/api/v3", "https://git.example.com/api/graphql"},
		"http://127.0.0.1:8080/github": {"http://127.0.0.1:8080/github/api/v3", "http://127.0.0.1:8080/github/api/graphql"},
	} {
		f, err := github.New(github.Options{URL: web + "/", Token: "t"})
		if err != nil {
			t.Fatal(err)
		}
		if api, graphQL := f.Addresses(); api != want[0] || graphQL != want[1] {
			t.Errorf("%s: %s, %s", web, api, graphQL)
		}
		for clone, want := range map[string]string{
			web + "/acme/app":            "acme/app",
			web + "/acme/app.git":        "acme/app",
			web + "/acme/app/":           "acme/app",
			web + "/acme":                "",
			web + "/acme/app/x":          "",
			"https://x.example/a/b":      "",
			"git@github.com:acme/app":    "",
			web + "/acme/app?x=y":        "acme/app",
			web + "/../acme%2f/app":      "",
			"https://www.github.com/a/b": map[bool]string{true: "a/b"}[web == "https://github.com"],
		} {
			if got, ok := f.Repo(clone); got != want || ok != (want != "") {
				t.Errorf("%s: %q, %t, want %q", clone, got, ok, want)
			}
		}
		at := model.Position{Repo: web + "/acme/app.git", Branch: "feature/x", File: "a dir/b.yaml", Line: 3}
		if got, ok := f.FileURL(at); got != web+"/acme/app/blob/feature/x/a%20dir/b.yaml#L3" || !ok {
			t.Errorf("%s: file %q, %t", web, got, ok)
		}
	}
}

// TestTokenStaysHome follows a redirect to another server without the token.
func TestTokenStaysHome(t *testing.T) {
	asked := 0
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		asked++
		if q.Header.Get("Authorization") != "" {
			t.Error("the token went to another server")
		}
		_, _ = w.Write([]byte("[]"))
	}))
	defer elsewhere.Close()
	home := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Header.Get("Authorization") != "Bearer t0ken" || q.Header.Get("X-GitHub-Api-Version") == "" {
			t.Errorf("headers %v", q.Header)
		}
		http.Redirect(w, q, elsewhere.URL, http.StatusFound)
	}))
	defer home.Close()
	f, err := github.New(github.Options{URL: home.URL, Token: "t0ken", User: "me"})
	if err != nil {
		t.Fatal(err)
	}
	if l, err := f.Issues(t.Context(), "a/b"); err != nil || len(l) != 0 || asked != 1 {
		t.Errorf("%v, %v, asked %d times", l, err, asked)
	}
	if text := fmt.Sprintf("%v %+v %#v", f, f, github.Options{URL: "x"}); strings.Contains(text, "t0ken") {
		t.Error("a printed forge shows its token")
	}
}

// TestNoDrafts wants a draft where there are none. That its title says so would
// keep nobody from merging it.
func TestNoDrafts(t *testing.T) {
	w := newFixture(t)
	w.Server.Repo("acme/gitops", githubfake.NoDrafts)
	base := w.Push("acme/gitops", "dev", map[string]string{"a": "b"})
	if _, err := w.forge.Commit(t.Context(), "acme/gitops", forge.CommitRequest{
		Branch: "kalypso/dev", Parent: base, Message: "m", Changes: []forge.Change{{Path: "x", Content: []byte("x")}},
	}); err != nil {
		t.Fatal(err)
	}
	want := forge.PullRequest{Title: "t", Head: "kalypso/dev", Base: "dev", State: forge.Open, Draft: true}
	if pr, err := w.forge.SavePullRequest(t.Context(), "acme/gitops", want); !errors.Is(err, forge.ErrNoDrafts) || len(w.Pulls("acme/gitops")) != 0 {
		t.Errorf("opened %+v, %v", pr, err)
	}
	want.Draft = false
	want, err := w.forge.SavePullRequest(t.Context(), "acme/gitops", want)
	if err != nil {
		t.Fatal(err)
	}
	want.Draft = true
	if pr, err := w.forge.SavePullRequest(t.Context(), "acme/gitops", want); !errors.Is(err, forge.ErrNotDraft) || pr.Draft || pr.Number != want.Number {
		t.Errorf("saved %+v, %v", pr, err)
	}
	if list, err := w.forge.PullRequests(t.Context(), "acme/gitops", "kalypso/dev", "dev"); err != nil || len(list) != 1 || list[0].Draft || list[0].Title != "t" {
		t.Errorf("listed %+v, %v", list, err)
	}
}

// graphErrors are what the GraphQL API answers with status 200.
var graphErrors = []struct {
	name   string
	answer githubfake.Answer
	means  error // that the pull request cannot be made a draft, or nothing
	denied bool
	waits  bool // for a limit, and is made again
}{
	{"rate limited", githubfake.GraphQL("RATE_LIMITED", "API rate limit exceeded for user ID 1."), nil, false, true},
	{"rate limit", githubfake.GraphQL("RATE_LIMIT", "API rate limit already exceeded for user ID 1."), nil, false, true},
	{"secondary limit", githubfake.GraphQL("", "You have exceeded a secondary rate limit. Please wait.", "Retry-After", "7"), nil, false, true},
	{"an App that may not", githubfake.GraphQL("FORBIDDEN", "Resource not accessible by integration"), forge.ErrNotDraft, true, false},
	{"a token that may not", githubfake.GraphQL("INSUFFICIENT_SCOPES", "Your token has not been granted the required scopes."), forge.ErrNotDraft, true, false},
	{"not found", githubfake.GraphQL("NOT_FOUND", "Could not resolve to a node with the global id of 'x'."), forge.ErrNotDraft, false, false},
	{"unprocessable", githubfake.GraphQL("UNPROCESSABLE", "Draft pull requests are not supported."), forge.ErrNotDraft, false, false},
	{"something went wrong", githubfake.GraphQL("", "Something went wrong while executing your query."), nil, false, false},
	{"no data", httpfault.Text(http.StatusOK, "application/json", `{"data":{"done":null}}`), nil, false, false},
	{"not done", notDone, nil, false, false},
}

// notDone answers that the pull request is what it was.
func notDone(w http.ResponseWriter, q *http.Request, run func() githubfake.Outcome) {
	query, _ := io.ReadAll(q.Body)
	draft := !strings.Contains(string(query), "convertPullRequestToDraft")
	httpfault.Text(http.StatusOK, "application/json", fmt.Sprintf(`{"data":{"done":{"pullRequest":{"isDraft":%t}}}}`, draft))(w, q, run)
}

func TestGraphQLErrors(t *testing.T) {
	for _, test := range graphErrors {
		t.Run(test.name, func(t *testing.T) {
			w := newFixture(t)
			base := w.Push("acme/gitops", "dev", map[string]string{"a": "b"})
			if _, err := w.forge.Commit(t.Context(), "acme/gitops", forge.CommitRequest{
				Branch: "kalypso/dev", Parent: base, Message: "m", Changes: []forge.Change{{Path: "x", Content: []byte("x")}},
			}); err != nil {
				t.Fatal(err)
			}
			pr, err := w.forge.SavePullRequest(t.Context(), "acme/gitops", forge.PullRequest{Title: "t", Head: "kalypso/dev", Base: "dev", State: forge.Open})
			if err != nil {
				t.Fatal(err)
			}
			waits := 0
			w.forge.Impatient(func(time.Duration) { waits++ })
			w.Fail(githubfake.Fault{On: githubfake.Kinds("POST /graphql"), Answer: test.answer})
			pr.Draft = true
			saved, err := w.forge.SavePullRequest(t.Context(), "acme/gitops", pr)
			if test.waits {
				if err != nil || !saved.Draft || waits == 0 {
					t.Errorf("%+v, %v after %d waits", saved, err, waits)
				}
				return
			}
			if err == nil || saved.Draft || saved.Number != pr.Number || errors.Is(err, forge.ErrNotDraft) != (test.means != nil) || errors.Is(err, forge.ErrNoDrafts) ||
				errors.Is(err, gitclient.ErrDenied) != test.denied {
				t.Fatalf("saved %+v, %v", saved, err)
			}
			useful(t, w.bot.Token, err)
			if p := w.Pulls("acme/gitops")[0]; p.Draft || p.Title != "t" {
				t.Errorf("%+v", p)
			}
			if saved, err = w.forge.SavePullRequest(t.Context(), "acme/gitops", pr); err != nil || !saved.Draft || !w.Pulls("acme/gitops")[0].Draft {
				t.Errorf("tried again: %+v, %v", saved, err)
			}
		})
	}
}

// TestMergedMeanwhile gives a new text to a pull request that a user has
// merged since it was seen.
func TestMergedMeanwhile(t *testing.T) {
	w := newFixture(t)
	head := w.Push("acme/gitops", "dev", map[string]string{"a": "b"})
	_, err := w.forge.Commit(t.Context(), "acme/gitops", forge.CommitRequest{
		Branch: "kalypso/dev", Parent: head, Message: "m", When: time.Unix(1, 0), Changes: []forge.Change{{Path: "b", Content: []byte("c")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	pr, err := w.forge.SavePullRequest(t.Context(), "acme/gitops", forge.PullRequest{Title: "t", Head: "kalypso/dev", Base: "dev"})
	if err != nil {
		t.Fatal(err)
	}
	w.Merge("acme/gitops", pr.Number)
	pr.Title = "new"
	saved, err := w.forge.SavePullRequest(t.Context(), "acme/gitops", pr)
	if err != nil || saved.State != forge.Merged || saved.Title != "new" {
		t.Errorf("%+v, %v", saved, err)
	}
}

// TestIssuesAskForNewsOnly lists hundreds of issues by one request that costs
// nothing, and sees what users do.
func TestIssuesAskForNewsOnly(t *testing.T) {
	w := newFixture(t)
	w.Push("acme/gitops", "dev", map[string]string{"a": "b"})
	for n := range 250 {
		w.Server.OpenIssue(w.bot, "acme/gitops", fmt.Sprint(n+1), "")
	}
	w.Server.OpenIssue(w.ann, "acme/gitops", "theirs", "")
	list := func(want int, requests int) []forge.Issue {
		t.Helper()
		w.Calls()
		l, err := w.forge.Issues(t.Context(), "acme/gitops")
		_, n := githubfake.Count(w.Calls())
		if err != nil || len(l) != want || n != requests {
			t.Fatalf("%d issues by %d requests, %v", len(l), n, err)
		}
		return l
	}
	list(250, 4) // and the account
	w.forge.Later(2 * time.Minute)
	w.Skew(2 * time.Minute)
	list(250, 3) // everything is of this minute still
	w.Skew(4 * time.Minute)
	list(250, 1)
	list(250, 1)
	free := w.forge.Budget().Unchanged
	list(250, 1)
	if w.forge.Budget().Unchanged != free+1 {
		t.Error("a list without news cost something")
	}
	w.Server.Close("acme/gitops", 3)
	w.Server.OpenIssue(w.bot, "acme/gitops", "new", "")
	l := list(251, 1)
	if l[0].Title != "new" || l[248].State != forge.Closed || l[248].Number != 3 {
		t.Errorf("newest %+v, third %+v", l[0], l[248])
	}
}

// TestManyPullRequests finds the open one behind pages of closed ones.
func TestManyPullRequests(t *testing.T) {
	w := newFixture(t)
	w.Push("acme/gitops", "dev", map[string]string{"a": "b"})
	w.Push("acme/gitops", "kalypso/dev", map[string]string{"c": "d"})
	for range 70 {
		w.Server.Close("acme/gitops", w.Server.OpenPull(w.ann, "acme/gitops", "t", "kalypso/dev", "dev"))
	}
	w.Server.Reopen("acme/gitops", 2)
	w.Server.Close("acme/gitops", w.Server.OpenPull(w.bot, "acme/gitops", "t", "kalypso/dev", "dev"))
	l, err := w.forge.PullRequests(t.Context(), "acme/gitops", "kalypso/dev", "dev")
	if err != nil || !slices.ContainsFunc(l, func(p forge.PullRequest) bool { return p.Number == 2 && p.State == forge.Open }) || !l[0].Own || l[0].Number != 71 {
		t.Errorf("%d pull requests, %v", len(l), err)
	}
}

func TestManyComments(t *testing.T) {
	w := newFixture(t)
	w.Push("acme/gitops", "dev", map[string]string{"a": "b"})
	n := w.Server.OpenIssue(w.bot, "acme/gitops", "t", "")
	for i := range 350 {
		author := w.ann
		if i == 10 || i == 150 {
			author = w.bot
		}
		w.Server.Comment(author, "acme/gitops", n, fmt.Sprint(i))
	}
	for _, test := range []struct {
		text string
		want int
	}{{"150", 350}, {"10", 351}} {
		if err := w.forge.Comment(t.Context(), "acme/gitops", n, test.text); err != nil {
			t.Error(err)
		}
		if got := len(w.Server.Comments("acme/gitops", n)); got != test.want {
			t.Errorf("%s: %d comments, want %d", test.text, got, test.want)
		}
	}
}

// TestAccess words what GitHub refuses so that one knows what to do.
func TestAccess(t *testing.T) {
	w := newFixture(t)
	base := w.Push("acme/gitops", "dev", map[string]string{"a": "b"})
	w.Server.Repo("acme/old", githubfake.Archived)
	w.Server.Repo("acme/quiet", githubfake.NoIssues)
	w.Server.Repo("acme/hidden")
	w.Allow(w.bot, "acme/hidden", githubfake.None)
	w.Server.Repo("acme/mine")
	w.Allow(w.bot, "acme/mine", githubfake.Read)
	f := w.forge
	issue := func(repo string) error {
		_, err := f.SaveIssue(t.Context(), repo, forge.Issue{Title: "t", Number: 0})
		return err
	}
	for want, err := range map[string]error{
		"unarchive the repository": issue("acme/old"),
		"switch them on":           issue("acme/quiet"),
		"the account may not see":  issue("acme/hidden"),
		"is too long": func() error {
			_, err := f.SaveIssue(t.Context(), "acme/gitops", forge.Issue{Title: strings.Repeat("x", 300)})
			return err
		}(),
		"push a first commit": func() error {
			_, err := f.Head(t.Context(), model.Reference{Repo: w.CloneURL("acme/quiet"), Branch: "dev"})
			return err
		}(),
		"No commits between": func() error {
			w.Push("acme/gitops", "kalypso/dev", nil)
			_, err := f.SavePullRequest(t.Context(), "acme/gitops", forge.PullRequest{Title: "t", Head: "dev", Base: "dev"})
			return err
		}(),
		"is not of the form owner/name": f.SetStatus(t.Context(), "acme/../x", base, forge.Status{}),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	w.Revoke(w.bot)
	for what, err := range map[string]error{
		"API": issue("acme/gitops"),
		"git": func() error {
			_, err := f.Read(t.Context(), model.Reference{Repo: w.CloneURL("acme/gitops"), Branch: "dev"})
			return err
		}(),
	} {
		if !errors.Is(err, gitclient.ErrDenied) || errors.Is(err, forge.ErrNotFound) {
			t.Errorf("%s with a token that was revoked: %v", what, err)
		}
	}
}

// TestLatestPullRequests are all that are open, and the newest others, whatever their
// branches.
func TestLatestPullRequests(t *testing.T) {
	w := newFixture(t)
	w.Push("acme/gitops", "dev", map[string]string{"a": "b"})
	for _, head := range []string{"kalypso/dev", "fix"} {
		w.Push("acme/gitops", head, map[string]string{"c": head})
	}
	w.Server.Close("acme/gitops", w.Server.OpenPull(w.ann, "acme/gitops", "t", "kalypso/dev", "dev"))
	w.Server.OpenPull(w.ann, "acme/gitops", "t", "fix", "dev")
	all, err := w.forge.LatestPullRequests(t.Context(), "acme/gitops")
	if err != nil || len(all) != 2 || all[0].Head != "fix" || all[0].State != forge.Open || all[1].State != forge.Closed || all[1].Created.IsZero() {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := w.forge.LatestPullRequests(t.Context(), "acme/none"); !errors.Is(err, forge.ErrNotFound) {
		t.Errorf("%v", err)
	}
}

func TestHistory(t *testing.T) {
	w := newFixture(t)
	first := w.Push("acme/gitops", "dev", map[string]string{"drone/a": "1"})
	second := w.Push("acme/gitops", "dev", map[string]string{"drone/a": "1", "large/b": "1"})
	h, err := w.forge.History(t.Context(), w.CloneURL("acme/gitops"), "dev", []string{"drone", "large"})
	if err != nil || h.Index(second) != 0 || h.Index(first) != 1 || h.Changed["large"] != 0 || h.Changed["drone"] != 1 {
		t.Errorf("%+v, %v", h, err)
	}
	if _, err := w.forge.History(t.Context(), w.CloneURL("acme/none"), "dev", nil); !errors.Is(err, forge.ErrNotFound) {
		t.Errorf("%v", err)
	}
}

func TestCommitInfo(t *testing.T) {
	w := newFixture(t)
	commit := w.Push("acme/gitops", "dev", map[string]string{"a": "1"})
	if info, err := w.forge.CommitInfo(t.Context(), w.CloneURL("acme/gitops"), commit); err != nil || info.Author == "" || info.Subject() == "" || info.When.IsZero() {
		t.Errorf("%+v, %v", info, err)
	}
	if _, err := w.forge.CommitInfo(t.Context(), w.CloneURL("acme/none"), commit); !errors.Is(err, forge.ErrNotFound) {
		t.Errorf("%v", err)
	}
}

// TestChecks has the check runs of a commit besides its statuses, and the newest of each name.
func TestChecks(t *testing.T) {
	w := newFixture(t)
	repo := w.Repo("gitops")
	commit := w.Push(repo, "dev", map[string]string{"a": "b"})
	for name, conclusion := range map[string]string{"build": "success", "lint": "neutral", "test": "failure", "deploy": ""} {
		w.CheckRun(repo, commit, name, conclusion)
	}
	w.CheckRun(repo, commit, "test", "timed_out")
	if err := w.forge.SetStatus(t.Context(), repo, commit, forge.Status{Context: "dev environment", State: forge.Success}); err != nil {
		t.Fatal(err)
	}
	all, err := w.forge.Checks(t.Context(), repo, commit)
	var got []string
	for _, one := range all {
		got = append(got, one.Context+" "+string(one.State))
	}
	want := []string{"build success", "deploy pending", "dev environment success", "lint success", "test failure"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	if _, err := w.forge.Checks(t.Context(), "acme/none", commit); !errors.Is(err, forge.ErrNotFound) {
		t.Errorf("checks of a repository that is not there: %v", err)
	}
}
