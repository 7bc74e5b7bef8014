package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestGoodMachineIsFine(t *testing.T) {
	r := Examine(t.Context(), box(), subjectOf(), All())
	if r.Severity != OK || len(r.Findings) != len(All()) {
		t.Errorf("%+v", r)
	}
	for i, f := range r.Findings {
		if f.Severity != OK || f.Check != All()[i].Name {
			t.Errorf("finding %d: %+v", i, f)
		}
		proper(t, f)
	}
}

func TestReportHasTheWorstSeverity(t *testing.T) {
	say := func(s Severity) Check {
		return Check{string(s), false, usualLimit, func(context.Context, *System, *Subject) Finding {
			return Finding{Severity: s, Found: "x"}
		}}
	}
	for want, checks := range map[Severity][]Check{
		OK:      {say(OK)},
		Note:    {say(Note), say(OK)},
		Warning: {say(OK), say(Warning), say(Note)},
		Fatal:   {say(Fatal), say(Warning), say(Fatal)},
	} {
		r := Examine(t.Context(), box(), &Subject{Daemon: &Daemon{}}, checks)
		if r.Severity != want || !r.Running {
			t.Errorf("%+v, want %s", r, want)
		}
		if want == Fatal && len(r.Of(Fatal)) != 2 {
			t.Errorf("%d fatal findings, want 2", len(r.Of(Fatal)))
		}
	}
}

// TestHangingChecks wants a hanging check to cost its own finding and its own
// time only, and the others to be made meanwhile.
func TestHangingChecks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dead := make(chan struct{})
		defer close(dead)
		hang := Check{"disk", true, time.Second, func(context.Context, *System, *Subject) Finding {
			<-dead // a system call knows of no context
			return Finding{}
		}}
		slow := Check{"git", true, 3 * time.Second, func(context.Context, *System, *Subject) Finding {
			time.Sleep(2 * time.Second)
			return ok("slow")
		}}
		r := Examine(t.Context(), box(), subjectOf(), []Check{hang, slow})
		if f := r.Findings[0]; f.Severity != Warning || f.Check != "disk" || !strings.Contains(f.Found, "no answer within 1s") {
			t.Errorf("%+v", f)
		}
		if f := r.Findings[1]; f.Severity != OK {
			t.Errorf("%+v", f)
		}
		if r.Took != 2*time.Second {
			t.Errorf("took %s", r.Took)
		}
		proper(t, r.Findings[0])
	})
}

func TestGateHasWhatCanBeFatalAndNothingElse(t *testing.T) {
	broken := func() (*System, *Subject) {
		sys := box()
		sys.LookPath = has()
		sys.Run = prints("", errors.New("broken"))
		sys.Writable = func(string) error { return errors.New("permission denied") }
		sys.Space = func(string) (Space, error) { return Space{}, nil }
		sys.OpenFiles = func() (uint64, error) { return 10, nil }
		sys.Locked = func(string) bool { return true }
		sys.Lookup = func(context.Context, string) ([]string, error) { return nil, errors.New("no such host") }
		sys.Env = environment("http_proxy=http://proxy:1")
		sys.with(map[string]string{
			"proc/meminfo":                           "MemTotal: 1024 kB\nMemAvailable: 1024 kB\n",
			"proc/net/tcp":                           "  0: 0100007F:4E20 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 77 1\n",
			"proc/7/fd/3":                            "-> socket:[77]",
			"proc/7/comm":                            "nginx\n",
			"proc/filesystems":                       "nodev\tproc\n",
			"proc/sys/fs/inotify/max_user_instances": "1\n",
		})
		s := subjectOf()
		sys.Now = func() time.Time { return time.Time{} }
		s.Payload.Err = errors.New("broken")
		s.Ports = map[string]int{"gitea": 20000}
		s.Children = map[string]int{"etcd": 3}
		return sys, s
	}
	fatal := map[string]bool{}
	examine := func(sys *System, s *Subject) {
		for _, f := range Examine(t.Context(), sys, s, All()).Findings {
			fatal[f.Check] = fatal[f.Check] || f.Severity == Fatal
			proper(t, f)
		}
	}
	examine(broken())
	sys, s := broken()
	s.Provider = kind
	examine(sys, s)
	// what an engine does not have is only asked of one that is there
	sys, s = broken()
	s.Provider, s.NodeImage, s.Ports = kind, "kindest/node:v1", nil
	sys.LookPath = has("docker")
	sys.with(map[string]string{"var/lib/docker": "/"})
	sys.Run = func(_ context.Context, _ string, args ...string) (string, error) {
		if args[0] == "info" {
			return dockerInfo(map[string]any{"MemTotal": mebi}), nil
		}
		return "", errors.New("no such image")
	}
	examine(sys, s)
	for _, c := range All() {
		if fatal[c.Name] != c.Gate {
			t.Errorf("%s: fatal %v on a machine where nothing works, gate %v", c.Name, fatal[c.Name], c.Gate)
		}
	}
	if len(Gate()) == 0 || len(Gate()) == len(All()) {
		t.Errorf("%d of %d checks are the gate", len(Gate()), len(All()))
	}
}

// TestThisMachine makes every check on the machine that runs the test.
func TestThisMachine(t *testing.T) {
	s := subjectOf()
	s.Home = t.TempDir()
	s.Socket, s.Lock, s.PIDFile = s.Home+"/s", s.Home+"/l", s.Home+"/p"
	s.Ports = map[string]int{"gitea": 1}
	r := Examine(t.Context(), Machine(), s, All())
	for _, f := range r.Findings {
		t.Logf("%-8s %-12s %s", f.Severity, f.Check, f.Found)
		proper(t, f)
		if strings.Contains(f.Found, "no answer within") && f.Check != "engine" {
			t.Errorf("%s does not answer", f.Check)
		}
	}
	t.Log(r.Took)
	for _, name := range []string{"home", "loopback", "disk"} {
		for _, f := range r.Findings {
			if f.Check == name && f.Severity == Fatal {
				t.Errorf("%+v", f)
			}
		}
	}
	if left := fmt.Sprint(Machine().list(s.Home)); left != "[]" {
		t.Errorf("left behind: %s", left)
	}
}
