package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/sandbox"
)

func TestReset(t *testing.T) {
	for _, c := range []struct {
		name, events string
		args         []string
		code         int
		says         string
	}{
		{"done", readyEvents, []string{"reset", "--yes"}, cmdutil.ExitOK, "Back at the beginning, and ready ("},
		{"not asked", readyEvents, []string{"reset"}, cmdutil.ExitUsage, "will be lost.\nThere is no terminal to ask at: add --yes"},
		{"fails", failEvents, []string{"reset", "-y"}, cmdutil.ExitFailure, "`kalypso doctor` looks for causes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			oneDaemon(t, c.events, answer("{}"))
			code, out, talk := call(t, c.args...)
			if code != c.code || out != "" || strings.Count(talk, c.says) != 1 {
				t.Errorf("exit code %d, want %d; %q, says %q, want %q", code, c.code, out, talk, c.says)
			}
		})
	}
}

func TestResetOfASandboxThatIsDown(t *testing.T) {
	for _, args := range [][]string{{"reset"}, {"reset", "--yes"}} {
		if code, _, talk := call(t, args...); code != cmdutil.ExitFailure || !strings.Contains(talk, "there is no sandbox yet: run `kalypso up`") {
			t.Errorf("%v: exit code %d, says %q", args, code, talk)
		}
	}
	logHome(t)
	data := filepath.Join(os.Getenv("KALYPSO_HOME"), "gitea", "db")
	writeFile(t, data, []byte("used"))
	if code, _, talk := call(t, "reset", "--yes"); code != cmdutil.ExitOK || !strings.Contains(talk, "The sandbox is down: `kalypso up` brings it.") {
		t.Errorf("exit code %d, says %q", code, talk)
	}
	if _, err := os.Stat(data); err == nil {
		t.Error("the data is still there")
	}
}

func TestInterruptedResetGoesOn(t *testing.T) {
	oneDaemon(t, lateEvents, answer("{}"))
	_, talk, interrupt := background(t, "reset", "--yes")
	if code := interrupt(); code != cmdutil.ExitInterrupted || !strings.Contains(talk.String(), "`kalypso status` shows it") {
		t.Errorf("exit code %d, says %q", code, talk)
	}
}

// TestResetToAFolderAsItIsNow is of a sandbox that is down.
func TestResetToAFolderAsItIsNow(t *testing.T) {
	t.Setenv("KALYPSO_HOME", filepath.Join(t.TempDir(), "home"))
	t.Chdir(t.TempDir())
	for _, name := range []string{"my-kata", "other"} {
		if code, _, talk := call(t, "workshop", "new", name); code != cmdutil.ExitOK {
			t.Fatalf("exit code %d, says %q", code, talk)
		}
	}
	home, choice := sandbox.Home(os.Getenv("KALYPSO_HOME")), sandbox.Choice{Workshop: "./my-kata"}
	if err := choice.Open(t.Context(), t.TempDir()); err != nil {
		t.Fatal(err)
	}
	if _, err := home.Ensure(t.Context(), choice); err != nil {
		t.Fatal(err)
	}
	writeFile(t, "my-kata/scenarios/first-deployment.txtar", []byte("# Another\n"))
	const hint = "kalypso reset --workshop "
	if code, _, talk := call(t, "up", "--workshop", "./my-kata"); code != cmdutil.ExitUsage || !strings.Contains(talk, hint) {
		t.Errorf("up: exit code %d, says %q", code, talk)
	}
	if code, _, talk := call(t, "reset", "--yes"); code != cmdutil.ExitOK || !strings.Contains(talk, hint) {
		t.Errorf("reset: exit code %d, says %q", code, talk)
	}
	if code, _, talk := call(t, "reset", "--yes", "--workshop", "./other"); code != cmdutil.ExitUsage || strings.Contains(talk, "Back at the beginning") {
		t.Errorf("reset to another workshop: exit code %d, says %q", code, talk)
	}
	if code, _, talk := call(t, "reset", "--workshop", "./my-kata"); code != cmdutil.ExitUsage || !strings.Contains(talk, "add --yes") {
		t.Errorf("reset without an answer: exit code %d, says %q", code, talk)
	}
	if code, _, talk := call(t, "reset", "--yes", "--workshop", "./my-kata"); code != cmdutil.ExitOK || strings.Contains(talk, hint) {
		t.Errorf("reset to the folder: exit code %d, says %q", code, talk)
	}
	if s, err := home.Load(); err != nil || s.IsOutdated() {
		t.Errorf("it is still as before, %v", err)
	}
	writeFile(t, "my-kata/workshop.yaml", []byte("kind: [\n"))
	for _, args := range [][]string{{"up", "--workshop", "./my-kata"}, {"reset", "--yes", "--workshop", "./my-kata"}} {
		if code, _, talk := call(t, args...); code != cmdutil.ExitUsage || !strings.Contains(talk, "workshop.yaml:1: ") {
			t.Errorf("%v of a broken folder: exit code %d, says %q", args, code, talk)
		}
	}
}
