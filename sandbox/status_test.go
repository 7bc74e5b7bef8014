package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/internal/testkit/daemontest"
	"github.com/kalypso-dev/kalypso/sandbox/daemon"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

func TestWatchReportsChangesAndTheDaemonsEnd(t *testing.T) {
	h := Home(t.TempDir())
	if _, err := h.Ensure(t.Context(), Choice{Workshop: "basic-inference"}); err != nil {
		t.Fatal(err)
	}
	open := make(chan struct{})
	gitea := &daemontest.Part{ID: os.Getpid(), OnReady: func(start int) error {
		select {
		case <-open:
			return nil
		default:
			return map[bool]error{true: errors.New("not yet")}[start > 1]
		}
	}}
	d := daemontest.Serve(t, h, daemontest.Steady("etcd"), gitea.Unit("gitea"))
	d.Settle(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	seen := make(chan *Status, 1000)
	ended := make(chan error, 1)
	go func() {
		ended <- Watch(ctx, h, func(s *Status) error { seen <- s; return nil })
	}()
	await := func(what string, is func(*Status) bool) *Status {
		t.Helper()
		for {
			select {
			case s := <-seen:
				if is(s) {
					return s
				}
			case <-ctx.Done():
				t.Fatalf("not shown: %s", what)
			}
		}
	}
	await("all is ready", func(s *Status) bool { return s.Running && s.Ready && len(s.Components) == 2 })
	if err := daemon.NewClient(h).Do(ctx, daemon.PathRestart, url.Values{"component": {"gitea"}}, nil, nil); err != nil {
		t.Fatal(err)
	}
	await("gitea is not ready", func(s *Status) bool {
		return !s.Ready && s.Components[1].State == supervisor.Starting && s.Components[1].Reason == "not yet"
	})
	close(open)
	await("gitea is ready", func(s *Status) bool { return s.Ready && s.Components[1].MemoryBytes > 0 })
	d.End()
	await("it is down", func(s *Status) bool { return !s.Running })
	daemontest.Serve(t, h, daemontest.Steady("etcd"))
	await("it is back", func(s *Status) bool { return s.Running && len(s.Components) == 1 })
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestWatchEnds(t *testing.T) {
	h := Home(t.TempDir())
	if err := Watch(t.Context(), h, func(*Status) error { return nil }); !errors.Is(err, ErrNoSandbox) {
		t.Error(err)
	}
	if _, err := h.Ensure(t.Context(), Choice{Workshop: "basic-inference"}); err != nil {
		t.Fatal(err)
	}
	full := errors.New("the pipe is closed")
	if err := Watch(t.Context(), h, func(*Status) error { return full }); !errors.Is(err, full) {
		t.Error(err)
	}
	looks := 0
	err := Watch(t.Context(), h, func(*Status) error {
		if looks++; looks == 2 {
			return os.Remove(h.Path("sandbox.json"))
		}
		return nil
	})
	if !errors.Is(err, ErrNoSandbox) || looks != 2 {
		t.Errorf("a sandbox that is deleted: %v after %d looks", err, looks)
	}
}

// TestWatchAsksSeldom wants many events to make few questions.
func TestWatchAsksSeldom(t *testing.T) {
	s := &Status{Components: []Component{{Status: supervisor.Status{Name: "a", State: supervisor.Ready, PID: 7}, MemoryBytes: 5}, {Status: supervisor.Status{Name: "b"}}}}
	same := []supervisor.Status{{Name: "a", State: supervisor.Ready, PID: 7}, {Name: "b"}}
	if _, changed := with(s, same); changed {
		t.Error("nothing has changed")
	}
	for i, c := range []supervisor.Status{
		{Name: "a", State: supervisor.Stopping, PID: 7},
		{Name: "a", State: supervisor.Ready, PID: 8},
		{Name: "a", State: supervisor.Ready, PID: 7, Reason: "x"},
	} {
		next, changed := with(s, []supervisor.Status{c, {Name: "b", State: supervisor.Waiting}})
		if !changed || next.Components[0].State != c.State || next.Components[1].State != supervisor.Waiting || next.Ready {
			t.Errorf("event %d: %+v", i, next)
		}
		if wiped := next.Components[0].MemoryBytes == 0; wiped != (c.PID != 7) {
			t.Errorf("event %d: memory %d", i, next.Components[0].MemoryBytes)
		}
	}
	if got := fmt.Sprint(s.Components[0].State, " ", s.Components[0].MemoryBytes); got != "ready 5" {
		t.Errorf("what was shown has changed: %s", got)
	}
}
