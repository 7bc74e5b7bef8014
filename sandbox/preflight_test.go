package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/testkit/daemontest"
	"github.com/kalypso-dev/kalypso/sandbox/components"
	"github.com/kalypso-dev/kalypso/sandbox/doctor"
	"github.com/kalypso-dev/kalypso/sandbox/state"
)

func TestPreflightRefusesOnlyWhatIsFatal(t *testing.T) {
	git := doctor.Finding{Check: "git", Severity: doctor.Fatal, Found: "git is not installed", Lost: "Gitea cannot work without it", Fix: "install it: `apt-get install git`"}
	disk := doctor.Finding{Check: "disk", Severity: doctor.Fatal, Found: "3 MiB free", Lost: "520 MiB are needed", Fix: "make room"}
	fine := doctor.Finding{Check: "home", Severity: doctor.OK, Found: "/h can be made"}
	little := doctor.Finding{Check: "memory", Severity: doctor.Warning, Found: "900 MiB available", Lost: "it will be slow", Fix: "end other programs"}

	if err := refusal(&doctor.Report{Findings: []doctor.Finding{fine, little}}); err != nil {
		t.Errorf("refuses for a warning: %v", err)
	}
	err := refusal(&doctor.Report{Findings: []doctor.Finding{git, fine, little}})
	var refused *PreflightError
	if !errors.As(err, &refused) || err.Error() != "git is not installed: Gitea cannot work without it; install it: `apt-get install git`" {
		t.Error(err)
	}
	err = refusal(&doctor.Report{Findings: []doctor.Finding{git, disk}})
	if lines := strings.Split(err.Error(), "\n"); len(lines) != 2 || !strings.Contains(lines[0], "git") || !strings.Contains(lines[1], "make room") {
		t.Errorf("one problem hides another: %v", err)
	}
}

// TestPreflightHere looks at this machine, where only the payload may be
// missing.
func TestPreflightHere(t *testing.T) {
	h := Home(filepath.Join(t.TempDir(), "home"))
	var refused *PreflightError
	if err := preflight(t.Context(), &Options{Home: h}); errors.As(err, &refused) {
		for _, f := range refused.Findings {
			if f.Check != "payload" {
				t.Errorf("%+v", f)
			}
		}
	} else if err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(string(h)); err == nil {
		t.Error("looking has made the home")
	}
}

func TestPreflightNamesEverythingThatIsWrong(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := preflight(t.Context(), &Options{Home: Home(file)})
	for _, says := range []string{"git is not installed", file + " is not a folder", "set KALYPSO_HOME"} {
		if err == nil || strings.Count(err.Error(), says) != 1 {
			t.Errorf("does not say once %q: %v", says, err)
		}
	}
}

func TestDiagnose(t *testing.T) {
	dir := t.TempDir()
	finding := func(r *doctor.Report, check string) doctor.Finding {
		for _, f := range r.Findings {
			if f.Check == check {
				return f
			}
		}
		t.Fatalf("no finding of %s", check)
		return doctor.Finding{}
	}

	t.Setenv("KALYPSO_HOME", "/"+strings.Repeat("x", state.MaxSocketPath))
	r, err := Diagnose(t.Context(), "v1", Choice{})
	if f := finding(r, "home"); f.Severity != doctor.Fatal || !strings.Contains(f.Found, "too long") || err == nil {
		t.Errorf("a home that is too long: %+v, %v", f, err)
	}

	t.Setenv("KALYPSO_HOME", dir)
	if err := os.WriteFile(filepath.Join(dir, "thesis.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err = Diagnose(t.Context(), "v1", Choice{})
	if f := finding(r, "home"); f.Severity != doctor.Fatal || !strings.Contains(f.Found, "thesis.txt") || err == nil {
		t.Errorf("a home with other things: %+v, %v", f, err)
	}

	home := Home(filepath.Join(dir, "home"))
	t.Setenv("KALYPSO_HOME", string(home))
	if _, err := home.Ensure(t.Context(), Choice{Workshop: "basic-inference"}); err != nil {
		t.Fatal(err)
	}
	r, _ = Diagnose(t.Context(), "v1", Choice{})
	if f := finding(r, "ports"); f.Severity != doctor.OK || f.Found != "all 8 are free" {
		t.Errorf("%+v", f)
	}
	if f := finding(r, "daemon"); f.Severity != doctor.OK {
		t.Errorf("%+v", f)
	}

	s := daemontest.Serve(t, home, daemontest.Steady("gitea"))
	r, _ = Diagnose(t.Context(), "v2", Choice{})
	if f := finding(r, "daemon"); !r.Running || f.Severity != doctor.Note || !strings.Contains(f.Found, "kalypso v1, this is v2") {
		t.Errorf("beside a daemon: running %v, %+v", r.Running, f)
	}
	s.End()

	held, err := home.TryLock()
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	r, _ = Diagnose(t.Context(), "v2", Choice{})
	if f := finding(r, "daemon"); f.Severity != doctor.Warning || !strings.Contains(f.Found, "does not answer") {
		t.Errorf("beside a deaf daemon: %+v", f)
	}
}

func TestPacked(t *testing.T) {
	p := packed(t.TempDir())
	m, err := components.Packed()
	if !errors.Is(p.Err, err) {
		t.Fatalf("%v, want %v", p.Err, err)
	}
	if err != nil {
		return // a test without the payload
	}
	if p.Missing == 0 || p.Files == 0 || len(p.Names) != len(m.Components) {
		t.Errorf("%+v", p)
	}
}
