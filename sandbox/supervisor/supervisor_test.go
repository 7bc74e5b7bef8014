package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// part is a component that a test moves by hand.
type part struct {
	journal *[]string
	name    string
	initErr []error // consumed one per Init; then nil
	ready   func() error
	exited  chan struct{}
}

// journals guards all journals: the parts of one test share one.
var journals sync.Mutex

func (p *part) note(what string) {
	journals.Lock()
	defer journals.Unlock()
	*p.journal = append(*p.journal, what+" "+p.name)
}

// noted is the journal so far, of a test that does not stop what writes it.
func (p *part) noted() []string {
	journals.Lock()
	defer journals.Unlock()
	return slices.Clone(*p.journal)
}

func (p *part) Init(context.Context) error {
	p.note("init")
	if len(p.initErr) > 0 {
		err := p.initErr[0]
		p.initErr = p.initErr[1:]
		return err
	}
	return nil
}

func (p *part) Start(context.Context) error {
	p.note("start")
	p.exited = make(chan struct{})
	return nil
}

func (p *part) Ready(context.Context) error {
	if p.ready != nil {
		return p.ready()
	}
	return nil
}

func (p *part) Exited() <-chan struct{} { return p.exited }

func (p *part) Stop(context.Context) error {
	p.note("stop")
	return nil
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func unitOf(p *part, needs ...string) Unit {
	return Unit{Name: p.name, Needs: needs, Component: p, Deadline: 10 * time.Second}
}

// running starts a supervisor in a synctest bubble and returns its end.
func running(t *testing.T, units ...Unit) (*Supervisor, func() error) {
	t.Helper()
	s, err := New(quiet(), units...)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	return s, func() error {
		cancel()
		return <-ended
	}
}

func states(s *Supervisor) string {
	var all []string
	for _, st := range s.Status() {
		all = append(all, st.Name+"="+string(st.State))
	}
	return strings.Join(all, " ")
}

func TestStartsAfterNeedsAndStopsBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var journal []string
		base, middle, top := &part{journal: &journal, name: "base"}, &part{journal: &journal, name: "middle"}, &part{journal: &journal, name: "top"}
		s, end := running(t, unitOf(base), unitOf(middle, "base"), unitOf(top, "middle"))
		synctest.Wait()
		if got, want := states(s), "base=ready middle=ready top=ready"; got != want {
			t.Fatalf("states %q, want %q", got, want)
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
		want := []string{"init base", "start base", "init middle", "start middle", "init top", "start top", "stop top", "stop middle", "stop base"}
		if !slices.Equal(journal, want) {
			t.Errorf("journal %q, want %q", journal, want)
		}
	})
}

func TestWaitsForReadyOfNeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var journal []string
		began := time.Now()
		slow := &part{journal: &journal, name: "slow", ready: func() error {
			if time.Since(began) < 3*time.Second {
				return errors.New("port closed")
			}
			return nil
		}}
		next := &part{journal: &journal, name: "next"}
		s, end := running(t, unitOf(slow), unitOf(next, "slow"))
		defer end()
		time.Sleep(time.Second)
		synctest.Wait()
		if got, want := states(s), "slow=starting next=waiting"; got != want {
			t.Errorf("after 1 s: states %q, want %q", got, want)
		}
		if got := s.Status()[0].Reason; got != "port closed" {
			t.Errorf("reason %q, want the last answer of Ready", got)
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if got, want := states(s), "slow=ready next=ready"; got != want {
			t.Errorf("after 4 s: states %q, want %q", got, want)
		}
	})
}

func TestNeverReadyFailsWithLastReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var journal []string
		p := &part{journal: &journal, name: "p", ready: func() error { return errors.New("still migrating") }}
		s, end := running(t, unitOf(p))
		defer end()
		time.Sleep(11 * time.Second)
		synctest.Wait()
		st := s.Status()[0]
		if st.State != Starting && st.State != Restarting || !strings.Contains(st.Reason, "still migrating") {
			t.Errorf("state %s, reason %q", st.State, st.Reason)
		}
		if st.Restarts != 1 {
			t.Errorf("%d restarts, want 1", st.Restarts)
		}
	})
}

func TestCrashRestartsAndFiveCrashesFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var journal []string
		p := &part{journal: &journal, name: "p"}
		s, end := running(t, unitOf(p))
		defer end()
		for i := range crashLimit {
			synctest.Wait()
			if got := states(s); got != "p=ready" {
				t.Fatalf("before crash %d: %s", i+1, got)
			}
			close(p.exited)
			time.Sleep(longestPause + time.Second)
		}
		synctest.Wait()
		if got := states(s); got != "p=failed" {
			t.Fatalf("after %d crashes: %s", crashLimit, got)
		}
		s.Repair(t.Context())
		synctest.Wait()
		if got := states(s); got != "p=ready" {
			t.Errorf("after repair: %s", got)
		}
	})
}

