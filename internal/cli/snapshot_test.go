package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/sandbox/snapshot"
)

// TestSnapshotOfASandboxThatIsDown is a session; each line goes on from the
// one before.
func TestSnapshotOfASandboxThatIsDown(t *testing.T) {
	logHome(t)
	data := filepath.Join(os.Getenv("KALYPSO_HOME"), "gitea", "db")
	writeFile(t, data, []byte("saved"))
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"list"}, cmdutil.ExitOK, "No snapshots. `kalypso snapshot save NAME` makes one."},
		{[]string{"load", "first", "--yes"}, cmdutil.ExitUsage, "nor any other: `kalypso snapshot save first` makes it"},
		{[]string{"save", "First"}, cmdutil.ExitUsage, `"First" is no name for a snapshot`},
		{[]string{"save"}, cmdutil.ExitUsage, "usage: kalypso snapshot save NAME"},
		{[]string{"save", "first"}, cmdutil.ExitOK, "`kalypso snapshot load first` brings it back."},
		{[]string{"save", "first"}, cmdutil.ExitUsage, "`kalypso snapshot delete first`"},
		{[]string{"load", "fist"}, cmdutil.ExitUsage, "did you mean first?"},
		{[]string{"load", "first"}, cmdutil.ExitUsage, "will be lost.\nThere is no terminal to ask at: add --yes"},
		{[]string{"load", "first", "--yes"}, cmdutil.ExitOK, "The sandbox is down: `kalypso up` brings it."},
		{[]string{"delete", "fist"}, cmdutil.ExitUsage, "did you mean first?"},
		{[]string{"delete", "first"}, cmdutil.ExitOK, "Deleted first."},
		{[]string{"delete", "first"}, cmdutil.ExitUsage, "nor any other"},
		{[]string{"drop"}, cmdutil.ExitUsage, `unknown command "drop"`},
	} {
		if c.args[0] == "load" && c.code == cmdutil.ExitOK {
			writeFile(t, data, []byte("later"))
		}
		code, out, talk := call(t, append([]string{"snapshot"}, c.args...)...)
		if code != c.code || out != "" || strings.Count(talk, c.says) != 1 {
			t.Errorf("%v: exit code %d, want %d; %q, says %q, want %q", c.args, code, c.code, out, talk, c.says)
		}
	}
	if b, err := os.ReadFile(data); err != nil || string(b) != "saved" {
		t.Errorf("%q, %v", b, err)
	}
}

func TestSnapshotOfARunningSandbox(t *testing.T) {
	oneDaemon(t, readyEvents, answer(`{"name": "first", "bytes": 34603008, "stillNanoseconds": 90000000}`))
	code, _, talk := call(t, "snapshot", "save", "first")
	if code != cmdutil.ExitOK || !strings.Contains(talk, "Saved first, 33.0 MiB, in 0.") || !strings.Contains(talk, "stood still for 0.09 s.") {
		t.Errorf("exit code %d, says %q", code, talk)
	}
	writeFile(t, filepath.Join(os.Getenv("KALYPSO_HOME"), "snapshots", "old", "snapshot.json"),
		[]byte(`{"workshop": "basic-inference", "version": "v0", "created": "2026-01-02T03:04:05Z", "bytes": 1048576}`))
	if code, _, talk := call(t, "snapshot", "load", "old", "--yes"); code != cmdutil.ExitOK || !strings.Contains(talk, "Loaded old, and ready (") || !strings.Contains(talk, "saved by kalypso v0, and this is "+testVersion) {
		t.Errorf("exit code %d, says %q", code, talk)
	}
	var all []snapshot.Snapshot
	code, out, _ := call(t, "snapshot", "list", "-o", "json")
	if err := json.Unmarshal([]byte(out), &all); code != cmdutil.ExitOK || err != nil || len(all) != 1 || all[0].Name != "old" {
		t.Errorf("exit code %d, %q: %v", code, out, err)
	}
}
