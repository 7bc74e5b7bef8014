package supervisor

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// grouped puts a unit into a group.
func grouped(group string, u Unit) Unit {
	u.Group = group
	return u
}

// town is two clusters on one store: plane and reconciler each.
type town struct {
	journal                                  []string
	store, plane, reconciler, plane2, unused *part
}

func newTown() (*town, []Unit) {
	w := &town{}
	make := func(name string) *part { return &part{journal: &w.journal, name: name} }
	w.store, w.plane, w.reconciler, w.plane2, w.unused = make("store"), make("plane"), make("reconciler"), make("plane2"), make("list")
	return w, []Unit{
		unitOf(w.store),
		grouped("large", unitOf(w.plane, "store")),
		grouped("large", unitOf(w.reconciler, "plane", "store")),
		grouped("drone", unitOf(w.plane2, "store")),
		unitOf(w.unused, "plane", "plane2"),
	}
}

// forget empties the journal.
func (w *town) forget() {
	journals.Lock()
	defer journals.Unlock()
	w.journal = nil
}

func TestStopEndsOneGroupAndStartBringsItBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, units := newTown()
		s, end := running(t, units...)
		synctest.Wait()
		w.forget()
		for range 2 { // the second time there is nothing to do
			if err := s.Stop(soon(t), "large", "on purpose"); err != nil {
				t.Fatal(err)
			}
			if got, want := states(s), "store=ready plane=stopped reconciler=stopped plane2=ready list=ready"; got != want {
				t.Errorf("states %q, want %q", got, want)
			}
		}
		if st := s.Status()[1]; !st.Held || st.Reason != "on purpose" || st.Group != "large" || st.PID != 0 {
			t.Errorf("%+v", st)
		}
		if want := []string{"stop reconciler", "stop plane"}; !slices.Equal(w.journal, want) {
			t.Errorf("did %q, want %q", w.journal, want)
		}
		time.Sleep(time.Hour)
		w.forget()
		for range 2 {
			if err := s.Start(soon(t), "large"); err != nil {
				t.Fatal(err)
			}
			if st := s.Status()[1]; st.Held || st.State == Stopped {
				t.Errorf("Start returned before anything happened: %+v", st)
			}
			synctest.Wait()
		}
		if got, want := states(s), "store=ready plane=ready reconciler=ready plane2=ready list=ready"; got != want {
			t.Errorf("states %q, want %q", got, want)
		}
		if want := []string{"init plane", "start plane", "init reconciler", "start reconciler"}; !slices.Equal(w.journal, want) {
			t.Errorf("did %q, want %q: others are not disturbed", w.journal, want)
		}
		if st := s.Status()[1]; st.Held || st.Reason != "" || st.Restarts != 0 || st.LastFailure != "" {
			t.Errorf("counts as a crash: %+v", st)
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
	})
}

// The reconciler waits for the plane to be ready again; that it was once does
// not count.
func TestStartedGroupWaitsForItsNeedsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, units := newTown()
		s, end := running(t, units...)
		defer end()
		synctest.Wait()
		if err := s.Stop(soon(t), "large", ""); err != nil {
			t.Fatal(err)
		}
		w.plane.ready = func() error { return errors.New("still electing") }
		if err := s.Start(soon(t), "large"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if got, want := states(s), "store=ready plane=starting reconciler=waiting plane2=ready list=ready"; got != want {
			t.Errorf("states %q, want %q", got, want)
		}
	})
}

func TestNothingButStartBringsAHeldUnitBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, units := newTown()
		s, end := running(t, units...)
		defer end()
		synctest.Wait()
		if err := s.Stop(soon(t), "large", "stopped by hand"); err != nil {
			t.Fatal(err)
		}
		w.forget()
		close(w.plane.exited) // as of a process: it has ended
		s.Repair(t.Context())
		if err := s.Restart(soon(t), "plane"); err == nil || err.Error() != "plane belongs to large, which is stopped: stopped by hand" {
			t.Error(err)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(w.journal) > 0 || !s.Status()[1].Held {
			t.Errorf("did %q, %+v", w.journal, s.Status()[1])
		}
	})
}

func TestHeldFromTheBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, units := newTown()
		s, err := New(quiet(), units...)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Hold("large", "as before"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		synctest.Wait()
		if got, want := states(s), "store=ready plane=stopped reconciler=stopped plane2=ready list=ready"; got != want {
			t.Errorf("states %q, want %q: nobody waits for what is held", got, want)
		}
		if i := slices.IndexFunc(w.journal, func(what string) bool { return strings.HasSuffix(what, "t plane") }); i >= 0 {
			t.Errorf("did %q", w.journal)
		}
		w.forget()
		if err := s.Start(soon(t), "large"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		want := "init list"
		if got := states(s); got != "store=ready plane=ready reconciler=ready plane2=ready list=ready" || !slices.Contains(w.journal, want) {
			t.Errorf("%s; did %q, want also %q: it had been done without the plane", got, w.journal, want)
		}
		w.forget()
		if err := errors.Join(s.Stop(soon(t), "large", ""), s.Start(soon(t), "large")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if slices.Contains(w.journal, want) {
			t.Errorf("did %q: nothing was missed this time", w.journal)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestStopInEveryState(t *testing.T) {
	for _, c := range []struct {
		name  string
		state State
		bring func(*part)
	}{
		{"starting", Starting, func(p *part) { p.ready = func() error { return errors.New("not yet") } }},
		{"failed", Failed, func(p *part) { p.initErr = []error{&PermanentError{errors.New("port taken")}} }},
		{"pausing after a crash", Restarting, func(p *part) { p.initErr = []error{errors.New("disk full")} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, units := newTown()
				c.bring(w.plane)
				s, end := running(t, units...)
				defer end()
				synctest.Wait()
				if got := s.Status()[1].State; got != c.state {
					t.Fatalf("begins %s, want %s", got, c.state)
				}
				s.Repair(t.Context()) // asked for just before
				if err := s.Stop(soon(t), "large", "on purpose"); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				if got, want := states(s), "store=ready plane=stopped reconciler=stopped plane2=ready list=ready"; got != want {
					t.Errorf("states %q, want %q", got, want)
				}
				w.plane.ready, w.plane.initErr = nil, nil
				if err := s.Start(soon(t), "large"); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if got := s.Status(); got[1].State != Ready || got[2].State != Ready || got[1].Reason != "" {
					t.Errorf("after the start: %+v", got[1:3])
				}
			})
		})
	}
}

// slow is a component that takes its time to stop.
type slow struct {
	*part
	takes time.Duration
	err   error
}

func (s *slow) Stop(ctx context.Context) error {
	time.Sleep(s.takes)
	return errors.Join(s.err, s.part.Stop(ctx))
}

func TestStartWhileStoppingAndStopWhileEnding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, units := newTown()
		c := &slow{part: w.reconciler, takes: 5 * time.Second}
		units[2].Component = c
		s, end := running(t, units...)
		synctest.Wait()
		if err := s.Stop(soon(t), "large", "on purpose"); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "stop large: reconciler is stopping") {
			t.Errorf("stop that takes too long: %v", err)
		}
		w.forget()
		if err := s.Restart(soon(t), "plane"); err == nil {
			t.Error("a unit that is to go was restarted")
		}
		if err := s.Start(t.Context(), "large"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		want := []string{"stop reconciler", "stop plane", "init plane", "start plane", "init reconciler", "start reconciler"}
		if !slices.Equal(w.journal, want) {
			t.Errorf("did %q, want %q: first it ends", w.journal, want)
		}

		w.forget()
		if err := s.Hold("large", "on purpose"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := end(); err != nil {
			t.Fatal(err)
		}
		if i, j := slices.Index(w.journal, "stop plane"), slices.Index(w.journal, "stop store"); i < 0 || j < i {
			t.Errorf("did %q: the store goes last", w.journal)
		}
		if err := s.Stop(soon(t), "drone", ""); err == nil || !strings.Contains(err.Error(), "everything is being stopped") {
			t.Errorf("after the end: %v", err)
		}
	})
}

func TestHeldUnitsAreNotStoppedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, units := newTown()
		s, end := running(t, units...)
		synctest.Wait()
		if err := s.Stop(soon(t), "large", "on purpose"); err != nil {
			t.Fatal(err)
		}
		w.forget()
		if err := end(); err != nil {
			t.Fatal(err)
		}
		if want := []string{"stop list", "stop plane2", "stop store"}; !slices.Equal(w.journal, want) {
			t.Errorf("did %q, want %q", w.journal, want)
		}
		if st := s.Status()[1]; !st.Held || st.Reason != "on purpose" {
			t.Errorf("%+v", st)
		}
	})
}

func TestGroupThatDoesNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, units := newTown()
		c := &slow{part: w.plane, err: errors.New("process 7 does not end")}
		units[1].Component = c
		s, end := running(t, units...)
		defer end()
		synctest.Wait()
		if err := s.Stop(soon(t), "large", "on purpose"); err == nil || err.Error() != "stop plane: process 7 does not end" {
			t.Error(err)
		}
		if st := s.Status()[1]; st.State != Failed || !st.Held || st.Reason != "process 7 does not end" {
			t.Errorf("%+v", st)
		}
		c.err = nil
		if err := s.Start(soon(t), "large"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if st := s.Status()[1]; st.State != Ready {
			t.Errorf("%+v", st)
		}
	})
}

func TestUnknownGroup(t *testing.T) {
	_, units := newTown()
	s, err := New(quiet(), units...)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{s.Hold("lage", ""), s.Stop(t.Context(), "lage", ""), s.Start(t.Context(), "lage")} {
		var unknown *UnknownGroupError
		if !errors.As(err, &unknown) || !slices.Equal(unknown.Known, []string{"large", "drone"}) || !strings.Contains(err.Error(), `no group "lage": choose one of large, drone`) {
			t.Error(err)
		}
	}
}

func TestWatchAfterTheEndIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, units := newTown()
		s, end := running(t, units...)
		if err := end(); err != nil {
			t.Fatal(err)
		}
		now, changes, cancel := s.Watch()
		defer cancel()
		if _, ok := <-changes; ok || now[0].State != Stopped {
			t.Errorf("%+v", now[0])
		}
	})
}

// A process that has been stopped has given its ID back: the next one to have
// it must not be killed in its place.
func TestStopAgainKillsNobody(t *testing.T) {
	p := process(t, "exec sleep 100")
	if err := errors.Join(p.Start(t.Context()), p.Stop(t.Context())); err != nil {
		t.Fatal(err)
	}
	foreign := exec.Command("sleep", "100")
	foreign.SysProcAttr = childAttributes()
	if err := foreign.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = foreign.Process.Kill(); _ = foreign.Wait() }()
	p.cmd = foreign // as if it had got the same ID
	if err := p.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if stopped, err := isStopped(foreign.Process.Pid); err != nil || stopped {
		t.Errorf("a foreign process has been killed: %v", err)
	}
}
