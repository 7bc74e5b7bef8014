package forges_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-dev/kalypso/scheduler/ci"
	"github.com/kalypso-dev/kalypso/scheduler/ci/forges"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/githttp"
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
	f, err := forges.Open(ci.Environment{Server: a.url, API: a.url + path, Token: "t0ken", Forge: kind})
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

const pull = `{"number": 3, "title": "T", "body": "B", "state": "%s", "html_url": "u", "merged_at": %s, "merge_commit_sha": "m",
	"user": {"login": "me"}, "head": {"ref": "kalypso/x", "sha": "h"}, "base": {"ref": "dev", "sha": "b"}, "labels": [{"name": "l"}]}`

func TestGitHub(t *testing.T) {
	open, merged := fmt.Sprintf(pull, "open", "null"), fmt.Sprintf(pull, "closed", `"2026-01-01"`)
	a := newAPI(t, map[string]string{
		"GET /repos/acme/x/pulls":                                 "200 [" + open + "," + merged + "]",
		"POST /repos/acme/x/pulls":                                "201 " + open,
		"PATCH /repos/acme/x/pulls/3":                             "200 " + open,
		"POST /repos/acme/x/issues/3/labels":                      "200 []",
		"PUT /repos/acme/x/pulls/3/merge":                         `200 {"sha": "m", "merged": true}`,
		"POST /repos/acme/x/statuses/c":                           "201 {}",
		"POST /repos/acme/x/actions/workflows/cd.yaml/dispatches": "204 ",
	})
	f := a.forge(ci.GitHub, "")
	ctx := t.Context()

	all, err := f.PullRequests(ctx, "acme/x", "kalypso/x", "dev")
	want := forge.PullRequest{Number: 3, Title: "T", Body: "B", Head: "kalypso/x", HeadCommit: "h", Base: "dev", Labels: []string{"l"}, State: forge.Open, Author: "me", URL: "u"}
	wantMerged := want
	wantMerged.State, wantMerged.MergeCommit = forge.Merged, "m"
	if diff := cmp.Diff([]forge.PullRequest{want, wantMerged}, all); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	a.wantAsked("GET /repos/acme/x/pulls?base=dev&head=acme%3Akalypso%2Fx&per_page=50&state=all")

	if _, err := f.SavePullRequest(ctx, "acme/x", forge.PullRequest{Title: "T", Body: "B", Head: "kalypso/x", Base: "dev"}); err != nil {
		t.Error(err)
	}
	saved, err := f.SavePullRequest(ctx, "acme/x", want)
	if diff := cmp.Diff(want, saved); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if err := f.Label(ctx, "acme/x", 3, []string{"l", "m"}); err != nil {
		t.Error(err)
	}
	if commit, err := f.Merge(ctx, "acme/x", 3, "h"); commit != "m" || err != nil {
		t.Errorf("merged as %q, %v", commit, err)
	}
	if err := f.SetStatus(ctx, "acme/x", "c", forge.Status{Context: "dev environment", State: forge.Pending, Description: "Promoted", URL: "u"}); err != nil {
		t.Error(err)
	}
	if err := f.StartWorkflow(ctx, "acme/x", "cd.yaml", "main", map[string]string{"environment": "dev"}); err != nil {
		t.Error(err)
	}
	a.wantAsked(
		`POST /repos/acme/x/pulls {"base":"dev","body":"B","draft":false,"head":"kalypso/x","title":"T"}`,
		`PATCH /repos/acme/x/pulls/3 {"body":"B","state":"open","title":"T"}`,
		`POST /repos/acme/x/issues/3/labels {"labels":["l","m"]}`,
		`PUT /repos/acme/x/pulls/3/merge {"merge_method":"merge","sha":"h"}`,
		`POST /repos/acme/x/statuses/c {"context":"dev environment","description":"Promoted","state":"pending","target_url":"u"}`,
		`POST /repos/acme/x/actions/workflows/cd.yaml/dispatches {"inputs":{"environment":"dev"},"ref":"main"}`,
	)
}

// TestErrorsOfGitHub are told apart where a caller does something about them.
func TestErrorsOfGitHub(t *testing.T) {
	for answer, want := range map[string]error{
		`404 {"message": "Not Found"}`:       forge.ErrNotFound,
		`401 {"message": "Bad credentials"}`: githttp.ErrDenied,
		`403 <html>`:                         githttp.ErrDenied,
	} {
		a := newAPI(t, map[string]string{"POST /repos/acme/x/statuses/c": answer})
		err := a.forge(ci.GitHub, "").SetStatus(t.Context(), "acme/x", "c", forge.Status{})
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", answer, err, want)
		}
	}
	a := newAPI(t, map[string]string{"POST /repos/acme/x/pulls": `422 {"message": "Validation Failed", "errors": [{"message": "No commits between"}]}`})
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
			"not yet":          {`405 {"message": "Please try again later"}`, state(false), ci.ErrNotYet},
			"another head":     {`409 {"message": "Head branch was modified"}`, state(false), nil},
			"merged before it": {`405 {"message": "not mergeable"}`, state(true), nil},
		} {
			a := newAPI(t, map[string]string{put: test.merge, get: test.after})
			got, err := a.forge(kind, path).Merge(t.Context(), "acme/x", 3, "h")
			done := strings.Contains(test.after, "true")
			if (got == commit) != done || (err == nil) != done || test.want != nil && !errors.Is(err, test.want) || name == "another head" && errors.Is(err, ci.ErrNotYet) {
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
		`POST /api/v1/repos/acme/x/actions/workflows/cd.yaml/dispatches {"inputs":{"environment":"dev"},"ref":"main"}`,
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
		_, err := forges.Open(e)
		var usage *ci.UsageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", e, err, want)
		}
	}
}
