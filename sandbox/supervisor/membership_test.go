package supervisor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// third is one more cluster for the town.
func (w *town) third() (plane *part, units []Unit) {
	plane = &part{journal: &w.journal, name: "plane3"}
	reconciler := &part{journal: &w.journal, name: "reconciler3"}
	return plane, []Unit{grouped("third", unitOf(plane, "store")), grouped("third", unitOf(reconciler, "plane3", "store"))}
}

func TestAddedUnitsStartAfterTheirNeedsAndEndBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, units := newTown()
		s, end := running(t, units...)
		synctest.Wait()
		_, changes, cancel := s.Watch()
		defer cancel()
		w.forget()
		plane, more := w.third()
		var elected atomic.Bool
		plane.ready = func() error {
			if elected.Load() {
				return nil
			}
			return errors.New("still electing")
		}
		if err := s.Add(more...); err != nil {
			t.Fatal(err)
		}
		if _, ok := <-changes; ok {
			t.Error("who watches the units does not hear that there are more")
		}
		time.Sleep(time.Second)
		if got, want := states(s), "store=ready plane=ready reconciler=ready plane2=ready list=ready plane3=starting reconciler3=waiting"; got != want {
			t.Errorf("states %q, want %q", got, want)
		}
		if st := s.Status()[5]; st.Reason != "still electing" {
			t.Errorf("%+v", st)
		}
		elected.Store(true)
		time.Sleep(time.Second)
		synctest.Wait()
		if err := s.Restart(soon(t), "reconciler3"); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if err := end(); err != nil {
			t.Fatal(err)
		}
		own := slices.DeleteFunc(w.journal, func(line string) bool { return !strings.HasSuffix(line, "3") })
		want := []string{"init plane3", "start plane3", "init reconciler3", "start reconciler3", "stop reconciler3", "init reconciler3", "start reconciler3", "stop reconciler3", "stop plane3"}
		if !slices.Equal(own, want) {
			t.Errorf("did %q, want %q", own, want)
		}
	})
}

func TestRemovedUnitsEndAndAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, units := newTown()
		s, end := running(t, units...)
		synctest.Wait()
		w.forget()
		if err := s.Remove(soon(t), "large", "is removed"); err != nil {
			t.Fatal(err)
		}
		if want := []string{"stop reconciler", "stop plane"}; !slices.Equal(w.journal, want) {
			t.Errorf("did %q, want %q", w.journal, want)
		}
		if got, want := states(s), "store=ready plane2=ready list=ready"; got != want {
			t.Errorf("states %q, want %q", got, want)
		}
		var group *UnknownGroupError
		if err := s.Remove(soon(t), "large", ""); !errors.As(err, &group) {
			t.Error(err)
		}
		var one *UnknownUnitError
		if err := s.Restart(soon(t), "plane"); !errors.As(err, &one) {
			t.Error(err)
		}
		w.forget()
		// the same again, of new components
		if err := s.Add(grouped("large", unitOf(w.plane, "store"))); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got, want := states(s), "store=ready plane2=ready list=ready plane=ready"; got != want {
			t.Errorf("states %q, want %q", got, want)
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
	})
}

// One that waits for a unit which never comes goes on without it, and has nothing
// to catch up with.
func TestWhatNeedsARemovedUnitGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, units := newTown()
		w.plane.ready = func() error { return errors.New("never") }
		s, end := running(t, units...)
		defer end()
		time.Sleep(time.Second)
		if got := states(s); !strings.HasSuffix(got, "list=waiting") {
			t.Fatal(got)
		}
		if err := s.Remove(soon(t), "large", ""); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got, want := states(s), "store=ready plane2=ready list=ready"; got != want {
			t.Errorf("states %q, want %q", got, want)
		}
		if err := s.Restart(soon(t), "list"); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if n := strings.Count(strings.Join(w.noted(), "\n"), "start list"); n != 2 {
			t.Errorf("started %d times", n)
		}
	})
}

func (w *town) noted() []string { return w.store.noted() }

func TestUnitsThatCannotBeAdded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, units := newTown()
		s, end := running(t, units...)
		synctest.Wait()
		_, more := w.third()
		for name, wrong := range map[string][]Unit{
			"a need that is not there": {more[1]},
			"a name that is taken":     append(slices.Clone(more), unitOf(w.store)),
			"a group that is there":    {grouped("large", unitOf(&part{journal: &w.journal, name: "more"}))},
		} {
			if err := s.Add(wrong...); err == nil || len(s.Status()) != len(units) {
				t.Errorf("%s: %v, %s", name, err, states(s))
			}
		}
		if err := s.Add(more...); err != nil {
			t.Errorf("after the mistakes: %v", err)
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
		if err := s.Add(grouped("late", unitOf(&part{journal: &w.journal, name: "late"}))); err == nil {
			t.Error("a unit is added to what has ended")
		}
	})
}

// unwilling does not end at its first Stop.
type unwilling struct {
	*part
	stops int
}

func (s *unwilling) Stop(context.Context) error {
	if s.stops++; s.stops == 1 {
		return errors.New("does not end")
	}
	return nil
}

func TestRemoveEndsWhatDidNotEndAtFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, units := newTown()
		plane, more := w.third()
		more[0].Component = &unwilling{part: plane}
		s, end := running(t, append(units, more...)...)
		defer end()
		synctest.Wait()
		if err := s.Remove(soon(t), "third", ""); err != nil || len(s.Status()) != len(units) {
			t.Errorf("%v, %s", err, states(s))
		}
	})
}

// TestUnitsComeAndGo adds, removes, restarts, stops and looks at once; the race
// detector is the judge of most of it.
func TestUnitsComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, units := newTown()
		s, end := running(t, units...)
		var busy sync.WaitGroup
		for i := range 8 {
			busy.Go(func() {
				for round := range 20 {
					name := fmt.Sprintf("%d-%d", i, round)
					plane := &part{journal: &w.journal, name: "plane-" + name}
					if err := s.Add(grouped(name, unitOf(plane, "store")), grouped(name, unitOf(&part{journal: &w.journal, name: "top-" + name}, plane.name))); err != nil {
						t.Error(err)
					}
					if round%3 == 0 {
						time.Sleep(time.Millisecond)
					}
					if err := s.Remove(soon(t), name, ""); err != nil {
						t.Error(err)
					}
				}
			})
		}
		busy.Go(func() {
			for range 50 {
				_, changes, cancel := s.Watch()
				s.Repair(soon(t))
				s.Silent(soon(t))
				_ = s.Restart(soon(t), "list")
				_ = s.Stop(soon(t), "drone", "")
				_ = s.Start(soon(t), "drone")
				cancel()
				for range changes {
				}
			}
		})
		busy.Wait()
		if err := end(); err != nil {
			t.Fatal(err)
		}
		if n := len(s.Status()); n != len(units) {
			t.Errorf("%s", states(s))
		}
		started, stopped := 0, 0
		for _, line := range w.noted() {
			if strings.HasPrefix(line, "start plane-") {
				started++
			}
			if strings.HasPrefix(line, "stop plane-") {
				stopped++
			}
		}
		if stopped != 8*20 || started > stopped {
			t.Errorf("%d started and %d ended", started, stopped)
		}
	})
}
