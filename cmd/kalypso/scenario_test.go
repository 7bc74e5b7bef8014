package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/scenarios"
)

// Without a sandbox the scenarios can be read, not done.
func TestScenariosWithoutSandbox(t *testing.T) {
	for _, c := range []struct {
		args      []string
		code      int
		out, talk string // what must be in them
	}{
		{[]string{"scenario", "list"}, exitOK, "schedule-dev", "kalypso scenario learn onboard-app"},
		{[]string{"scenario", "show", "onboard-app"}, exitOK, "\n    git clone --branch main $ORG_URL/kalypso-control-plane\n", ""},
		{[]string{"scenario", "show", "onboard-app"}, exitOK, "At the push, git asks for user and password.", ""},
		{[]string{"scenario", "show", "schedule-dev"}, exitOK, "" +
			"    [ -d kalypso-control-plane ] || git clone --branch dev $ORG_URL/kalypso-control-plane\n" +
			"    git -C kalypso-control-plane fetch\n" +
			"    git -C kalypso-control-plane switch dev\n" +
			"    git -C kalypso-control-plane pull\n", ""},
		{[]string{"scenario", "show", "schedule-dev", "-o", "markdown"}, exitOK, "## Step 1 of ", ""},
		{[]string{"scenario", "show", "schedule-dev", "--raw"}, exitOK, "\nsolve\nclone kalypso-control-plane dev\n", ""},
		{[]string{"scenario", "show", "schedule-dev", "-o", "xml"}, exitUsage, "", "choose text, markdown or json"},
		{[]string{"scenario", "show", "nothing"}, exitUsage, "", `there is no scenario "nothing"`},
		{[]string{"scenario", "run"}, exitUsage, "", "Name scenarios, or say --all."},
		{[]string{"scenario", "learn", "onboard-app"}, exitFailure, "", "run `kalypso up`"},
		{[]string{"scenario", "check"}, exitFailure, "", "run `kalypso up`"},
		{[]string{"scenario", "reset"}, exitOK, "", "`kalypso reset` brings the sandbox back"},
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
	if err := os.MkdirAll(filepath.Join(home, scenarioFolder), 0o700); err != nil {
		t.Fatal(err)
	}
	progress := []byte(`{"done": {"hello-world/onboard-app": ["Register the workload", "A step of an older kalypso"]}}`)
	if err := os.WriteFile(filepath.Join(home, scenarioFolder, "progress.json"), progress, 0o600); err != nil {
		t.Fatal(err)
	}
	learned := func() int {
		_, out, talk := call(t, "scenario", "list", "-o", "json")
		var all []listedScenario
		if err := json.Unmarshal([]byte(out), &all); err != nil {
			t.Fatalf("%v: %s%s", err, out, talk)
		}
		return all[0].Learned
	}
	if n := learned(); n != 1 {
		t.Errorf("%d steps are learned", n)
	}
	if code, _, talk := call(t, "scenario", "reset"); code != exitOK {
		t.Error(talk)
	}
	if n := learned(); n != 0 {
		t.Errorf("after reset, %d steps are learned", n)
	}
}

// The folder of a failure is the last that a person reads, and the failure is
// still one of a check.
func TestFailureNamesItsFolderLast(t *testing.T) {
	failure := &scenarios.CheckError{Scenario: "drift", Step: "See it", Reason: "not there"}
	err := withDump(failure, []scenarios.Result{{State: scenarios.Passed}, {State: scenarios.Failed, Dump: "/home/failures/1-drift"}})
	if want := "scenario drift: See it: not there\nWhat is known of the failure is in /home/failures/1-drift"; err.Error() != want {
		t.Errorf("%v", err)
	}
	if code := exitCode(err); code != exitScenario {
		t.Errorf("exit code %d", code)
	}
	if err := withDump(nil, nil); err != nil {
		t.Error(err)
	}
}
