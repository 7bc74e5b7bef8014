package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/testkit/githubfake"
	"github.com/kalypso-dev/kalypso/internal/testkit/gitkit"
)

func TestEditPropose(t *testing.T) {
	withoutSandbox(t)
	forge := githubfake.Start(t)
	root := t.TempDir()
	writeWorkshop(t, root, forge.URL+"/acme")
	const control = "acme/kalypso-control-plane"
	for _, repo := range []string{"kalypso-control-plane"} {
		for _, branch := range []string{"main", "dev"} {
			forge.Push("acme/"+repo, branch, filesOf(t, filepath.Join(root, repo), branch))
		}
	}
	t.Setenv("KALYPSO_TEST_TOKEN", forge.User("bot").Token)
	config := filepath.Join(root, "scheduler.yaml")
	writeFile(t, config, fmt.Appendf(nil, "forge: {type: github, url: %q, tokenEnv: KALYPSO_TEST_TOKEN}\ncontrolPlane: {repo: %q}\n", forge.URL, forge.CloneURL(control)))
	hub := filepath.Join(root, "hub.yaml")
	writeFile(t, filepath.Join(root, "both.yaml"), fmt.Appendf(nil, "forge: {type: github, url: %q, tokenEnv: KALYPSO_TEST_TOKEN}\ncontrolPlane: {repo: %q}\nwebhookSecret: s3cret\n", forge.URL, forge.CloneURL(control)))
	writeFile(t, hub, []byte("scheduler: {config: both.yaml}\nstore: {sqlite: hub.db}\nobserve: [{kubeconfig: none}]\n"))

	before := forge.Branch(control, "dev")
	code, out, talk := call(t, "edit", "set-label", "clustertype/dev", "gpu=true", "-e", "dev", "--dry-run", "--config", config)
	if code != cmdutil.ExitOK || !strings.Contains(out, "# Environment dev:") || !strings.Contains(out, "changed cluster-types/dev.yaml") || len(forge.Pulls(control)) != 0 {
		t.Fatalf("exit code %d: %s%s", code, out, talk)
	}
	code, out, talk = call(t, "edit", "set-label", "clustertype/dev", "gpu=true", "-e", "dev", "--propose", "--config", config, "--title", "With a GPU")
	pulls := forge.Pulls(control)
	if code != cmdutil.ExitOK || len(pulls) != 1 || pulls[0].Title != "With a GPU" || pulls[0].Base != "dev" || forge.Branch(control, "dev") != before {
		t.Fatalf("exit code %d: %s%s: %+v", code, out, talk, pulls)
	}
	if lines := strings.Split(strings.TrimSpace(out), "\n"); !strings.HasSuffix(lines[len(lines)-1], fmt.Sprintf("/%s/pull/%d", control, pulls[0].Number)) {
		t.Errorf("%s", out)
	}
	if code, again, talk := call(t, "edit", "set-label", "clustertype/dev", "gpu=true", "-e", "dev", "--propose", "--config", hub); code != cmdutil.ExitOK || again != out || len(forge.Pulls(control)) != 1 {
		t.Errorf("exit code %d: %s%s", code, again, talk)
	}
	for _, test := range []struct {
		code int
		says string
		args []string
	}{
		{cmdutil.ExitUsage, "--write", []string{"--propose", "--write"}},
		{cmdutil.ExitUsage, "--propose or --dry-run", []string{"--title", "a"}},
		{cmdutil.ExitFailure, "there is no environment deb", []string{"--dry-run", "-e", "deb"}},
		{cmdutil.ExitUsage, "which forge?", []string{"--dry-run", "--config", ""}},
	} {
		args := append([]string{"edit", "set-label", "clustertype/dev", "gpu=true"}, test.args...)
		if test.says != "--propose or --dry-run" && test.says != "which forge?" {
			args = append(args, "--config", config)
		}
		if code, out, talk := call(t, args...); code != test.code || !strings.Contains(talk, test.says) || out != "" {
			t.Errorf("%v: exit code %d: %s%s", test.args, code, out, talk)
		}
	}
	if code, _, talk := call(t, "edit", "set-label", "clustertype/devv", "gpu=true", "-e", "dev", "--propose", "--config", config); code != cmdutil.ExitFailure || !strings.Contains(talk, "did you mean dev?") {
		t.Errorf("exit code %d: %s", code, talk)
	}
}

// filesOf are the files of a branch of a clone.
func filesOf(t *testing.T, dir, branch string) map[string]string {
	t.Helper()
	gitkit.Run(t, dir, "checkout", "-q", branch)
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if d != nil && d.Name() == ".git" {
				return filepath.SkipDir
			}
			return err
		}
		content, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path) // both are absolute
		files[filepath.ToSlash(rel)] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
