package ci_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-dev/kalypso/internal/testkit/giteafake"
	"github.com/kalypso-dev/kalypso/internal/testkit/githubfake"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/ci"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
)

// api is a forge's API that gives the answers of a test and notes what it was
// asked.
type api struct {
	*testing.T
	url     string
	answers map[string]string // by "METHOD path": "status body"
	asked   []string
}

func newAPI(t *testing.T, answers map[string]string) *api {
	a := &api{T: t, answers: answers}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	a.url = server.URL
	return a
}

func (a *api) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, _ := io.ReadAll(q.Body)
	key := q.Method + " " + q.URL.Path
	line := key
	if q.URL.RawQuery != "" {
		line += "?" + q.URL.RawQuery
	}
	if len(body) > 0 {
		var v any
		if err := json.Unmarshal(body, &v); err != nil {
			a.Errorf("%s: body %q", key, body)
		}
		sorted, _ := json.Marshal(v)
		line += " " + string(sorted)
	}
	a.asked = append(a.asked, line)
	if auth := q.Header.Get("Authorization"); !strings.HasSuffix(auth, " t0ken") {
		a.Errorf("%s: authorization %q", key, auth)
	}
	answer, ok := a.answers[key]
	if !ok {
		answer = `404 {"message": "Not Found"}`
	}
	var code int
	_, _ = fmt.Sscan(answer, &code)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, text, _ := strings.Cut(answer, " ")
	_, _ = io.WriteString(w, text)
}

func (a *api) forge(kind, path string) ci.Forge {
	a.Helper()
	f, err := ci.OpenForge(ci.Environment{Server: a.url, API: a.url + path, Token: "t0ken", Forge: kind})
	if err != nil {
		a.Fatal(err)
	}
	return f
}

func (a *api) wantAsked(want ...string) {
	a.Helper()
	if diff := cmp.Diff(want, a.asked); diff != "" {
		a.Errorf("asked (-want +got):\n%s", diff)
	}
	a.asked = nil
}

// TestGitHub takes a deployment all the way on a GitHub that keeps state.
func TestGitHub(t *testing.T) {
	s := githubfake.Start(t)
	const repo = "acme/gitops"
	base := s.Push(repo, "dev", map[string]string{"README.md": "x", ".github/workflows/cd.yaml": "on: {workflow_dispatch: {inputs: {environment: {}}}}\n"})
	for _, account := range []struct{ name, token string }{
		{"a user's token", s.User("ann").Token},
		{"a workflow's own token", workflowToken(t, s)},
	} {
		t.Run(account.name, func(t *testing.T) {
			ctx := t.Context()
			f, err := ci.OpenForge(ci.Environment{Server: s.URL, API: s.URL + "/api/v3", Token: account.token, Forge: ci.GitHub})
			if err != nil {
				t.Fatal(err)
			}
			head, err := f.Commit(ctx, repo, forge.CommitRequest{
				Branch: "kalypso/x", Parent: base, Message: "m", When: time.Unix(1e9, 0), Changes: []forge.Change{{Path: "a/" + account.name, Content: []byte("1")}},
			})
			if err != nil {
				t.Fatal(err)
			}
			wanted := forge.PullRequest{Title: "T", Body: "B", Head: "kalypso/x", Base: "dev", State: forge.Open}
			saved, err := f.SavePullRequest(ctx, repo, wanted)
			if err != nil || saved.HeadCommit != head || saved.URL == "" {
				t.Fatalf("%+v, %v", saved, err)
			}
			if err := f.Label(ctx, repo, saved.Number, []string{"l", "m"}); err != nil {
				t.Error(err)
			}
			all, err := f.PullRequests(ctx, repo, "kalypso/x", "dev")
			if err != nil || all[0].Number != saved.Number || len(all[0].Labels) != 2 {
				t.Fatalf("%+v, %v", all, err)
			}
			again := all[0]
			again.Title = "U"
			if _, err := f.SavePullRequest(ctx, repo, again); err != nil {
				t.Error(err)
			}
			if err := f.SetStatus(ctx, repo, head, forge.Status{Context: "dev environment", State: forge.Pending, Description: "Promoted"}); err != nil {
				t.Error(err)
			}
			if base, err = f.Merge(ctx, repo, saved.Number, head); err != nil || base != s.Branch(repo, "dev") {
				t.Errorf("merged as %q, %v", base, err)
			}
			if err := f.DeleteBranch(ctx, repo, "kalypso/x"); err != nil || s.Branch(repo, "kalypso/x") != "" {
				t.Errorf("branch %q, %v", s.Branch(repo, "kalypso/x"), err)
			}
			pulls := s.Pulls(repo)
			if got := pulls[len(pulls)-1]; got.Title != "U" || got.State != "merged" || strings.Join(got.Labels, " ") != "l m" {
				t.Errorf("in the end %+v", got)
			}
			if err := f.StartWorkflow(ctx, repo, "cd.yaml", "dev", map[string]string{"environment": "dev"}); err != nil || len(s.Dispatches(repo)) == 0 {
				t.Errorf("workflows %v, %v", s.Dispatches(repo), err)
			}
		})
	}
}

