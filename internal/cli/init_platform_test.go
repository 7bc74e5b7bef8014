package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/testkit/gitkit"
	"github.com/kalypso-dev/kalypso/internal/testkit/orbital"
)

// platformWorkshop is a workshop that `workshop from` has made of a platform with
// histories.
func platformWorkshop(t *testing.T, more ...string) (folder, clones string) {
	t.Helper()
	withoutSandbox(t)
	clones, folder = t.TempDir(), filepath.Join(t.TempDir(), "orbital")
	args := []string{"workshop", "from", "--control-plane", filepath.Join(clones, "ground-control"), "--out", folder}
	for _, name := range orbital.Write(t, clones) {
		if name != "ground-control" {
			args = append(args, "--clone", filepath.Join(clones, name))
		}
	}
	if code, out, talk := call(t, append(args, more...)...); code != cmdutil.ExitOK {
		t.Fatalf("exit code %d, %s%s", code, out, talk)
	}
	return folder, clones
}

// TestInitOfAPlatform makes an organisation on GitHub of a platform that is none of the
// tutorials', with its histories, and lets the scheduler plan it there.
func TestInitOfAPlatform(t *testing.T) {
	folder, clones := platformWorkshop(t)
	s, initialise := emptyOrganisation(t)
	config := filepath.Join(t.TempDir(), "scheduler.yaml")
	args := []string{"--workshop", folder, "--secret-env", "ORBITAL_BOT_TOKEN=BOT_TOKEN", "--config", config}
	if code, out, talk := initialise(append(args, "--dry-run")...); code != cmdutil.ExitOK || len(writes(s.Calls())) > 0 {
		t.Fatalf("a dry run: exit code %d, %q, %q; it has written %q", code, out, talk, writes(s.Calls()))
	}
	if code, out, talk := initialise(args...); code != cmdutil.ExitOK {
		t.Fatalf("exit code %d, %q, %q", code, out, talk)
	}
	if got := s.Secret("kalypso/ground-control", "", "ORBITAL_BOT_TOKEN"); got != initSecret {
		t.Errorf("the secret is %q", got)
	}
	for _, branch := range append(orbital.Environments, "main") {
		files := s.Files("kalypso/ground-control", branch)
		if len(files) == 0 {
			t.Errorf("ground-control has no branch %s", branch)
		}
		for file, content := range files {
			if strings.Contains(content, orbital.Organisation) {
				t.Errorf("%s of branch %s points to the original", file, branch)
			}
		}
	}
	if got, want := s.Log("kalypso/vesta", "main", "%H"), gitkit.Run(t, filepath.Join(clones, "vesta"), "rev-parse", "main"); len(got) < 2 || got[1] != want {
		t.Errorf("vesta has %q, and not its history with %s below the addresses", got, want)
	}
	if code, out, talk := call(t, "scheduler", "once", "--config", config, "--exit-code"); code != cmdutil.ExitChanges || !strings.Contains(out, "lab: opened ") {
		t.Fatalf("exit code %d, %q, %q", code, out, talk)
	}
	if code, out, talk := initialise(args...); code != cmdutil.ExitOK || strings.Contains(talk, "push ") {
		t.Errorf("again: exit code %d, %q, %q", code, out, talk)
	}
}

// TestInitOfAPartOfAHistory refuses what GitHub does not take before anything is made.
func TestInitOfAPartOfAHistory(t *testing.T) {
	folder, _ := platformWorkshop(t, "--depth", "1")
	s, initialise := emptyOrganisation(t)
	if code, _, talk := initialise("--workshop", folder); code != cmdutil.ExitUsage || !strings.Contains(talk, "--depth") || len(writes(s.Calls())) > 0 {
		t.Errorf("exit code %d, %q; it has written %q", code, talk, writes(s.Calls()))
	}
}
