package ci

import (
	"os"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/testkit/ciforge"
	"github.com/kalypso-dev/kalypso/internal/testkit/forgefake"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
)

// TestMistakesOfSteps: every mistake is said with what to do about it, and has
// the exit code that is documented.
func TestMistakesOfSteps(t *testing.T) {
	commit := strings.Repeat("ab", 20)
	t.Chdir(newRunner(t, "kalypso/x").checkout("hello-world", "kalypso-app-src", "main"))
	if err := os.Mkdir("configs", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("bad.yaml", []byte("kind: Workload\napiVersion: v1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("Bad", []byte("FROM scratch\nRUN make\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("Out", []byte("FROM scratch\nCOPY ../x /x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"build-image", "--dockerfile", "Nope"}, cmdutil.ExitFailure, "--dockerfile"},
		{[]string{"build-image", "--dockerfile", "Bad"}, cmdutil.ExitFailure, "Bad:2: RUN is not possible without a container engine"},
		{[]string{"build-image", "--dockerfile", "Out"}, cmdutil.ExitFailure, "Out:2: COPY ../x: the path leaves the folder ."},
		{[]string{"build-image", "--base", "x"}, cmdutil.ExitUsage, "NAME=VALUE"},
		{[]string{"build-image", "--name", "A/b:c d"}, cmdutil.ExitUsage, "image A/b:c d"},
		{[]string{"render", "--environment", "dev", "--workload", "nope.yaml"}, cmdutil.ExitFailure, "--workload"},
		{[]string{"render", "--environment", "dev", "--workload", "bad.yaml"}, cmdutil.ExitFailure, "bad.yaml has 0 Workload objects of scheduler.kalypso.io"},
		{[]string{"render"}, cmdutil.ExitUsage, "--environment"},
		{[]string{"render", "--environment", "prod"}, cmdutil.ExitFailure, "its targets are in: dev, dev, stage"},
		{[]string{"render", "--environment", "dev", "--configs", "nope"}, cmdutil.ExitFailure, "check the environment's configs branch out"},
		{[]string{"render", "--environment", "dev", "--chart", "nope"}, cmdutil.ExitFailure, "chart nope"},
		{[]string{"render", "--environment", "dev", "--image", "localhost:3000/x"}, cmdutil.ExitUsage, "NAME:TAG"},
		{[]string{"render", "--environment", "dev", "--set", "a"}, cmdutil.ExitUsage, "--set a"},
		{[]string{"descriptor", "--environment", "dev"}, cmdutil.ExitUsage, "--commit"},
		{[]string{"descriptor", "--environment", "dev", "--commit", commit}, cmdutil.ExitUsage, "--version"},
		{[]string{"descriptor", "--environment", "dev", "--commit", commit, "--version", "a b"}, cmdutil.ExitFailure, `name "hello-world-app-functional-test-a b"`},
		{[]string{"descriptor", "--environment", "dev", "--commit", commit, "--version", "1", "--build-time", "now"}, cmdutil.ExitUsage, "--build-time now"},
		{[]string{"create-pr", "--base", "dev"}, cmdutil.ExitUsage, "--repo"},
		{[]string{"create-pr", "--repo", "y"}, cmdutil.ExitUsage, "--base"},
		{[]string{"create-pr", "--repo", "y", "--base", "dev", "--from", "nope"}, cmdutil.ExitFailure, "kalypso ci render"},
		{[]string{"create-pr", "--repo", "y", "--base", "dev", "--from", "configs"}, cmdutil.ExitFailure, "has no files"},
		{[]string{"create-pr", "--repo", "y", "--base", "dev", "--head", "main"}, cmdutil.ExitUsage, "not below kalypso/"},
		{[]string{"create-pr", "--repo", "https://example.com/a/b", "--base", "dev"}, cmdutil.ExitUsage, "no repository of " + ciforge.Server},
		{[]string{"create-pr", "--repo", "x", "--base", "nope", "--from", "helm"}, cmdutil.ExitFailure, "must be there before the first deployment"},
		{[]string{"create-pr", "--repo", "TYPO", "--base", "nope", "--from", "helm"}, cmdutil.ExitFailure, "check the name in --repo"},
		{[]string{"set-status"}, cmdutil.ExitUsage, "--commit"},
		{[]string{"set-status", "--commit", "main", "deployed", "--environment", "dev"}, cmdutil.ExitUsage, "full commit ID"},
		{[]string{"set-status", "--commit", commit}, cmdutil.ExitUsage, "deployed, deploying, failed, promoted"},
		{[]string{"set-status", "--commit", commit, "gone", "--environment", "dev"}, cmdutil.ExitUsage, `no phase "gone"`},
		{[]string{"set-status", "--commit", commit, "deployed"}, cmdutil.ExitUsage, "--environment"},
		{[]string{"set-status", "--commit", commit, "deployed", "--environment", "dev", "--state", "success"}, cmdutil.ExitUsage, "leave the flags out"},
		{[]string{"set-status", "--commit", commit, "--context", "x", "--state", "fine"}, cmdutil.ExitUsage, "pending, success or failure"},
		{[]string{"set-status", "a", "b"}, cmdutil.ExitUsage, "usage: kalypso ci set-status [PHASE]"},
		{[]string{"promote", "--environment", "dev", "--commit", ""}, cmdutil.ExitUsage, "--commit"},
		{[]string{"promote", "--commit", commit}, cmdutil.ExitUsage, "--environment"},
		{[]string{"promote", "--environment", "dev", "--commit", commit}, cmdutil.ExitFailure, "must be one of kalypso/x"},
		{[]string{"wait-for-deployment", "--branch", "dev"}, cmdutil.ExitUsage, "--commit"},
		{[]string{"wait-for-deployment", "--commit", commit}, cmdutil.ExitUsage, "--branch"},
		{[]string{"wait-for-deployment", "--commit", commit, "--branch", "dev", "--poll", "0s"}, cmdutil.ExitUsage, "--poll"},
		{[]string{"start-workflow"}, cmdutil.ExitUsage, "usage: kalypso ci start-workflow FILE"},
		{[]string{"start-workflow", "cd.yaml", "x"}, cmdutil.ExitUsage, "NAME=VALUE"},
		{[]string{"start-workflow", "cd.yaml", "x=1", "x=2"}, cmdutil.ExitUsage, "twice"},
		{[]string{"start-workflow", ".github/cd.yaml"}, cmdutil.ExitUsage, "without a folder"},
		{[]string{"start-workflow", "cd.yaml", "--ref", "nope"}, cmdutil.ExitFailure, "branch nope"},
		{[]string{"promoted-commit"}, cmdutil.ExitUsage, "GITHUB_SHA"},
		{[]string{"render", "here"}, cmdutil.ExitUsage, "usage: kalypso ci render"},
	} {
		r := newRunner(t, "kalypso/x")
		r.forge.Push("kalypso/x", "main", map[string]string{"a": "b"})
		r.fleet = func() ([]fleet.Configuration, error) { return nil, nil }
		d := r.step(test.args...)
		if d.code != test.code {
			t.Errorf("%v: exit code %d, want %d\n%s", test.args, d.code, test.code, d.talk)
		}
		if !strings.Contains(d.talk, test.says) {
			t.Errorf("%v says\n%swant %q", test.args, d.talk, test.says)
		}
		if d.out != "" || len(d.outputs) != 0 {
			t.Errorf("%v: an error prints %q and sets %v", test.args, d.out, d.outputs)
		}
	}
}

// TestRefusedToken has an exit code of its own and names the variables.
func TestRefusedToken(t *testing.T) {
	r, commit, _ := platform(t)
	r.forge.Down(func(forgefake.Call) error { return gitclient.ErrDenied })
	d := r.step("promote", "--environment", "dev", "--commit", commit)
	if d.code != cmdutil.ExitAuthentication || !strings.Contains(d.talk, "KALYPSO_CI_TOKEN") {
		t.Errorf("exit code %d\n%s", d.code, d.talk)
	}
}

// TestSecretsAreNotFlags: what is on a command line is in the log.
func TestSecretsAreNotFlags(t *testing.T) {
	c := NewCommand(&cmdutil.App{})
	for _, verb := range c.Commands() {
		for _, word := range []string{"token", "password", "secret"} {
			if verb.Flags().Lookup(word) != nil {
				t.Errorf("%s has --%s", verb.Name(), word)
			}
		}
		if verb.Example == "" || verb.Long == "" {
			t.Errorf("%s has no text or no example", verb.Name())
		}
	}
}

// TestMissingVariables uses the real door: without a runner's variables it is
// said which ones are needed.
func TestMissingVariables(t *testing.T) {
	for _, name := range []string{"GITHUB_SERVER_URL", "GITHUB_TOKEN", "KALYPSO_CI_TOKEN", "GITHUB_OUTPUT", "GITHUB_RUN_ID", "KALYPSO_ARM_SUBSCRIPTION", "AZURE_SUBSCRIPTION_ID", "KALYPSO_ARM_TOKEN", "KALYPSO_ARM_ENDPOINT", "AZURE_CLOUD_NAME", "GITHUB_ACTIONS"} {
		t.Setenv(name, "")
	}
	t.Setenv("AZURE_CONFIG_DIR", t.TempDir()) // no login of the Azure CLI
	t.Setenv("GITHUB_REPOSITORY", "kalypso/x")
	commit := strings.Repeat("ab", 20)
	set := func(name, value string) func() { return func() { t.Setenv(name, value) } }
	for _, test := range []struct {
		first func()
		says  string
		hint  string
		args  []string
	}{
		{func() {}, "GITHUB_SERVER_URL", "", nil},
		{set("GITHUB_SERVER_URL", "http://127.0.0.1:1"), "GITHUB_TOKEN", "", nil},
		{set("GITHUB_TOKEN", "t"), "KALYPSO_ARM_SUBSCRIPTION", "`kalypso credentials`", nil},
		{func() {}, "AzureMoon", "", []string{"--cloud", "AzureMoon"}},
		{set("KALYPSO_ARM_ENDPOINT", "http://127.0.0.1:1"), "KALYPSO_ARM_TOKEN", "`kalypso credentials`", nil},
		{set("GITHUB_ACTIONS", "true"), "KALYPSO_ARM_TOKEN", "", nil},
	} {
		test.first()
		var out, talk strings.Builder
		root := newRunner(t, "kalypso/x").root(NewCommand(&cmdutil.App{Out: &out, Err: &talk}))
		root.SetArgs(append([]string{"ci", "wait-for-deployment", "--branch", "dev", "--commit", commit}, test.args...))
		err := root.ExecuteContext(t.Context())
		if err == nil || cmdutil.ExitCode(err) != cmdutil.ExitUsage || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%v, want %s", err, test.says)
		}
		if got := cmdutil.Hint(err); !strings.Contains(got, test.hint) || (got == "") != (test.hint == "") {
			t.Errorf("%v: hint %q, want %q", err, got, test.hint)
		}
	}
}