// workflowToken is what a workflow gets: the token of an installation.
func workflowToken(t *testing.T, s *githubfake.Server) string {
	t.Helper()
	app, err := ghinstallation.New(http.DefaultTransport, 7, 8, s.App("github-actions", 7, 8))
	if err != nil {
		t.Fatal(err)
	}
	app.BaseURL = s.URL + "/api/v3"
	token, err := app.Token(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// TestErrorsOfGitHub are distinguished where a caller does something about them.
func TestErrorsOfGitHub(t *testing.T) {
	for answer, want := range map[string]error{
		`404 {"message": "Not Found"}`:       forge.ErrNotFound,
		`401 {"message": "Bad credentials"}`: gitclient.ErrDenied,
		`403 <html>`:                         gitclient.ErrDenied,
	} {
		a := newAPI(t, map[string]string{"POST /repos/acme/x/statuses/c": answer})
		err := a.forge(ci.GitHub, "").SetStatus(t.Context(), "acme/x", "c", forge.Status{})
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", answer, err, want)
		}
	}
	a := newAPI(t, map[string]string{"GET /user": `200 {"login": "me"}`, "POST /repos/acme/x/pulls": `422 {"message": "Validation Failed", "errors": [{"message": "No commits between"}]}`})
	_, err := a.forge(ci.GitHub, "").SavePullRequest(t.Context(), "acme/x", forge.PullRequest{})
	if err == nil || !strings.Contains(err.Error(), "Validation Failed: No commits between") {
		t.Errorf("%v", err)
	}
}

// TestMerges: both forges turn a merge down for a moment, and an answer that is
// lost is found out.
func TestMerges(t *testing.T) {
	const commit = "cccccccccccccccccccccccccccccccccccccccc"
	for kind, path := range map[string]string{ci.GitHub: "", ci.Gitea: "/api/v1"} {
		put := "PUT /repos/acme/x/pulls/3/merge"
		if kind == ci.Gitea {
			put = "POST /api/v1/repos/acme/x/pulls/3/merge"
		}
		get := "GET " + path + "/repos/acme/x/pulls/3"
		state := func(merged bool) string {
			at := "null"
			if merged {
				at = `"2026-01-01T00:00:00Z"`
			}
			return fmt.Sprintf(`200 {"number": 3, "merged": %t, "merged_at": %s, "merge_commit_sha": "%s"}`, merged, at, commit)
		}
		for name, test := range map[string]struct {
			merge, after string
			want         error
		}{
			"done":             {`200 {"sha": "` + commit + `"}`, state(true), nil},
			"not yet":          {`405 {"message": "Please try again later"}`, state(false), forge.ErrNotYet},
			"another head":     {`409 {"message": "Head branch was modified"}`, state(false), nil},
			"merged before it": {`405 {"message": "not mergeable"}`, state(true), nil},
		} {
			a := newAPI(t, map[string]string{put: test.merge, get: test.after})
			got, err := a.forge(kind, path).Merge(t.Context(), "acme/x", 3, "h")
			done := strings.Contains(test.after, "true")
			if (got == commit) != done || (err == nil) != done || test.want != nil && !errors.Is(err, test.want) || name == "another head" && errors.Is(err, forge.ErrNotYet) {
				t.Errorf("%s, %s: %q, %v", kind, name, got, err)
			}
		}
	}
}

func TestGitea(t *testing.T) {
	a := newAPI(t, map[string]string{
		"GET /api/v1/repos/acme/x/labels":                                `200 [{"id": 1, "name": "Old"}]`,
		"POST /api/v1/repos/acme/x/labels":                               `201 {"id": 2, "name": "new"}`,
		"POST /api/v1/repos/acme/x/issues/3/labels":                      "200 []",
		"GET /api/v1/repos/acme/x/raw/.github/workflows/cd.yaml":         "200 on: {workflow_dispatch: {inputs: {environment: {}}}}",
		"POST /api/v1/repos/acme/x/actions/workflows/cd.yaml/dispatches": "204 ",
	})
	f := a.forge(ci.Gitea, "/api/v1")
	if err := f.Label(t.Context(), "acme/x", 3, []string{"old", "new"}); err != nil {
		t.Error(err)
	}
	if err := f.StartWorkflow(t.Context(), "acme/x", "cd.yaml", "main", map[string]string{"environment": "dev"}); err != nil {
		t.Error(err)
	}
	if err := f.StartWorkflow(t.Context(), "acme/x", "nope.yaml", "main", nil); !errors.Is(err, forge.ErrNotFound) {
		t.Errorf("a workflow that is not there: %v", err)
	}
	a.wantAsked(
		"GET /api/v1/repos/acme/x/labels?limit=50&page=1",
		`POST /api/v1/repos/acme/x/labels {"color":"#1d76db","description":"","exclusive":false,"is_archived":false,"name":"new"}`,
		`POST /api/v1/repos/acme/x/issues/3/labels {"labels":[1,2]}`,
		"GET /api/v1/repos/acme/x/raw/.gitea/workflows/cd.yaml?ref=main",
		"GET /api/v1/repos/acme/x/raw/.github/workflows/cd.yaml?ref=main",
		`POST /api/v1/repos/acme/x/actions/workflows/cd.yaml/dispatches {"inputs":{"environment":"dev"},"ref":"main"}`,
		"GET /api/v1/repos/acme/x/raw/.gitea/workflows/nope.yaml?ref=main",
		"GET /api/v1/repos/acme/x/raw/.github/workflows/nope.yaml?ref=main",
		`POST /api/v1/repos/acme/x/actions/workflows/nope.yaml/dispatches {"ref":"main"}`,
	)
}

func TestOpenSaysWhatIsMissing(t *testing.T) {
	for want, e := range map[string]ci.Environment{
		"GITHUB_SERVER_URL": {},
		"GITHUB_TOKEN":      {Server: "http://x", Forge: ci.Gitea},
		"choose gitea":      {Server: "http://x", Token: "t", Forge: "gitlab"},
		"GITHUB_API_URL":    {Server: "http://x", API: "x", Token: "t", Forge: ci.GitHub},
	} {
		_, err := ci.OpenForge(e)
		var mistake *usage.Error
		if !errors.As(err, &mistake) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", e, err, want)
		}
	}
}

