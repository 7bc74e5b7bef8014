package scenario

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"github.com/kalypso-dev/kalypso/scenarios"
)

func TestReserve(t *testing.T) {
	dir := t.TempDir()
	if _, err := reserve(filepath.Join(dir, "nowhere", "x.xml")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
	file := filepath.Join(dir, "x.xml")
	unused, err := reserve(file)
	if err != nil {
		t.Fatal(err)
	}
	unused()
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty file is left: %v", err)
	}
	for _, content := range []string{"results of the run before", ""} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if unused, err = reserve(file); err != nil {
			t.Fatal(err)
		}
		unused()
		if b, err := os.ReadFile(file); string(b) != content || err != nil {
			t.Errorf("%q became %q, %v", content, b, err)
		}
	}
}

// The folder of a failure is the last that a user reads, and the failure is
// still one of a check.
func TestFailureNamesItsFolderLast(t *testing.T) {
	failure := &scenarios.CheckError{Scenario: "drift", Step: "See it", Reason: "not there"}
	err := withDump(failure, []scenarios.Result{{State: scenarios.Passed}, {State: scenarios.Failed, Dump: "/home/failures/1-drift"}})
	if want := "scenario drift: See it: not there\nWhat is known of the failure is in /home/failures/1-drift"; err.Error() != want {
		t.Errorf("%v", err)
	}
	if code := cmdutil.ExitCode(err); code != cmdutil.ExitScenario {
		t.Errorf("exit code %d", code)
	}
	if err := withDump(nil, nil); err != nil {
		t.Error(err)
	}
}

func TestSimulatedClusters(t *testing.T) {
	got := simulatedClusters(&sandbox.Status{
		Existing:   []sandbox.ExistingCluster{{Name: "drone", Pods: "its nodes cannot pull"}},
		Components: []sandbox.Component{{Status: supervisor.Status{Name: "node-large", Title: "simulated node of large"}}, {Status: supervisor.Status{Name: "node-edge", Title: "node of edge"}}},
	})
	if len(got) != 2 || got["drone"] != "its nodes cannot pull" || got["large"] == "" {
		t.Errorf("%v", got)
	}
}
