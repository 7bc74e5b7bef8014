package cli

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/sandbox/doctor"
)

// TestDoctorHere is about a kalypso without its payload, as this test is.
func TestDoctorHere(t *testing.T) {
	code, out, talk := call(t, "doctor")
	if code != cmdutil.ExitPreflight || talk != "" {
		t.Errorf("exit code %d, says %q", code, talk)
	}
	for _, c := range doctor.All() {
		if strings.Count(out, "  "+c.Name+"  ") == 0 {
			t.Errorf("no line of %s:\n%s", c.Name, out)
		}
	}
	code, out, talk = call(t, "doctor", "-o", "json")
	var r doctor.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != cmdutil.ExitPreflight || talk != "" {
		t.Fatalf("exit code %d, %v, says %q", code, err, talk)
	}
	if len(r.Findings) != len(doctor.All()) || r.Home != os.Getenv("KALYPSO_HOME") || r.Severity != doctor.Fatal || r.Took == 0 {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat(r.Home); err == nil {
		t.Error("looking has made the home")
	}
}

func TestDoctorBesideASandbox(t *testing.T) {
	runningSandbox(t)
	_, out, _ := call(t, "doctor", "-o", "json")
	var r doctor.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || !r.Running {
		t.Errorf("%v: %s", err, out)
	}
}

func TestDoctorMistakes(t *testing.T) {
	for _, args := range [][]string{{"doctor", "git"}, {"doctor", "-o", "xml"}, {"doctor", "--all"}} {
		if code, out, _ := call(t, args...); code != cmdutil.ExitUsage || out != "" {
			t.Errorf("%v: exit code %d, %q", args, code, out)
		}
	}
	t.Setenv("KALYPSO_HOME", os.TempDir()+"/"+strings.Repeat("x", 200))
	code, out, _ := call(t, "doctor")
	if code != cmdutil.ExitPreflight || !strings.Contains(out, "fatal    home") || !strings.Contains(out, "too long") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}
