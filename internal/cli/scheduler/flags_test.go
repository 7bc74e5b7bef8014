package scheduler

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/controller"
	"github.com/spf13/pflag"
)

// TestConfigurationsOfTheHelp proves that what the help shows is taken.
func TestConfigurationsOfTheHelp(t *testing.T) {
	for name, text := range map[string]string{
		"github": gitHubConfig, "gitea": giteaConfig, "election": giteaConfig + electionConfig,
		"several": strings.Replace(gitHubConfig[:strings.Index(gitHubConfig, "    controlPlane:")], "keyFile: app.pem", "keyFile: app.pem\n    webhookSecret: s", 1) + severalConfig,
	} {
		if _, err := controller.ParseConfig(name, []byte(text)); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
}

func TestSchedulerOnceFlags(t *testing.T) {
	const token = "KALYPSO_CI_TOKEN"
	runner := map[string]string{
		"GITHUB_SERVER_URL": "https://github.com", "GITHUB_API_URL": "https://api.github.com", "GITHUB_REPOSITORY": "acme/cp", "GITHUB_TOKEN": "t",
	}
	giteaRunner := map[string]string{
		"GITHUB_SERVER_URL": "http://git.lan/sub", "GITHUB_API_URL": "http://git.lan/sub/api/v1", "GITHUB_REPOSITORY": "acme/cp", token: "t", "GITHUB_TOKEN": "u",
	}
	config := func(forge controller.ForgeConfig, repo string) controller.Config {
		return controller.Config{Forge: forge, ControlPlane: controller.ControlPlaneConfig{Repo: repo, Branch: "main"}}
	}
	for name, test := range map[string]struct {
		args string
		env  map[string]string
		want controller.Config
		says string
	}{
		"a workflow of GitHub": {"", runner, config(controller.ForgeConfig{Type: "github", URL: "https://github.com", API: "https://api.github.com", TokenEnv: "GITHUB_TOKEN"}, "https://github.com/acme/cp"), ""},
		"a workflow of Gitea":  {"", giteaRunner, config(controller.ForgeConfig{Type: "gitea", URL: "http://git.lan/sub", TokenEnv: token}, "http://git.lan/sub/acme/cp"), ""},
		"another repository":   {"--control-plane https://github.com/x/y", runner, config(controller.ForgeConfig{Type: "github", URL: "https://github.com", API: "https://api.github.com", TokenEnv: "GITHUB_TOKEN"}, "https://github.com/x/y"), ""},
		"at a desk":            {"--control-plane https://github.com/x/y", map[string]string{"GITHUB_TOKEN": "t"}, config(controller.ForgeConfig{Type: "github", URL: "https://github.com", TokenEnv: "GITHUB_TOKEN"}, "https://github.com/x/y"), ""},
		"Gitea at a desk": {"--control-plane http://git.lan/x/y --forge gitea --token-env T --user me", nil,
			config(controller.ForgeConfig{Type: "gitea", URL: "http://git.lan", User: "me", TokenEnv: "T"}, "http://git.lan/x/y"), ""},
		"Enterprise": {"--control-plane https://git.lan/x/y --forge github --api https://git.lan/api --token-env T", nil,
			config(controller.ForgeConfig{Type: "github", URL: "https://git.lan", API: "https://git.lan/api", TokenEnv: "T"}, "https://git.lan/x/y"), ""},
		"a token is for its own server":   {"--control-plane https://git.lan/x/y --forge github", runner, controller.Config{}, "GITHUB_TOKEN is for https://github.com: name the variable"},
		"also at a desk":                  {"--control-plane https://git.lan/x/y --forge gitea", map[string]string{"GITHUB_TOKEN": "t"}, controller.Config{}, "GITHUB_TOKEN is for https://github.com"},
		"no token":                        {"--control-plane https://github.com/x/y", nil, controller.Config{}, "no token: put one into GITHUB_TOKEN"},
		"no control plane":                {"--forge github", nil, controller.Config{}, "which control plane?"},
		"no address":                      {"--control-plane x/y", runner, controller.Config{}, "--control-plane wants an http or https URL"},
		"a password":                      {"--control-plane https://a:b@github.com/x/y", runner, controller.Config{}, "without credentials"},
		"an unknown server":               {"--control-plane https://git.lan/x/y --token-env T", nil, controller.Config{}, "what is at https://git.lan?"},
		"an unknown forge":                {"--forge gitlab", runner, controller.Config{}, "Give --forge gitea or --forge github"},
		"a file and flags":                {"--config x --url y", nil, controller.Config{}, "--config says all of it: leave --url out"},
		"an API that Gitea does not have": {"--api http://x", giteaRunner, controller.Config{}, "--api is for GitHub"},
	} {
		t.Run(name, func(t *testing.T) {
			f := flags{command: "once"}
			set := pflag.NewFlagSet("once", pflag.ContinueOnError)
			f.register(set)
			if err := set.Parse(strings.Fields(test.args)); err != nil {
				t.Fatal(err)
			}
			got, err := f.once(set, func(name string) string { return test.env[name] })
			var mistake *usage.Error
			if test.says != "" {
				if !errors.As(err, &mistake) || !strings.Contains(err.Error(), test.says) {
					t.Errorf("error %v, want %s", err, test.says)
				}
				return
			}
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}
