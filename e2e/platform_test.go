//go:build e2e

package e2e

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/internal/testkit/gitkit"
	"github.com/kalypso-dev/kalypso/internal/testkit/orbital"
	"github.com/kalypso-dev/kalypso/workshop/platform"
)

// TestPlatform brings up a copy of a platform that is none of the tutorials', changes
// it, and brings the change home.
func TestPlatform(t *testing.T) {
	m := newMachine(t)
	clones := filepath.Join(m.dir, "clones")
	names := orbital.Write(t, clones)
	control := filepath.Join(clones, "ground-control")
	scenario := scenarioOfThePage(t)
	tests := filepath.Join(m.dir, "my-tests")
	err := errors.Join(os.Mkdir(tests, 0o755), os.WriteFile(filepath.Join(tests, "change.txtar"), []byte(scenario), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	_, policy, _ := strings.Cut(scenario, "-- standby.yaml --\n")
	policy, _, _ = strings.Cut(policy, "-- namespace.yaml --\n")
	gitkit.Run(t, control, "checkout", "--quiet", "-b", "change", "lab")
	if err := os.WriteFile(filepath.Join(control, "stations", "standby.yaml"), []byte(policy), 0o644); err != nil {
		t.Fatal(err)
	}
	gitkit.Run(t, control, "add", "--all")
	gitkit.Run(t, control, "commit", "--quiet", "-m", "Keep at the antenna, too")
	gitkit.Run(t, control, "checkout", "--quiet", "main")

	began := time.Now()
	folder := filepath.Join(m.dir, "orbital")
	args := []string{"workshop", "from", "--control-plane", control, "--out", folder, "--cluster-types", "antenna-north,archive", "-o", "json"}
	for _, name := range names {
		if name != "ground-control" {
			args = append(args, "--clone", filepath.Join(clones, name))
		}
	}
	m.run(args...)
	t.Logf("from: %.1f s", time.Since(began).Seconds())
	m.tutorial = folder
	out := m.up()
	t.Logf("up: %.1f s", out.took.Seconds())
	m.run("validate")

	junit := filepath.Join(m.dir, "junit.xml")
	out, err = m.try("scenario", "run", tests, "--junit", junit)
	if err != nil {
		t.Fatalf("%v\n%s", err, out.all())
	}
	t.Logf("scenario: %.1f s\n%s", out.took.Seconds(), out.stdout)

	// a change by pull request, with an address
	org := m.credentials().OrgURL
	m.push("ground-control", "notes", map[string]string{"NOTES.md": "See " + org + "/mission-catalog.\n"})
	var opened struct{ Number int }
	m.decode(m.forge(http.MethodPost, "repos/kalypso/ground-control/pulls", `{"head": "notes", "base": "main", "title": "Add notes"}`), &opened)
	m.merge("ground-control", opened.Number)

	patches := filepath.Join(m.dir, "patches")
	var exported platform.Exported
	m.decode(m.run("workshop", "export", "--to", patches, "-o", "json").stdout, &exported)
	got := map[string]string{}
	for _, s := range exported.Series {
		clone := filepath.Join(clones, s.Repository)
		gitkit.Run(t, clone, "checkout", "--quiet", s.Branch)
		before := gitkit.Run(t, clone, "rev-parse", "HEAD")
		gitkit.Run(t, clone, append([]string{"am", "--quiet", "--keep-cr", "--keep-non-patch"}, s.Patches...)...)
		got[s.Repository+"@"+s.Branch] = gitkit.Run(t, clone, "diff", "--unified=0", "--no-prefix", before, "HEAD")
	}
	want := map[string]string{"ground-control@lab": added("stations/standby.yaml", policy), "ground-control@main": added("NOTES.md", "See "+orbital.Organisation+"/mission-catalog.git.\n")}
	if diff := cmp.Diff(want, withoutIndex(got)); diff != "" {
		t.Errorf("what came home (-want +got):\n%s\n%+v", diff, exported)
	}
	t.Logf("all of it: %.1f s", time.Since(began).Seconds())
}

// scenarioOfThePage is the one that docs/ci.md has for the reader's own platform.
func scenarioOfThePage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "docs", "ci.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, scenario, _ := strings.Cut(string(page), "```text\n")
	scenario, _, found := strings.Cut(scenario, "```")
	if !found {
		t.Fatal("the page has no scenario")
	}
	return scenario
}

// added is the diff of a new file.
func added(file, content string) string {
	text := "diff --git " + file + " " + file + "\nnew file mode 100644\n--- /dev/null\n+++ " + file + "\n@@ -0,0 +1"
	if n := strings.Count(content, "\n"); n > 1 {
		text += "," + strconv.Itoa(n)
	}
	return text + " @@\n+" + strings.ReplaceAll(strings.TrimSuffix(content, "\n"), "\n", "\n+")
}

// withoutIndex leaves out of diffs the IDs of contents.
func withoutIndex(diffs map[string]string) map[string]string {
	for name, diff := range diffs {
		var kept []string
		for _, line := range strings.Split(diff, "\n") {
			if !strings.HasPrefix(line, "index ") {
				kept = append(kept, line)
			}
		}
		diffs[name] = strings.Join(kept, "\n")
	}
	return diffs
}
