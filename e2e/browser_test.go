//go:build e2e

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

const browserLimit = 8 * time.Minute

// browser is what it takes to look at pages as a user does.
type browser struct {
	node, chromium string
	dir            string // with playwright-core
	screenshots    string
}

// newBrowser skips the test where there is no browser, unless one is required.
func newBrowser(t *testing.T, m *machine) browser {
	t.Helper()
	lacks := func(format string, args ...any) {
		t.Helper()
		if os.Getenv("KALYPSO_REQUIRE_BROWSER") != "" {
			t.Fatalf(format, args...)
		}
		t.Skipf(format, args...)
	}
	b := browser{dir: filepath.Join(m.dir, "browser"), screenshots: os.Getenv("KALYPSO_SCREENSHOTS")}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			b.chromium = path
			break
		}
	}
	if b.chromium == "" {
		lacks("there is no chromium on this machine")
	}
	var err error
	if b.node, err = exec.LookPath("node"); err != nil {
		lacks("there is no node on this machine")
	}
	if b.screenshots == "" {
		b.screenshots = filepath.Join(b.dir, "screenshots")
	}
	if _, err := os.Stat(filepath.Join(b.dir, "node_modules")); err != nil {
		if err := os.CopyFS(b.dir, os.DirFS("browser")); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), browserLimit)
		defer cancel()
		install := exec.CommandContext(ctx, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
		install.Dir = b.dir
		if out, err := install.CombinedOutput(); err != nil {
			lacks("playwright-core cannot be installed: %v\n%s", err, out)
		}
	}
	return b
}

// check runs a script that looks at pages.
func (b browser) check(t *testing.T, script string, env ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), browserLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.node, script)
	cmd.Env = append(os.Environ(), "CHROMIUM="+b.chromium, "SCREENSHOTS="+b.screenshots, "MODULES="+b.dir)
	cmd.Env = append(cmd.Env, env...)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
}

// browse looks at the scheduler's pull request.
func browse(t *testing.T, m *machine) {
	b := newBrowser(t, m)
	pulls := m.pulls("kalypso-platform-gitops")
	pulls = slices.DeleteFunc(pulls, func(p pull) bool { return p.Base.Ref != "dev" }) // others assign nothing
	if len(pulls) == 0 {
		t.Fatal("there is no pull request to look at")
	}
	c := m.credentials()
	b.check(t, filepath.Join(b.dir, "forge.mjs"),
		"FORGE_URL="+c.URL, "FORGE_USER="+c.User, "FORGE_PASSWORD="+c.Password,
		"PULL_URL="+pulls[0].URL, "PULL_TITLE="+pulls[0].Title)
}
