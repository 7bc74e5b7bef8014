package doctor

import (
	"bytes"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
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
		if err := printReport(&b, cmdutil.Style{}, &c.r, ""); err != nil {
			t.Fatal(err)
		}
		if got := "\n" + b.String(); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}
