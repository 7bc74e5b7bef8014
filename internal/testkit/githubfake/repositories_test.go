package githubfake_test

import (
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/testkit/githubfake"
)

// TestSetupRefusals are those of what a new repository is given. None of it may
// have an effect.
func TestSetupRefusals(t *testing.T) {
	s := githubfake.Start(t)
	s.Org("acme")
	owner, writer := s.User("owner"), s.User("writer")
	s.Repo("acme/app")
	s.Repo("acme/empty")
	s.Push("acme/full", "main", map[string]string{"a": "b"})
	s.Allow(writer, "acme/app", githubfake.Write)
	const app = "/repos/acme/app"
	hook := func(rest string) string {
		return `{"config":{"url":"https://x.example","content_type":"json"}` + rest + `}`
	}
	if status, answer, _ := ask(t, s, owner.Token, "POST", app+"/hooks", hook(`,"events":["push","issues"]`)); status != 201 {
		t.Fatalf("%d %s", status, answer)
	}
	for _, test := range []struct {
		token, method, path, body string
		status                    int
		says                      string
	}{
		{"", "POST", "/orgs/acme/repos", `{"name":"x"}`, 401, "Requires authentication"},
		{owner.Token, "GET", "/orgs/nobody", "", 404, "Not Found"},
		{owner.Token, "GET", "/orgs/nobody/repos", "", 404, "Not Found"},
		{owner.Token, "POST", "/orgs/acme/repos", `{"name":"x","visibility":"internal"}`, 422, "associated with an enterprise"},
		{owner.Token, "POST", "/orgs/acme/repos", `{"name":"x","visibility":"none"}`, 422, "invalid"},
		{owner.Token, "POST", "/orgs/acme/repos", `{"name":"x","topics":["a"]}`, 422, "not a permitted key"},
		{owner.Token, "PUT", app + "/topics", `{"names":["A"]}`, 422, "lowercase letter"},
		{owner.Token, "PUT", app + "/topics", `{"names":["` + strings.Repeat("a", 51) + `"]}`, 422, "50 characters"},
		{owner.Token, "PUT", app + "/topics", `{"names":["a` + strings.Repeat(`","b`, 20) + `"]}`, 422, "more than 20"},
		{owner.Token, "PUT", app + "/topics", `{}`, 422, "names"},
		{writer.Token, "PUT", app + "/topics", `{"names":["a"]}`, 403, "admin rights"},
		{writer.Token, "GET", app + "/hooks", "", 403, "admin rights"},
		{owner.Token, "POST", app + "/hooks", hook(`,"events":["issues","push"]`), 422, "already exists on this repository"},
		{owner.Token, "POST", app + "/hooks", hook(`,"events":["pushed"]`), 422, "not a valid hook event"},
		{owner.Token, "POST", app + "/hooks", hook(`,"name":"irc"`), 422, "must be 'web'"},
		{owner.Token, "POST", app + "/hooks", `{"config":{"url":"x"}}`, 422, "not a valid URL"},
		{owner.Token, "POST", app + "/hooks", `{"config":{}}`, 422, "wasn't supplied"},
		{owner.Token, "POST", app + "/hooks", `{"events":["push"]}`, 422, "wasn't supplied"},
		{owner.Token, "PATCH", app + "/hooks/1", `{"active":false}`, 404, "Not Found"},
		{owner.Token, "GET", app + "/actions/variables/NONE", "", 404, "Not Found"},
		{owner.Token, "GET", app + "/environments/none/variables/NONE", "", 404, "Not Found"},
		{owner.Token, "GET", "/repos/acme/empty/commits", "", 409, "is empty"},
		{owner.Token, "GET", "/repos/acme/full/commits?sha=none", "", 404, "Not Found"},
		{owner.Token, "GET", "/repositories/1", "", 404, "Not Found"},
	} {
		status, answer, _ := ask(t, s, test.token, test.method, test.path, test.body)
		if status != test.status || !strings.Contains(answer, test.says) {
			t.Errorf("%s %s %s: %d %s, want %d %s", test.method, test.path, test.body, status, answer, test.status, test.says)
		}
	}
	s.Plan("acme", "free")
	if status, answer, _ := ask(t, s, owner.Token, "PUT", app+"/environments/dev", ""); status != 404 {
		t.Errorf("an environment on the plan Free: %d %s", status, answer)
	}
	if got := strings.Join(s.Repos(), " "); got != "acme/app acme/empty acme/full" || len(s.Topics("acme/app"))+len(s.Environments("acme/app")) > 0 || len(s.Hooks("acme/app")) != 1 {
		t.Errorf("there are %s, topics %v, environments %v, webhooks %v", got, s.Topics("acme/app"), s.Environments("acme/app"), s.Hooks("acme/app"))
	}
	if _, answer, _ := ask(t, s, owner.Token, "GET", app+"/hooks", ""); strings.Contains(answer, `"secret"`) {
		t.Errorf("a webhook without a secret shows one: %s", answer)
	}
}
