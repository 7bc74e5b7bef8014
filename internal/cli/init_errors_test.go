package cli

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/testkit/githubfake"
	"github.com/kalypso-dev/kalypso/scheduler/controller"
)

// TestInitMistakes are reported without a request.
func TestInitMistakes(t *testing.T) {
	s, initialise := emptyOrganisation(t)
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		says string
	}{
		{[]string{"--forge", "gitlab"}, `--forge "gitlab" is not known: init knows github`},
		{[]string{"--forge", "gitea"}, "`kalypso up`"},
		{[]string{"--org", ""}, "which organisation?"},
		{[]string{"--workshop", "x"}, "Choose one of basic-inference, hello-world"},
		{[]string{"--visibility", "secret"}, "choose private, internal or public"},
		{[]string{"--yes"}, "--yes is for --cleanup"},
		{[]string{"--cleanup", "--webhook", "https://x"}, "leave --webhook out"},
		{[]string{"--token-file", empty}, "one of --token-env, --token-file"},
		{[]string{"--token-env", "", "--app-id", "1"}, "--app-key-file"},
		{[]string{"--token-env", "", "--token-file", empty}, "is empty"},
		{[]string{"--token-env", "NOT_SET"}, "the variable NOT_SET is empty"},
		{[]string{"--webhook", "https://x"}, "webhooks are signed"},
		{[]string{"--webhook", "ftp://x", "--webhook-secret-env", "BOT_TOKEN"}, "--webhook wants an http or https URL"},
		{[]string{"--webhook-secret-env", "BOT_TOKEN"}, "add --webhook URL"},
		{[]string{"--secret-env", "NAME=BOT_TOKEN"}, `use no secret "NAME", but CONTROL_PLANE_TOKEN and CD_TOKEN`},
		{[]string{"--secret-file", "CD_TOKEN"}, "--secret-file wants NAME=FILE"},
		{[]string{"--secret-env", "CD_TOKEN=BOT_TOKEN", "--secret-file", "CD_TOKEN=" + empty}, "given twice"},
		{[]string{"--secret-env", "CD_TOKEN"}, "the variable CD_TOKEN is empty"},
		{[]string{"--token-env", ""}, "GITHUB_TOKEN is for https://github.com"},
	} {
		code, out, talk := initialise(test.args...)
		if code != cmdutil.ExitUsage || out != "" || strings.Count(talk, test.says) != 1 {
			t.Errorf("%q: exit code %d, %q, %q, want once %q", test.args, code, out, talk, test.says)
		}
	}
	if code, _, talk := call(t, "init", "--org", "kalypso"); code != cmdutil.ExitUsage || !strings.Contains(talk, "no token: put one into GITHUB_TOKEN") {
		t.Errorf("exit code %d, %q", code, talk)
	}
	if calls := s.Calls(); len(calls) > 0 {
		t.Errorf("%d requests", len(calls))
	}
}

// TestInitDryRun shows all of it and does nothing.
func TestInitDryRun(t *testing.T) {
	s, initialise := emptyOrganisation(t)
	config := filepath.Join(t.TempDir(), "scheduler.yaml")
	for _, workshop := range []string{"hello-world", "basic-inference"} {
		code, out, talk := initialise("--dry-run", "--workshop", workshop, "--config", config, "--secret-env", "CD_TOKEN=BOT_TOKEN",
			"--webhook", "https://kalypso.example.com/webhook", "--webhook-secret-env", "BOT_TOKEN")
		for _, want := range []string{
			"kalypso/kalypso-control-plane\n  make it, private\n  mark it with the topic kalypso-init-" + workshop + "\n",
			"  make the environment dev\n", "  set NEXT_ENVIRONMENT=", "  set the secret CD_TOKEN\n",
			"  make the webhook https://kalypso.example.com/webhook\n", "  push main, dev, ",
		} {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q in\n%s", workshop, want, out)
			}
		}
		if pull := strings.Contains(out, "open the pull request"); pull != (workshop == "basic-inference") {
			t.Errorf("%s: a pull request %t", workshop, pull)
		}
		if code != cmdutil.ExitOK || !strings.Contains(talk, "Nothing has been written") || !strings.Contains(talk, "the secret CONTROL_PLANE_TOKEN of kalypso/kalypso-control-plane, ") {
			t.Errorf("%s: exit code %d, %q", workshop, code, talk)
		}
	}
	if kinds := writes(s.Calls()); len(kinds) > 0 || len(s.Repos()) > 0 {
		t.Errorf("it writes %q", kinds)
	}
	if _, err := os.Stat(config); err == nil {
		t.Error("the configuration is written")
	}
}

