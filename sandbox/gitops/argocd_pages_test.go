package gitops

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// browseArgoCD looks at the pages in a real browser, when
// KALYPSO_TEST_BROWSER is a folder in which npm has installed playwright-core.
// Screenshots go to the folder KALYPSO_SCREENSHOTS.
func browseArgoCD(t *testing.T, a ArgoCD, application string) {
	t.Helper()
	modules := os.Getenv("KALYPSO_TEST_BROWSER")
	chromium, err := exec.LookPath("chromium")
	if modules == "" || err != nil {
		t.Log("the pages were not looked at: no KALYPSO_TEST_BROWSER, or no chromium")
		return
	}
	screenshots := os.Getenv("KALYPSO_SCREENSHOTS")
	if screenshots == "" {
		screenshots = t.TempDir()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", filepath.Join("testdata", "argocd.mjs"))
	cmd.Env = append(os.Environ(), "MODULES="+modules, "CHROMIUM="+chromium, "SCREENSHOTS="+screenshots,
		"ARGOCD_URL="+a.URL(), "ARGOCD_USER="+ArgoCDUser, "ARGOCD_PASSWORD="+a.Password, "ARGOCD_APPLICATIONS="+application)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
}
