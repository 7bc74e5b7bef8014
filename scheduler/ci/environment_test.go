package ci_test

import (
	"errors"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/ci"
)

func environment(values ...string) ci.Environment {
	return ci.ReadEnvironment(func(name string) string {
		for i := 0; i < len(values); i += 2 {
			if values[i] == name {
				return values[i+1]
			}
		}
		return ""
	})
}

func TestForgeAndRegistry(t *testing.T) {
	for _, test := range []struct {
		name            string
		values          []string
		forge, registry string
	}{
		{"GitHub", []string{"GITHUB_SERVER_URL", "https://github.com", "GITHUB_API_URL", "https://api.github.com"}, ci.GitHub, "ghcr.io"},
		{"GitHub Enterprise", []string{"GITHUB_SERVER_URL", "https://git.acme.com", "GITHUB_API_URL", "https://git.acme.com/api/v3"}, ci.GitHub, "git.acme.com"},
		{"Gitea's runner", []string{"GITHUB_SERVER_URL", "http://localhost:3000/", "GITEA_ACTIONS", "true"}, ci.Gitea, "localhost:3000"},
		{"Gitea's API", []string{"GITHUB_SERVER_URL", "http://localhost:3000", "GITHUB_API_URL", "http://localhost:3000/api/v1"}, ci.Gitea, "localhost:3000"},
		{"at a desk", []string{"GITHUB_SERVER_URL", "http://localhost:3000"}, ci.Gitea, "localhost:3000"},
		{"said", []string{"GITHUB_SERVER_URL", "http://a", "KALYPSO_FORGE", "github", "KALYPSO_REGISTRY", "b"}, ci.GitHub, "b"},
	} {
		e := environment(test.values...)
		if e.Forge != test.forge || e.Registry != test.registry {
			t.Errorf("%s: forge %s, registry %s", test.name, e.Forge, e.Registry)
		}
	}
}

func TestToken(t *testing.T) {
	if e := environment("GITHUB_TOKEN", "job", "KALYPSO_CI_TOKEN", "bot\n"); e.Token != "bot" {
		t.Errorf("token %q", e.Token)
	}
	// a secret that is not set is an empty variable
	if e := environment("GITHUB_TOKEN", "job", "KALYPSO_CI_TOKEN", ""); e.Token != "job" {
		t.Errorf("token %q", e.Token)
	}
}

func TestRepo(t *testing.T) {
	e := environment("GITHUB_SERVER_URL", "http://localhost:3000", "GITHUB_REPOSITORY", "acme/app")
	for named, want := range map[string]string{
		"":                                   "acme/app",
		"gitops":                             "acme/gitops",
		"other/gitops":                       "other/gitops",
		"http://localhost:3000/acme/gitops":  "acme/gitops",
		"http://localhost:3000/acme/gitops/": "acme/gitops",
		"http://localhost:3000/a/gitops.git": "a/gitops",
		"https://github.com/acme/gitops":     "",
		"http://localhost:30001/acme/gitops": "",
		"git@localhost:acme/gitops":          "",
		"/gitops":                            "",
		"acme/":                              "",
		"a/b/c":                              "",
	} {
		got, err := e.Repo(named)
		var mistake *usage.Error
		if got != want || (want == "") != errors.As(err, &mistake) {
			t.Errorf("%q: %q, %v", named, got, err)
		}
	}
	if _, err := environment().Repo("x"); err == nil {
		t.Error("a name alone without an owner")
	}
}