// TestInitConfig is the configuration that init prints and writes.
func TestInitConfig(t *testing.T) {
	s, initialise := emptyOrganisation(t)
	dir := t.TempDir()
	t.Chdir(dir)
	config := filepath.Join(dir, "scheduler.yaml")
	for name, text := range map[string]string{"token": os.Getenv("INIT_TOKEN") + "\n", "signed": "a secret\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	t.Log("a different one is not overwritten, and nothing is made beside it")
	if err := os.WriteFile(config, []byte("forge: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, talk := initialise("--config", config)
	if code != cmdutil.ExitFailure || !strings.Contains(talk, config+": it exists already with other content") || len(s.Repos()) > 0 {
		t.Errorf("exit code %d, %q", code, talk)
	}
	if code, _, talk := initialise("--config", "none/scheduler.yaml"); code != cmdutil.ExitFailure || !strings.Contains(talk, "none") || len(s.Repos()) > 0 {
		t.Errorf("no such folder: exit code %d, %q", code, talk)
	}
	if err := os.Remove(config); err != nil {
		t.Fatal(err)
	}

	t.Log("with files, it is one that is served")
	args := []string{"--token-env", "", "--token-file", "token", "--config", config, "--webhook", "https://kalypso.example.com/webhook", "--webhook-secret-file", "signed"}
	for range 2 { // the same one may be there
		if code, out, talk := initialise(args...); code != cmdutil.ExitOK || out != "" || !strings.Contains(talk, "its configuration is in "+config) {
			t.Fatalf("exit code %d, %q, %q", code, out, talk)
		}
	}
	c, err := controller.LoadConfig(config)
	want := controller.ForgeConfig{Type: "github", URL: s.URL, TokenFile: filepath.Join(dir, "token")}
	if err != nil || c.Forge != want || c.WebhookSecretFile != filepath.Join(dir, "signed") || c.ControlPlane.Repo != s.URL+"/kalypso/kalypso-control-plane" {
		t.Errorf("%+v, %v", c, err)
	}
	if hooks := s.Hooks("kalypso/kalypso-gitops"); len(hooks) != 1 || hooks[0].Secret != "a secret" {
		t.Errorf("webhooks %+v", hooks)
	}

	t.Log("printed, it is the same")
	code, out, talk := initialise(append(args, "--config", "")...)
	if data, err := os.ReadFile(config); code != cmdutil.ExitOK || err != nil || out != string(data) {
		t.Errorf("exit code %d, %q, %q, %v", code, out, talk, err)
	}
}

// TestInitRefused is about who may not, and about what is in the way.
func TestInitRefused(t *testing.T) {
	s, initialise := emptyOrganisation(t)
	s.Push("kalypso/kalypso-gitops", "main", map[string]string{"a": "b"})
	s.Calls()
	code, _, talk := initialise()
	if kinds := writes(s.Calls()); code != cmdutil.ExitFailure || strings.Count(talk, "kalypso/kalypso-gitops is there already and was not made by kalypso init") != 1 || len(kinds) > 0 {
		t.Errorf("exit code %d, %q, writes %q", code, talk, kinds)
	}
	t.Setenv("INIT_TOKEN", "ghp_wrong")
	if code, _, talk := initialise(); code != cmdutil.ExitAuthentication || !strings.Contains(talk, "kalypso init --help") || strings.Contains(talk, "ghp_wrong") {
		t.Errorf("exit code %d, %q", code, talk)
	}
	t.Setenv("INIT_TOKEN", s.User("poor", "repo").Token)
	if code, _, talk := initialise(); code != cmdutil.ExitAuthentication || !strings.Contains(talk, "the scope workflow") {
		t.Errorf("exit code %d, %q", code, talk)
	}
}

// TestInitCleanup makes it, is cut off, goes on and takes it away.
func TestInitCleanup(t *testing.T) {
	s, initialise := emptyOrganisation(t)
	s.Push("kalypso/others", "main", map[string]string{"a": "b"})
	s.Fail(githubfake.Fault{On: githubfake.Kinds("push"), Skip: 2, Answer: githubfake.Status(http.StatusBadGateway, "")})
	if code, _, talk := initialise(); code != cmdutil.ExitFailure || !strings.Contains(talk, "What is made stays") {
		t.Errorf("exit code %d, %q", code, talk)
	}
	if code, _, talk := initialise(); code != cmdutil.ExitOK {
		t.Errorf("exit code %d, %q", code, talk)
	}
	s.Push("kalypso/kalypso-app-src", "main", map[string]string{"mine": "1"})

	s.Calls()
	code, out, talk := initialise("--cleanup", "--dry-run")
	if code != cmdutil.ExitOK || strings.Count(out, "as it was made") != 5 || !strings.Contains(out, "1 commit since then (main 1)") || strings.Contains(out, "others") || !strings.Contains(talk, "These 6 repositories would be deleted") {
		t.Errorf("exit code %d, %q, %q", code, out, talk)
	}
	if code, out, talk = initialise("--cleanup"); code != cmdutil.ExitUsage || !strings.Contains(talk, "add --yes") || !strings.Contains(out, "kalypso-app-src") {
		t.Errorf("nobody can be asked: exit code %d, %q, %q", code, out, talk)
	}
	if code, _, talk = initialise("--cleanup", "--yes", "--workshop", "basic-inference"); code != cmdutil.ExitOK || !strings.Contains(talk, "Nothing to delete") {
		t.Errorf("of the other workshop: exit code %d, %q", code, talk)
	}
	owner := os.Getenv("INIT_TOKEN")
	t.Setenv("INIT_TOKEN", s.User("poor", "repo", "workflow").Token)
	if code, _, talk = initialise("--cleanup", "--yes"); code != cmdutil.ExitAuthentication || !strings.Contains(talk, "the scope delete_repo") {
		t.Errorf("without the scope: exit code %d, %q", code, talk)
	}
	if kinds := writes(s.Calls()); len(kinds) > 0 {
		t.Errorf("it writes %q", kinds)
	}
	t.Setenv("INIT_TOKEN", owner)
	code, _, talk = initialise("--cleanup", "--yes")
	if left := s.Repos(); code != cmdutil.ExitOK || strings.Count(talk, "deleted kalypso/") != 6 || len(left) != 1 || left[0] != "kalypso/others" {
		t.Errorf("exit code %d, %q, left %q", code, talk, left)
	}
}

// TestInitAsApp has no token at all, and the scheduler after it neither.
func TestInitAsApp(t *testing.T) {
	s, _ := emptyOrganisation(t)
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("app.pem", s.App("kalypso", 7, 8), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"init", "--org", "kalypso", "--url", s.URL, "--app-id", "7", "--app-installation", "8", "--app-key-file", "app.pem"}
	code, _, talk := call(t, append(args, "--workshop", "basic-inference", "--config", "scheduler.yaml")...)
	if code != cmdutil.ExitOK {
		t.Fatalf("exit code %d, %q", code, talk)
	}
	pulls := s.Pulls("kalypso/basic-inference-orchestration")
	if len(pulls) != 1 || pulls[0].Author != "kalypso[bot]" || pulls[0].Head != "ci-cd" || pulls[0].State != "open" {
		t.Errorf("pull requests %+v", pulls)
	}
	t.Chdir("/")
	if code, out, talk := call(t, "scheduler", "once", "--config", filepath.Join(dir, "scheduler.yaml"), "--exit-code"); code != cmdutil.ExitOK {
		t.Errorf("exit code %d, %q, %q", code, out, talk)
	}
	t.Chdir(dir)
	if code, _, talk = call(t, append(args, "--cleanup", "--yes")...); code != cmdutil.ExitOK || len(s.Repos()) > 0 {
		t.Errorf("exit code %d, %q, left %q", code, talk, s.Repos())
	}
}