const workflowWithInputs = `on:
  push: {}
  workflow_dispatch:
    inputs:
      environment:
        type: choice
        options: [dev, stage]
        required: true
      commit: {required: true}
      dry-run: {type: boolean, required: true, default: false}
      replicas: {type: number}
`

// TestInputsOfWorkflows: both forges take and refuse the same inputs of a
// workflow. What GitHub says comes from GitHub.
func TestInputsOfWorkflows(t *testing.T) {
	s := githubfake.Start(t)
	const repo = "acme/x"
	workflows := map[string]string{
		"cd.yaml":      workflowWithInputs,
		"none.yaml":    "on: {workflow_dispatch: }\n",
		"list.yaml":    "on: [push, workflow_dispatch]\n",
		"word.yaml":    "on: workflow_dispatch\n",
		"push.yaml":    "on: push\n",
		"nothing.yaml": "jobs: {}\n",
	}
	files := map[string]string{}
	for name, content := range workflows {
		files[".github/workflows/"+name] = content
	}
	s.Push(repo, "main", files)
	g := giteafake.Start(t)
	g.Create(repo, "main").Push("main", files)
	onGitHub, err := ci.OpenForge(ci.Environment{Server: s.URL, API: s.URL + "/api/v3", Token: s.User("ann").Token, Forge: ci.GitHub})
	if err != nil {
		t.Fatal(err)
	}
	onGitea, err := ci.OpenForge(ci.Environment{Server: g.URL, API: g.URL + "/api/v1", Token: giteafake.Token, Forge: ci.Gitea})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		file   string
		inputs string
		want   string // of Gitea's error; "": it is started
	}{
		"all that is required": {"cd.yaml", "environment=dev commit=4f", ""},
		"all":                  {"cd.yaml", "environment=stage commit= dry-run=true replicas=3", ""},
		"without inputs":       {"none.yaml", "", ""},
		"by a list":            {"list.yaml", "", ""},
		"by a word":            {"word.yaml", "", ""},
		"unknown": {"cd.yaml", "environment=dev commit=4f bogus=1",
			".github/workflows/cd.yaml:4: the workflow has no input bogus: its inputs are commit, dry-run, environment, replicas"},
		"misspelt": {"cd.yaml", "enviroonment=dev commit=4f",
			".github/workflows/cd.yaml:4: the workflow has no input enviroonment: did you mean environment? Its inputs are commit,"},
		"missing":     {"cd.yaml", "environment=dev", ".github/workflows/cd.yaml:9: input commit is required and was not given: its inputs are commit,"},
		"not offered": {"cd.yaml", "environment=prod commit=4f", `.github/workflows/cd.yaml:5: input environment cannot be "prod": choose one of dev, stage`},
		"has none":    {"none.yaml", "bogus=1", ".github/workflows/none.yaml:1: the workflow has no input bogus: it has none"},
		"list none":   {"list.yaml", "bogus=1", "list.yaml:1: the workflow has no input bogus"},
		"not by name": {"push.yaml", "", "push.yaml:1: the workflow cannot be started by name: it has no workflow_dispatch among its triggers"},
		"no trigger":  {"nothing.yaml", "", "nothing.yaml:1: the workflow cannot be started by name"},
	} {
		inputs, err := ci.ParseInputs(strings.Fields(test.inputs))
		if err != nil {
			t.Fatal(err)
		}
		if err := onGitHub.StartWorkflow(t.Context(), repo, test.file, "main", inputs); (err != nil) != (test.want != "") {
			t.Errorf("%s, GitHub: %v", name, err)
		}
		err = onGitea.StartWorkflow(t.Context(), repo, test.file, "main", inputs)
		if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s, Gitea: %v, want %q", name, err, test.want)
		}
	}
}
