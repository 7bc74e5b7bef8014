package supervisor

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// keepUp runs one unit in a supervisor until the test's end.
func keepUp(t *testing.T, b *Background) *Supervisor {
	t.Helper()
	s, err := New(quiet(), Unit{Name: "it", Component: b, Deadline: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		end()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestBackgroundReportsItsSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := 0
		b := &Background{
			Run: func(ctx context.Context, say func(string), ready func()) error {
				say("first")
				select {
				case <-time.After(5 * time.Second):
				case <-ctx.Done():
					return ctx.Err()
				}
				ready()
				<-ctx.Done()
				return ctx.Err()
			},
			End: func(context.Context) error { ended++; return nil },
		}
		s := keepUp(t, b)
		time.Sleep(time.Second)
		if st := s.Status()[0]; st.State != Starting || st.Reason != "first" {
			t.Errorf("after 1 s: %+v", st)
		}
		time.Sleep(5 * time.Second)
		if st := s.Status()[0]; st.State != Ready || ended != 0 {
			t.Errorf("after 6 s: %+v, ended %d times", st, ended)
		}
		if err := b.Stop(t.Context()); err != nil || ended != 1 {
			t.Errorf("%v, ended %d times", err, ended)
		}
	})
}

func TestBackgroundSaysWhyItEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		s := keepUp(t, &Background{Run: func(_ context.Context, _ func(string), ready func()) error {
			if runs++; runs == 1 {
				ready()
				return errors.New("the engine is gone")
			}
			return &PermanentError{errors.New("no image")}
		}})
		time.Sleep(20 * time.Second)
		st := s.Status()[0]
		if st.State != Failed || st.Reason != "no image" || runs != 2 {
			t.Errorf("%+v after %d runs", st, runs)
		}
	})
}

// TestBackgroundDone has nothing that can end once it is ready, and is looked at
// again by Check.
func TestBackgroundDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		var broken atomic.Bool
		s := keepUp(t, &Background{
			Run: func(_ context.Context, _ func(string), ready func()) error {
				runs++
				ready()
				return nil
			},
			Check: func(context.Context) error {
				if broken.Load() {
					return errors.New("a pod is gone")
				}
				return nil
			},
		})
		time.Sleep(time.Minute)
		if st := s.Status()[0]; st.State != Ready || runs != 1 {
			t.Errorf("%+v after %d runs", st, runs)
		}
		broken.Store(true)
		s.Repair(t.Context())
		synctest.Wait()
		if st := s.Status()[0]; st.State != Starting || st.Reason != "a pod is gone" {
			t.Errorf("broken: %+v", st)
		}
		broken.Store(false)
		time.Sleep(time.Second)
		if st := s.Status()[0]; st.State != Ready || runs != 1 {
			t.Errorf("mended: %+v after %d runs", st, runs)
		}
	})
}

func TestBackgroundThatNeverGetsReady(t *testing.T) {
	b := &Background{Run: func(_ context.Context, say func(string), _ func()) error {
		say("looking")
		return nil
	}}
	if err := b.Ready(t.Context()); err == nil || b.Exited() != nil || b.Cause() != nil {
		t.Errorf("not started: %v", err)
	}
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-b.Exited()
	if err := b.Cause(); err == nil || err.Error() != "ended before it was ready: looking" {
		t.Error(err)
	}
	if err := errors.Join(b.Stop(t.Context()), b.Stop(t.Context())); err != nil {
		t.Error(err)
	}
}
