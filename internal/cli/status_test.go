package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

func TestStatusAsJSONHasAllOfTheTable(t *testing.T) {
	d := runningSandbox(t)
	d.change(func(c *sandbox.Component) { c.LastFailure, c.Restarts = "ended by itself", 1 })
	code, out, talk := call(t, "status", "-o", "json")
	var s struct{ Components []map[string]any }
	if err := json.Unmarshal([]byte(out), &s); code != cmdutil.ExitOK || err != nil {
		t.Fatalf("exit code %d, %v: %s", code, err, talk)
	}
	gitea := s.Components[1]
	for name, want := range map[string]any{
		"name": "gitea", "state": "ready", "pid": 77.0, "restarts": 1.0, "memoryBytes": float64(200 << 20),
		"url": "http://localhost:2", "lastFailure": "ended by itself",
	} {
		if gitea[name] != want {
			t.Errorf("%s is %v, want %v", name, gitea[name], want)
		}
	}
	if _, err := time.Parse(time.RFC3339Nano, fmt.Sprint(gitea["since"])); err != nil {
		t.Error(err)
	}
}

func TestStatusWatch(t *testing.T) {
	d := runningSandbox(t)
	out, talk, interrupt := background(t, "status", "--watch")
	out.await(t, "basic-inference: ready", 1)
	d.change(func(c *sandbox.Component) { c.State, c.Reason, c.PID = supervisor.Starting, "port closed", 0 })
	out.await(t, "gitea: port closed", 1)
	d.change(func(c *sandbox.Component) { c.State, c.Reason, c.PID = supervisor.Ready, "", 78 })
	out.await(t, "basic-inference: ready", 2)
	if code := interrupt(); code != cmdutil.ExitInterrupted || talk.String() != "" {
		t.Errorf("exit code %d, says %q", code, talk)
	}
	// a block with the time for each change and no more
	if blocks := strings.Count("\n"+out.String(), "\n--- "); blocks != 3 || strings.Contains(out.String(), "\x1b") {
		t.Errorf("%d blocks, want 3:\n%s", blocks, out)
	}
}

func TestStatusWatchAsJSON(t *testing.T) {
	d := runningSandbox(t)
	out, _, interrupt := background(t, "status", "-w", "-o", "json")
	out.await(t, "\n", 1)
	d.change(func(c *sandbox.Component) { c.State = supervisor.Stopping })
	out.await(t, "\n", 2)
	interrupt()
	var states []string
	for line := range strings.Lines(out.String()) {
		var s sandbox.Status
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatal(err)
		}
		states = append(states, string(s.Components[1].State))
	}
	if !slices.Equal(states, []string{"ready", "stopping"}) {
		t.Errorf("states %q", states)
	}
}

func TestStatusWatchOfASandboxThatIsDeleted(t *testing.T) {
	d := runningSandbox(t)
	if err := os.Remove(filepath.Join(d.home, "daemon.sock")); err != nil {
		t.Fatal(err)
	}
	out, talk, interrupt := background(t, "status", "--watch")
	out.await(t, "is down", 1)
	if err := os.Remove(filepath.Join(d.home, "sandbox.json")); err != nil {
		t.Fatal(err)
	}
	talk.await(t, "there is no sandbox", 1)
	interrupt()
	if strings.Count(out.String(), "is down") != 1 {
		t.Errorf("says twice that nothing has changed:\n%s", out)
	}
}

func TestStatusMistakes(t *testing.T) {
	for _, args := range [][]string{{"status", "--watch", "-o", "xml"}, {"status", "--watch", "gitea"}, {"status", "--watch=perhaps"}} {
		if code, out, talk := call(t, args...); code != cmdutil.ExitUsage || out != "" {
			t.Errorf("%v: exit code %d, %q, %q", args, code, out, talk)
		}
	}
	if code, _, talk := call(t, "status", "--watch"); code != cmdutil.ExitFailure || !strings.Contains(talk, "run `kalypso up`") {
		t.Errorf("exit code %d, %q", code, talk)
	}
}

func TestStatusExitCode(t *testing.T) {
	d := runningSandbox(t)
	expect := func(want int, args ...string) {
		t.Helper()
		if code, out, talk := call(t, append([]string{"status"}, args...)...); code != want || out == "" || talk != "" {
			t.Errorf("%v: exit code %d, want %d; %q, %q", args, code, want, out, talk)
		}
	}
	expect(cmdutil.ExitOK, "--exit-code")
	d.change(func(c *sandbox.Component) { c.State, c.Reason = supervisor.Silent, "does not answer within 2s" })
	expect(cmdutil.ExitOK)
	expect(cmdutil.ExitProblems, "--exit-code")
	expect(cmdutil.ExitProblems, "--exit-code", "-o", "json")
	if err := os.Remove(filepath.Join(d.home, "daemon.sock")); err != nil {
		t.Fatal(err)
	}
	expect(cmdutil.ExitFailure)
	expect(cmdutil.ExitFailure, "-o", "json")
}

func TestStatusShowsOneShotComponentsOnRequest(t *testing.T) {
	runningSandbox(t)
	for _, args := range [][]string{{"status"}, {"status", "--all"}} {
		code, out, talk := call(t, args...)
		if shown := strings.Contains(out, "unpack-kube"); code != cmdutil.ExitOK || shown != (len(args) > 1) {
			t.Errorf("%v: exit code %d, %s\n%s", args, code, talk, out)
		}
	}
}
