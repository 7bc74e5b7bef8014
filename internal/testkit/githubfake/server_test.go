package githubfake_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/testkit/githubfake"
	"github.com/kalypso-dev/kalypso/internal/testkit/gitkit"
)

// ask makes a request of the API and returns the answer's status and body.
func ask(t *testing.T, s *githubfake.Server, token, method, path, body string, header ...string) (int, string, http.Header) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, s.URL+"/api/v3"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		q.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		q.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		q.Header.Set(header[i], header[i+1])
	}
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(data), answer.Header
}

// TestRefusals holds the server to what the documentation says that GitHub
// refuses. Nothing of it may have an effect.
func TestRefusals(t *testing.T) {
	s := githubfake.Start(t)
	bot, reader, poor := s.User("bot"), s.User("reader"), s.User("poor", "gist")
	base := s.Push("acme/app", "dev", map[string]string{"a.txt": "1", "d/b.txt": "2"})
	s.Push("acme/app", "kalypso/dev", map[string]string{"a.txt": "1", "d/b.txt": "3"})
	s.Push("acme/app", "same", map[string]string{"x": "y"})
	s.Repo("acme/empty")
	s.Repo("acme/hidden")
	s.Allow(bot, "acme/hidden", githubfake.None)
	s.Allow(reader, "acme/app", githubfake.Read)
	n := s.OpenPull(bot, "acme/app", "t", "kalypso/dev", "dev")
	merged := s.OpenPull(bot, "acme/app", "t", "same", "dev")
	s.Close("acme/app", merged)
	s.DeleteBranch("acme/app", "same")
	before := [3]string{fmt.Sprint(s.Pulls("acme/app")), fmt.Sprint(s.Issues("acme/app")), s.Branch("acme/app", "dev") + s.Branch("acme/app", "kalypso/dev")}

	const app = "/repos/acme/app"
	pull := func(extra string) string { return `{"title":"t","head":"kalypso/dev","base":"dev"` + extra + `}` }
	for _, test := range []struct {
		token, method, path, body string
		status                    int
		says                      string
	}{
		{"wrong", "GET", app, "", 401, "Bad credentials"},
		{"", "GET", app, "", 404, "Not Found"},
		{bot.Token, "GET", "/repos/acme/hidden", "", 404, "Not Found"},
		{poor.Token, "GET", app, "", 404, "Not Found"}, // the scope is missing
		{reader.Token, "POST", app + "/pulls", pull(""), 404, "Not Found"},
		{bot.Token, "GET", "/nothing/here", "", 404, "Not Found"},
		{bot.Token, "GET", app + "/", "", 404, "Not Found"},
		{bot.Token, "POST", app + "/issues", `{"title"`, 400, "Problems parsing JSON"},
		{bot.Token, "POST", app + "/issues", `["x"]`, 400, "Body should be a JSON object"},
		{bot.Token, "POST", app + "/issues", `{"title":1}`, 422, "is not a string"},
		{bot.Token, "POST", app + "/issues", `{"body":"x"}`, 422, `\"title\" wasn't supplied`},
		{bot.Token, "POST", app + "/issues", `{"title":"x","colour":"red"}`, 422, `\"colour\" is not a permitted key`},
		{bot.Token, "POST", app + "/issues", `{"title":"` + strings.Repeat("x", 257) + `"}`, 422, "title is too long (maximum is 256 characters)"},
		{bot.Token, "POST", app + "/issues", `{"title":"x","body":"` + strings.Repeat("x", 65537) + `"}`, 422, "body is too long"},
		{bot.Token, "PATCH", app + "/issues/99", `{"title":"x"}`, 404, "Not Found"},
		{bot.Token, "POST", app + "/pulls", pull(""), 422, "A pull request already exists for acme:kalypso/dev."},
		{bot.Token, "POST", app + "/pulls", `{"title":"t","head":"dev","base":"dev"}`, 422, "No commits between dev and dev"},
		{bot.Token, "POST", app + "/pulls", `{"title":"t","head":"none","base":"dev"}`, 422, `"field":"head"`},
		{bot.Token, "POST", app + "/pulls", `{"title":"t","head":"kalypso/dev","base":"none"}`, 422, `"field":"base"`},
		{bot.Token, "POST", app + "/pulls", pull(`,"draft":"yes"`), 422, "is not a boolean"},
		{bot.Token, "PATCH", app + "/pulls/1", `{"state":"merged"}`, 422, `"field":"state"`},
		{bot.Token, "PATCH", app + "/pulls/2", `{"state":"open"}`, 422, "branch has been deleted"},
		{bot.Token, "PUT", app + "/pulls/1/merge", `{"sha":"` + base + `"}`, 409, "Head branch was modified"},
		{bot.Token, "PUT", app + "/pulls/2/merge", `{}`, 405, "not mergeable"},
		{bot.Token, "POST", app + "/labels", `{"name":"` + strings.Repeat("x", 51) + `"}`, 422, "name is too long (maximum is 50"},
		{bot.Token, "POST", app + "/labels", `{"name":"x","color":"#ffffff"}`, 422, `"field":"color"`},
		{bot.Token, "DELETE", app + "/issues/1/labels/none", "", 404, "Label does not exist"},
		{bot.Token, "GET", "/repos/acme/empty/git/ref/heads/main", "", 409, "Git Repository is empty."},
		{bot.Token, "DELETE", app + "/git/refs/heads/none", "", 422, "Reference does not exist"},
		{bot.Token, "POST", app + "/statuses/" + base, `{"state":"good"}`, 422, "not included in the list"},
		{bot.Token, "POST", app + "/statuses/" + base, `{"state":"success","description":"` + strings.Repeat("x", 141) + `"}`, 422, "description is too long (maximum is 140"},
		{bot.Token, "POST", app + "/statuses/" + strings.Repeat("1", 40), `{"state":"success"}`, 422, "No commit found for SHA"},
		{bot.Token, "POST", "/orgs/none/repos", `{"name":"x"}`, 404, "Not Found"},
		{bot.Token, "POST", "/orgs/acme/repos", `{"name":"App"}`, 422, "name already exists on this account"},
		{bot.Token, "DELETE", app, "", 403, "Must have admin rights"},
		{reader.Token, "DELETE", app, "", 403, "Must have admin rights"},
		{bot.Token, "PUT", app + "/actions/secrets/X", `{"encrypted_value":"eA==","key_id":"1"}`, 422, "could not be decrypted"},
	} {
		status, body, _ := ask(t, s, test.token, test.method, test.path, test.body)
		if status != test.status || !strings.Contains(body, test.says) {
			t.Errorf("%s %s %.80s: %d %s, want %d and %s", test.method, test.path, test.body, status, body, test.status, test.says)
		}
	}
	after := [3]string{fmt.Sprint(s.Pulls("acme/app")), fmt.Sprint(s.Issues("acme/app")), s.Branch("acme/app", "dev") + s.Branch("acme/app", "kalypso/dev")}
	if after != before || n != 1 {
		t.Errorf("what was refused had an effect:\n%s\n%s", before, after)
	}
	if status, body, _ := ask(t, s, bot.Token, "GET", app, "", "X-GitHub-Api-Version", "2020-01-01"); status != 400 || !strings.Contains(body, "not supported") {
		t.Errorf("an unknown version: %d %s", status, body)
	}
}