// TestRepairLooksAgain does not believe what was said before: a process may be
// gone for a moment before that is noticed, or not listen any more.
func TestRepairLooksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var journal []string
		var refuses atomic.Bool
		p := &part{journal: &journal, name: "p", ready: func() error {
			if refuses.Load() {
				return errors.New("connection refused")
			}
			return nil
		}}
		s, end := running(t, unitOf(p))
		defer end()
		synctest.Wait()
		s.Repair(t.Context())
		if got := states(s); got != "p=ready" {
			t.Errorf("all is well: %s", got)
		}
		refuses.Store(true)
		s.Repair(t.Context())
		if got, st := states(s), s.Status()[0]; got != "p=starting" || st.Reason != "connection refused" {
			t.Errorf("nobody listens: %s, %q", got, st.Reason)
		}
		refuses.Store(false)
		time.Sleep(time.Second)
		if got, want := fmt.Sprint(states(s), p.noted()), "p=ready[init p start p]"; got != want {
			t.Errorf("it listens again: %s, want %s", got, want)
		}
		refuses.Store(true)
		s.Repair(t.Context())
		close(p.exited)
		refuses.Store(false)
		time.Sleep(time.Second)
		if got, want := fmt.Sprint(states(s), p.noted()), "p=ready[init p start p stop p init p start p]"; got != want {
			t.Errorf("it had died: %s, want %s", got, want)
		}
		refuses.Store(true)
		s.Repair(t.Context())
		time.Sleep(11 * time.Second) // the unit's deadline
		refuses.Store(false)
		time.Sleep(time.Minute)
		if got := len(p.noted()); states(s) != "p=ready" || got != 8 {
			t.Errorf("it hung: %s %v", states(s), p.noted())
		}
	})
}

func TestSlowCrashesNeverFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var journal []string
		p := &part{journal: &journal, name: "p"}
		s, end := running(t, unitOf(p))
		defer end()
		for range 3 * crashLimit {
			synctest.Wait()
			close(p.exited)
			time.Sleep(crashWindow)
		}
		synctest.Wait()
		if got := states(s); got != "p=ready" {
			t.Error(got)
		}
	})
}

// TestLongStartsInVainFail: what never becomes ready is given up, also when each
// try takes too long to be many within the window of crashes.
func TestLongStartsInVainFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var journal []string
		refused := errors.New("file is not a database")
		p := &part{journal: &journal, name: "p", ready: func() error { return refused }}
		u := unitOf(p)
		u.Deadline = crashWindow
		s, end := running(t, u)
		defer end()
		time.Sleep((startLimit-1)*crashWindow + longestPause)
		synctest.Wait()
		if got := states(s); got != "p=starting" {
			t.Fatalf("in its last start: %s", got)
		}
		time.Sleep(crashWindow)
		synctest.Wait()
		if st := s.Status()[0]; st.State != Failed || !strings.Contains(st.Reason, refused.Error()) {
			t.Fatalf("%s after %d starts: %q", st.State, st.Restarts+1, st.Reason)
		}
		refused = nil
		s.Repair(t.Context())
		synctest.Wait()
		if got := states(s); got != "p=ready" {
			t.Errorf("after repair: %s", got)
		}
	})
}

// hanging is a part that says once what is wrong, and then no more.
type hanging struct {
	part
	says error
}

func (h *hanging) Ready(ctx context.Context) error {
	if said := h.says; said != nil {
		h.says = nil
		return said
	}
	<-ctx.Done()
	return ctx.Err()
}

func TestReasonIsNotTheEndOfTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hanging{part: part{journal: new([]string), name: "p"}, says: errors.New("file is not a database")}
		u := unitOf(&h.part)
		u.Component = h
		s, end := running(t, u)
		defer end()
		time.Sleep(u.Deadline)
		synctest.Wait()
		if st := s.Status()[0]; st.State != Restarting || !strings.Contains(st.Reason, "not ready after 10s: file is not a database") {
			t.Errorf("%s: %q", st.State, st.Reason)
		}
	})
}

func TestPermanentErrorFailsAtOnceAndRepairTriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var journal []string
		p := &part{journal: &journal, name: "p", initErr: []error{&PermanentError{errors.New("port 3 is taken")}}}
		next := &part{journal: &journal, name: "next"}
		s, end := running(t, unitOf(p), unitOf(next, "p"))
		defer end()
		synctest.Wait()
		if got, want := states(s), "p=failed next=waiting"; got != want {
			t.Fatalf("states %q, want %q", got, want)
		}
		if got := s.Status()[0].Reason; got != "port 3 is taken" {
			t.Errorf("reason %q", got)
		}
		s.Repair(t.Context())
		synctest.Wait()
		if got, want := states(s), "p=ready next=ready"; got != want {
			t.Errorf("after repair: states %q, want %q", got, want)
		}
	})
}

func TestTaskRunsAgainAfterError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		task := Task{Run: func(context.Context) error {
			if runs++; runs < 3 {
				return fmt.Errorf("try %d", runs)
			}
			return nil
		}}
		s, end := running(t, Unit{Name: "task", Component: task, Deadline: time.Second})
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if got := states(s); got != "task=ready" || runs != 3 {
			t.Errorf("%s after %d runs", got, runs)
		}
		s.Repair(t.Context())
		synctest.Wait()
		if runs != 3 {
			t.Error("repair ran a task again that was done")
		}
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}

