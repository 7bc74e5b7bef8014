//go:build e2e

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

const browserLimit = 90 * time.Second

// browse looks at the scheduler's pull request in a real browser.
func browse(t *testing.T, m *machine) {
	lacks := func(format string, args ...any) {
		t.Helper()
		if os.Getenv("KALYPSO_REQUIRE_BROWSER") != "" {
			t.Fatalf(format, args...)
		}
		t.Skipf(format, args...)
	}
	chromium := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			chromium = path
			break
		}
	}
	if chromium == "" {
		lacks("there is no chromium on this machine")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		lacks("there is no node on this machine")
	}
	pulls := m.pulls("kalypso-platform-gitops")
	if len(pulls) == 0 {
		t.Fatal("there is no pull request to look at")
	}
	dir := filepath.Join(m.dir, "browser")
	if err := os.CopyFS(dir, os.DirFS("browser")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), browserLimit)
	defer cancel()
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); err != nil {
		install := exec.CommandContext(ctx, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
		install.Dir = dir
		if out, err := install.CombinedOutput(); err != nil {
			lacks("playwright-core cannot be installed: %v\n%s", err, out)
		}
	}
	screenshots := os.Getenv("KALYPSO_SCREENSHOTS")
	if screenshots == "" {
		screenshots = filepath.Join(dir, "screenshots")
	}
	c := m.credentials()
	cmd := exec.CommandContext(ctx, node, "check.mjs")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(),
		"CHROMIUM="+chromium, "SCREENSHOTS="+screenshots,
		"FORGE_URL="+c.URL, "FORGE_USER="+c.User, "FORGE_PASSWORD="+c.Password,
		"PULL_URL="+pulls[0].URL, "PULL_TITLE="+pulls[0].Title,
	)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
}
