package supervisor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestRestartEndsOneUnitAndStartsItAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var journal []string
		base, top := &part{journal: &journal, name: "base"}, &part{journal: &journal, name: "top"}
		s, end := running(t, unitOf(base), unitOf(top, "base"))
		synctest.Wait()
		journal = nil
		before := s.Status()[0]
		time.Sleep(time.Minute)
		now, changes, cancel := s.Watch()
		defer cancel()
		if len(now) != 2 {
			t.Fatal(now)
		}
		if err := s.Restart(soon(t), "base"); err != nil {
			t.Fatal(err)
		}
		if st := s.Status()[0]; st.State == Ready && st.Since.Equal(before.Since) {
			t.Error("Restart returned before anything happened")
		}
		synctest.Wait()
		if want := []string{"stop base", "init base", "start base"}; !slices.Equal(journal, want) {
			t.Errorf("did %q, want %q: what needs it stays", journal, want)
		}
		if got := states(s); got != "base=ready top=ready" {
			t.Error(got)
		}
		if st := s.Status()[0]; st.Restarts != 0 || st.LastFailure != "" || !st.Since.After(before.Since) {
			t.Errorf("counts as a crash: %+v", st)
		}
		var seen []State
		for len(changes) > 0 {
			seen = append(seen, (<-changes).State)
		}
		if want := []State{Stopping, Starting, Ready}; !slices.Equal(seen, want) {
			t.Errorf("watchers saw %q, want %q", seen, want)
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestRestartInEveryState(t *testing.T) {
	for _, c := range []struct {
		name  string
		state State
		bring func(*part) // into the state
	}{
		{"ready", Ready, func(*part) {}},
		{"starting", Starting, func(p *part) {
			p.ready = func() error {
				if len(*p.journal) > 2 {
					return nil // in the second start
				}
				return errors.New("not yet")
			}
		}},
		{"failed", Failed, func(p *part) { p.initErr = []error{&PermanentError{errors.New("port taken")}} }},
		{"pausing after a crash", Restarting, func(p *part) { p.initErr = []error{errors.New("disk full")} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var journal []string
				p := &part{journal: &journal, name: "p"}
				c.bring(p)
				s, end := running(t, unitOf(p))
				defer end()
				synctest.Wait()
				if got := s.Status()[0].State; got != c.state {
					t.Fatalf("begins %s, want %s", got, c.state)
				}
				began := time.Now()
				if err := s.Restart(soon(t), "p"); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if got := states(s); got != "p=ready" {
					t.Errorf("%s, reason %q", got, s.Status()[0].Reason)
				}
				inits := 0
				for _, what := range journal {
					if what == "init p" {
						inits++
					}
				}
				if inits != 2 {
					t.Errorf("%d starts, want 2: %q", inits, journal)
				}
				if waited := time.Since(began); waited > readyPoll {
					t.Errorf("waited %s: a user who asks does not wait for a pause", waited)
				}
			})
		})
	}
}

func TestRestartForgetsCrashes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var journal []string
		p := &part{journal: &journal, name: "p"}
		s, end := running(t, unitOf(p))
		defer end()
		crash := func() {
			synctest.Wait()
			close(p.exited)
			time.Sleep(longestPause)
			synctest.Wait()
		}
		for range crashLimit - 1 {
			crash()
		}
		if err := s.Restart(soon(t), "p"); err != nil {
			t.Fatal(err)
		}
		crash()
		st := s.Status()[0]
		if st.State != Ready || st.Restarts != crashLimit {
			t.Errorf("%s after %d crashes", st.State, st.Restarts)
		}
		if st.LastFailure != "ended by itself" || st.Reason != "" {
			t.Errorf("ready with reason %q, last failure %q", st.Reason, st.LastFailure)
		}
	})
}

func TestRestartIsRefusedWithTheReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var journal []string
		base := &part{journal: &journal, name: "base", ready: func() error { return errors.New("still migrating") }}
		hold := make(chan struct{})
		busy := Task{Run: func(context.Context) error { <-hold; return nil }}
		s, end := running(t, unitOf(base), unitOf(&part{journal: &journal, name: "top"}, "base"),
			Unit{Name: "busy", Component: busy, Deadline: time.Hour})
		synctest.Wait()
		for name, says := range map[string]string{
			"top":  "base, which is starting",
			"busy": "busy is starting",
		} {
			if err := s.Restart(soon(t), name); err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("restart %s: %v, want %q", name, err, says)
			}
		}
		var unknown *UnknownUnitError
		if err := s.Restart(soon(t), "nope"); !errors.As(err, &unknown) || !slices.Equal(unknown.Known, []string{"base", "top", "busy"}) {
			t.Error(err)
		}
		close(hold)
		if err := end(); err != nil {
			t.Fatal(err)
		}
		if err := s.Restart(soon(t), "base"); err == nil || !strings.Contains(err.Error(), "everything is being stopped") {
			t.Errorf("after the end: %v", err)
		}
	})
}

func TestRestartOfATaskDoesItOnceMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		s, end := running(t, Unit{Name: "task", Deadline: time.Second, Component: Task{Run: func(context.Context) error { runs++; return nil }}})
		synctest.Wait()
		if err := s.Restart(soon(t), "task"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := states(s); got != "task=ready" || runs != 2 {
			t.Errorf("%s after %d runs", got, runs)
		}
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}

// stubborn is a component that fails to stop once.
type stubborn struct {
	*part
	stopErr error
}

func (s *stubborn) Stop(ctx context.Context) error {
	err := s.stopErr
	s.stopErr = nil
	return errors.Join(err, s.part.Stop(ctx))
}

func TestRestartOfWhatDoesNotEndIsACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var journal []string
		c := &stubborn{&part{journal: &journal, name: "p"}, errors.New("process 7 does not end")}
		s, end := running(t, Unit{Name: "p", Component: c, Deadline: time.Second})
		defer end()
		synctest.Wait()
		if err := s.Restart(soon(t), "p"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(longestPause)
		synctest.Wait()
		st := s.Status()[0]
		if st.State != Ready || st.Restarts != 1 || !strings.Contains(st.LastFailure, "process 7 does not end") {
			t.Errorf("%+v", st)
		}
	})
}

func TestRestartOfARealProcess(t *testing.T) {
	p := process(t, "echo started; exec sleep 100")
	s, err := New(quiet(), Unit{Name: "p", Component: p, Deadline: 10 * time.Second, Log: p.Log})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	awaitReady := func() int {
		t.Helper()
		now, changes, stop := s.Watch()
		defer stop()
		for st := now[0]; st.State != Ready; st = <-changes {
		}
		return s.Status()[0].PID
	}
	logged := func(lines int) {
		t.Helper()
		for range 500 {
			if len(Tail(p.Log, 5)) == lines {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Errorf("the log has %q, want %d lines", Tail(p.Log, 5), lines)
	}
	first := awaitReady()
	logged(1)
	if err := s.Restart(t.Context(), "p"); err != nil {
		t.Fatal(err)
	}
	second := awaitReady()
	logged(2)
	if first == 0 || second == 0 || first == second {
		t.Errorf("process %d, then %d", first, second)
	}
	if alive(first) {
		t.Errorf("process %d still runs", first)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if syscall.Kill(second, 0) == nil {
		t.Errorf("process %d outlives the supervisor", second)
	}
}

// Silent finds what hangs, and leaves it as it is.
func TestSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := false
		stuck := &Background{
			Run: func(ctx context.Context, _ func(string), ready func()) error {
				ready()
				<-ctx.Done()
				return ctx.Err()
			},
			Check: func(ctx context.Context) error {
				if hangs {
					<-ctx.Done()
				}
				return ctx.Err()
			},
		}
		well := &part{journal: new([]string), name: "well"}
		s, end := running(t, unitOf(well), Unit{Name: "stuck", Component: stuck, Deadline: time.Minute})
		synctest.Wait()
		time.Sleep(time.Second)
		if silent := s.Silent(t.Context()); len(silent) > 0 {
			t.Errorf("nothing hangs: %v", silent)
		}
		hangs = true
		began := time.Now()
		silent := s.Silent(t.Context())
		if len(silent) != 1 || silent["stuck"] == nil || time.Since(began) > 3*time.Second {
			t.Errorf("%v after %s", silent, time.Since(began))
		}
		if got := states(s); got != "well=ready stuck=ready" {
			t.Error(got)
		}
		hangs = false
		if err := end(); err != nil {
			t.Fatal(err)
		}
	})
}