func TestPagesAndTags(t *testing.T) {
	s := githubfake.Start(t)
	bot := s.User("bot")
	s.Push("acme/app", "dev", map[string]string{"a": "b"})
	for range 45 {
		s.OpenIssue(bot, "acme/app", "t", "")
	}
	_, _, h := ask(t, s, bot.Token, "GET", "/repos/acme/app/issues?per_page=20&page=2", "")
	for _, rel := range []string{`page=1&per_page=20>; rel="prev"`, `page=3&per_page=20>; rel="next"`, `page=3&per_page=20>; rel="last"`, `page=1&per_page=20>; rel="first"`} {
		if !strings.Contains(h.Get("Link"), rel) {
			t.Errorf("link %q lacks %s", h.Get("Link"), rel)
		}
	}
	left := h.Get("X-RateLimit-Remaining")
	for range 3 {
		status, body, again := ask(t, s, bot.Token, "GET", "/repos/acme/app/issues?per_page=20&page=2", "", "If-None-Match", h.Get("ETag"))
		if status != http.StatusNotModified || body != "" || again.Get("X-RateLimit-Remaining") != left {
			t.Errorf("asked again: %d, %s left of %s", status, again.Get("X-RateLimit-Remaining"), left)
		}
	}
	s.Close("acme/app", 20)
	if status, _, _ := ask(t, s, bot.Token, "GET", "/repos/acme/app/issues?per_page=20&page=2", "", "If-None-Match", h.Get("ETag")); status != http.StatusOK {
		t.Errorf("after a change: %d", status)
	}
}

// TestGit uses the server as users do, with git itself.
func TestGit(t *testing.T) {
	s := githubfake.Start(t)
	ann, reader := s.User("ann"), s.User("reader")
	s.Push("acme/App", "main", map[string]string{"a.txt": "1", "run.sh": "#!/bin/sh\n"})
	s.Allow(reader, "acme/App", githubfake.Read)
	dir := t.TempDir()
	git := func(in string, args ...string) (string, error) {
		return gitkit.Git(in, "", args...)
	}
	as := func(u *githubfake.User, url string) string {
		return strings.Replace(url, "://", "://x-access-token:"+u.Token+"@", 1)
	}
	for name, url := range map[string]string{"a": as(ann, s.CloneURL("acme/App")), "b": as(reader, strings.TrimSuffix(s.CloneURL("acme/app"), ".git"))} {
		if out, err := git(dir, "clone", "-q", url, name); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
	}
	if out, err := git(dir, "clone", "-q", s.CloneURL("acme/app"), "c"); err == nil {
		t.Errorf("cloned without an account: %s", out)
	}
	for name, may := range map[string]bool{"a": true, "b": false} {
		if err := os.WriteFile(filepath.Join(dir, name, "a.txt"), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := git(filepath.Join(dir, name), "commit", "-q", "-a", "-m", "work")
		if err == nil {
			out, err = git(filepath.Join(dir, name), "push", "-q", "origin", "HEAD:refs/heads/feature/"+name)
		}
		if (err == nil) != may {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	if got := s.Files("acme/app", "feature/a"); got["a.txt"] != "a" || s.Modes("acme/app", "main")["run.sh"] != "100755" {
		t.Errorf("pushed %v", got)
	}
	var kinds []string
	for _, c := range s.Calls() {
		if c.API {
			t.Errorf("git is counted as the API: %+v", c)
		}
		kinds = append(kinds, c.Kind)
	}
	if !slices.Contains(kinds, "push") || !slices.Contains(kinds, "fetch") {
		t.Errorf("kinds %q", kinds)
	}
}
