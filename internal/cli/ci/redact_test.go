package ci

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/testkit/forgefake"
)

// TestPasswordsInURLs gives create-pr passwords in all that it is given: neither what
// it prints, nor its outputs, nor the pull request has one.
func TestPasswordsInURLs(t *testing.T) {
	const repo = "kalypso/app-gitops"
	for name, down := range map[string]func(forgefake.Call) error{
		"all well": nil,
		"the forge fails": func(c forgefake.Call) error {
			return fmt.Errorf("no answer from http://user:hush@forge.test/%s", c.Repo)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRunner(t, "kalypso/app")
			r.env["GITHUB_SHA"] = strings.Repeat("ab", 20)
			for _, variable := range []string{"GITHUB_SERVER_URL", "GITHUB_API_URL"} {
				r.env[variable] = strings.Replace(r.env[variable], "://", "://user:hush@", 1)
			}
			r.forge.Push(repo, "dev", map[string]string{"README.md": "x"})
			r.forge.Down(down)
			t.Chdir(t.TempDir())
			if err := os.WriteFile("a.yaml", []byte("a: b\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, named := range []string{"http://user:hush@forge.test/" + repo + ".git", "http://user:hush@other.test/" + repo} {
				d := r.step("create-pr", "--repo", named, "--base", "dev", "--from", ".",
					"--title", "Deploy http://user:hush@forge.test/x", "--body", "from http://user:hush@forge.test/x", "--label", "deployment")
				if want := down == nil && strings.Contains(named, "forge.test"); (d.code == cmdutil.ExitOK) != want {
					t.Errorf("%s: exit code %d\n%s", named, d.code, d.talk)
				}
				if text := d.out + d.talk + fmt.Sprint(d.outputs); strings.Contains(text, "hush") {
					t.Errorf("%s: %s", named, text)
				}
			}
			r.forge.Down(nil)
			pulls := r.forge.AllPullRequests(repo)
			if text := fmt.Sprint(pulls, r.forge.Log(repo, "kalypso/app-to-dev")); strings.Contains(text, "hush") || (len(pulls) == 1) != (down == nil) {
				t.Error(text)
			}
		})
	}
}
