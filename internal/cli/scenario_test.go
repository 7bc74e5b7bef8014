package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
)

// Without a sandbox the scenarios can be read, not done.
func TestScenariosWithoutSandbox(t *testing.T) {
	for _, c := range []struct {
		args      []string
		code      int
		out, talk string // what must be in them
	}{
		{[]string{"scenario", "list"}, cmdutil.ExitOK, "schedule-dev", "kalypso scenario learn onboard-app"},
		{[]string{"scenario", "show", "onboard-app"}, cmdutil.ExitOK, "\n    git clone --branch main $ORG_URL/kalypso-control-plane\n", ""},
		{[]string{"scenario", "show", "onboard-app"}, cmdutil.ExitOK, "At the push, git asks for user and password.", ""},
		{[]string{"scenario", "show", "schedule-dev"}, cmdutil.ExitOK, "" +
			"    [ -d kalypso-control-plane ] || git clone --branch dev $ORG_URL/kalypso-control-plane\n" +
			"    git -C kalypso-control-plane fetch\n" +
			"    git -C kalypso-control-plane switch dev\n" +
			"    git -C kalypso-control-plane pull\n", ""},
		{[]string{"scenario", "show", "schedule-dev", "-o", "markdown"}, cmdutil.ExitOK, "## Step 1 of ", ""},
		{[]string{"scenario", "show", "schedule-dev", "--raw"}, cmdutil.ExitOK, "\nsolve\nclone kalypso-control-plane dev\n", ""},
		{[]string{"scenario", "show", "schedule-dev", "-o", "xml"}, cmdutil.ExitUsage, "", "choose text, markdown or json"},
		{[]string{"scenario", "show", "nothing"}, cmdutil.ExitUsage, "", `there is no scenario "nothing"`},
		{[]string{"scenario", "run"}, cmdutil.ExitUsage, "", "Name scenarios, or say --all."},
		{[]string{"scenario", "learn", "onboard-app"}, cmdutil.ExitFailure, "", "run `kalypso up`"},
		{[]string{"scenario", "check"}, cmdutil.ExitFailure, "", "run `kalypso up`"},
		{[]string{"scenario", "reset"}, cmdutil.ExitOK, "", "`kalypso reset` brings the sandbox back"},
	} {
		code, out, talk := call(t, c.args...)
		if code != c.code || !strings.Contains(out, c.out) || !strings.Contains(talk, c.talk) {
			t.Errorf("%v: exit code %d, want %d, and %q, %q in\n%s%s", c.args, code, c.code, c.out, c.talk, out, talk)
		}
	}
}

// What has been learned is in the list, and is forgotten when asked for.
func TestScenarioProgress(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	t.Setenv("KALYPSO_HOME", home)
	if err := os.MkdirAll(filepath.Join(home, "scenarios"), 0o700); err != nil {
		t.Fatal(err)
	}
	progress := []byte(`{"done": {"hello-world/onboard-app": ["Register the workload", "A step of an older kalypso"]}}`)
	if err := os.WriteFile(filepath.Join(home, "scenarios", "progress.json"), progress, 0o600); err != nil {
		t.Fatal(err)
	}
	learned := func() int {
		_, out, talk := call(t, "scenario", "list", "-o", "json")
		var all []struct{ Learned int }
		if err := json.Unmarshal([]byte(out), &all); err != nil {
			t.Fatalf("%v: %s%s", err, out, talk)
		}
		return all[0].Learned
	}
	if n := learned(); n != 1 {
		t.Errorf("%d steps are learned", n)
	}
	if code, _, talk := call(t, "scenario", "reset"); code != cmdutil.ExitOK {
		t.Error(talk)
	}
	if n := learned(); n != 0 {
		t.Errorf("after reset, %d steps are learned", n)
	}
}
