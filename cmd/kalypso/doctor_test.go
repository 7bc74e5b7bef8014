package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/doctor"
)

func TestDoctorText(t *testing.T) {
	ok := doctor.Finding{Check: "git", Severity: doctor.OK, Found: "git 2.39.5 at /usr/bin/git"}
	note := doctor.Finding{Check: "user", Severity: doctor.Note, Found: "tom, not root", Lost: "nothing today"}
	warning := doctor.Finding{Check: "open files", Severity: doctor.Warning, Found: "300", Lost: "a busy forge runs out", Fix: "`prlimit`"}
	fatal := doctor.Finding{Check: "home", Severity: doctor.Fatal, Found: "/h cannot be written", Lost: "there is no place", Fix: "set KALYPSO_HOME"}
	for _, c := range []struct {
		name string
		r    doctor.Report
		want string
	}{
		{"fine", doctor.Report{Findings: []doctor.Finding{ok}, Severity: doctor.OK, Took: 50 * time.Millisecond}, `
ok       git  git 2.39.5 at /usr/bin/git

1 check in 0.05 s: 1 ok.
Next  kalypso up
`},
		{"not quite", doctor.Report{Findings: []doctor.Finding{ok, note, warning}, Severity: doctor.Warning, Running: true, Took: time.Second}, `
ok       git         git 2.39.5 at /usr/bin/git
note     user        tom, not root
                     lost: nothing today
warning  open files  300
                     lost: a busy forge runs out
                     fix:  ` + "`prlimit`" + `

3 checks in 1.00 s: 1 ok, 1 note, 1 warning.
Next  kalypso status
`},
		{"not at all", doctor.Report{Findings: []doctor.Finding{fatal}, Severity: doctor.Fatal}, `
fatal    home  /h cannot be written
               lost: there is no place
               fix:  set KALYPSO_HOME

1 check in 0.00 s: 0 ok, 1 fatal.
Next  mend what is fatal, then: kalypso doctor
`},
	} {
		var b bytes.Buffer
		if err := printReport(&b, style{}, &c.r); err != nil {
			t.Fatal(err)
		}
		if got := "\n" + b.String(); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// TestDoctorHere is about a kalypso without its payload, as this test is.
func TestDoctorHere(t *testing.T) {
	code, out, talk := call(t, "doctor")
	if code != exitPreflight || talk != "" {
		t.Errorf("exit code %d, says %q", code, talk)
	}
	for _, c := range doctor.All() {
		if strings.Count(out, "  "+c.Name+"  ") == 0 {
			t.Errorf("no line of %s:\n%s", c.Name, out)
		}
	}
	code, out, talk = call(t, "doctor", "-o", "json")
	var r doctor.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != exitPreflight || talk != "" {
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
		if code, out, _ := call(t, args...); code != exitUsage || out != "" {
			t.Errorf("%v: exit code %d, %q", args, code, out)
		}
	}
	t.Setenv("KALYPSO_HOME", os.TempDir()+"/"+strings.Repeat("x", 200))
	code, out, _ := call(t, "doctor")
	if code != exitPreflight || !strings.Contains(out, "fatal    home") || !strings.Contains(out, "too long") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}