func TestWatchReportsEveryState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var journal []string
		p := &part{journal: &journal, name: "p"}
		s, err := New(quiet(), unitOf(p))
		if err != nil {
			t.Fatal(err)
		}
		now, changes, cancel := s.Watch()
		if len(now) != 1 || now[0].State != Waiting {
			t.Errorf("first status %v", now)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		synctest.Wait()
		stop()
		<-ended
		cancel()
		var got []State
		for st := range changes {
			got = append(got, st.State)
		}
		if want := []State{Starting, Ready, Stopping, Stopped}; !slices.Equal(got, want) {
			t.Errorf("states %v, want %v", got, want)
		}
	})
}

func TestUnitsAreChecked(t *testing.T) {
	task := Task{Run: func(context.Context) error { return nil }}
	if _, err := New(quiet(), Unit{Name: "a", Needs: []string{"b"}, Component: task}, Unit{Name: "b", Component: task}); err == nil {
		t.Error("a need that comes later was taken")
	}
	if _, err := New(quiet(), Unit{Name: "a", Component: task}, Unit{Name: "a", Component: task}); err == nil {
		t.Error("two units of one name were taken")
	}
}

func process(t *testing.T, script string) *Process {
	t.Helper()
	dir := t.TempDir()
	return &Process{
		Name: "p", Path: "/bin/sh", Argv: []string{"sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin"},
		Dir: dir, Log: filepath.Join(dir, "logs", "p.log"), Registry: filepath.Join(dir, "children"),
	}
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

func TestProcessWritesLogAndIsStopped(t *testing.T) {
	p := process(t, "echo hello; echo oops >&2; exec sleep 100")
	if err := p.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 500 {
		if slices.Equal(Tail(p.Log, 5), []string{"hello", "oops"}) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if got := Tail(p.Log, 1); !slices.Equal(got, []string{"oops"}) {
		t.Errorf("last log line %q", got)
	}
	pid := p.PID()
	if _, err := os.Stat(identityFile(p.Registry, "p")); err != nil {
		t.Error("not registered:", err)
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if alive(pid) {
		t.Error("still alive")
	}
	if _, err := os.Stat(identityFile(p.Registry, "p")); err == nil {
		t.Error("still registered")
	}
}

func TestStopEndsGrandchildren(t *testing.T) {
	p := process(t, "sleep 100 & echo $!; trap 'exit 0' TERM; wait")
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	var grandchild int
	for range 500 {
		if lines := Tail(p.Log, 1); len(lines) == 1 {
			fmt.Sscan(lines[0], &grandchild)
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if grandchild == 0 {
		t.Fatal("the grandchild never started")
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 500 {
		// init may take a moment to reap it
		if _, err := startTime(grandchild); err != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the grandchild is alive")
}

func TestExitedIsClosedWhenTheProcessEnds(t *testing.T) {
	p := process(t, "exit 3")
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.Exited():
	case <-time.After(10 * time.Second):
		t.Fatal("not closed after 10 s")
	}
}

func TestOrphanIsEnded(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("sleep", "100")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	if err := register(dir, "old", cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	if living, err := Living(dir); err != nil || len(living) != 1 || living["old"] != cmd.Process.Pid {
		t.Errorf("living %v, %v", living, err)
	}
	if err := EndOrphan(dir, "old"); err != nil {
		t.Fatal(err)
	}
	<-ended
	if living, err := Living(dir); err != nil || len(living) != 0 {
		t.Errorf("living after the end: %v, %v", living, err)
	}
}

func TestProcessWithReusedIDIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("sleep", "100")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	file := identityFile(dir, "old")
	if err := os.WriteFile(file, fmt.Appendf(nil, `{"pid":%d,"started":"1"}`, cmd.Process.Pid), 0o600); err != nil {
		t.Fatal(err)
	}
	writeTo(t, identityFile(dir, "half"), `{"pid":12`)
	if living, err := Living(dir); err != nil || len(living) != 0 {
		t.Errorf("foreign processes count as ours: %v, %v", living, err)
	}
	if err := EndOrphan(dir, "old"); err != nil {
		t.Fatal(err)
	}
	if !alive(cmd.Process.Pid) {
		t.Error("a foreign process was killed")
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the stale record is still there")
	}
}

func TestHalfWrittenRecordIsDropped(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(identityFile(dir, "old"), []byte(`{"pid":12`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := EndOrphan(dir, "old"); err != nil {
		t.Fatal(err)
	}
}

func TestTailOfLongFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	var b strings.Builder
	for i := range 10000 {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := Tail(file, 2), []string{"line 9998", "line 9999"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := Tail(filepath.Join(t.TempDir(), "none"), 2); got != nil {
		t.Errorf("of a missing file: %q", got)
	}
}
