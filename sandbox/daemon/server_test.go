package daemon

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/internal/retry"
	"github.com/kalypso-dev/kalypso/sandbox/state"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

// TestServer drives a daemon over a real socket.
func TestServer(t *testing.T) {
	h := state.Home(t.TempDir())
	gate := make(chan struct{})
	log := slog.New(slog.DiscardHandler)
	units := []supervisor.Unit{
		{Name: "a", Deadline: time.Minute, Component: supervisor.Task{Run: func(ctx context.Context) error {
			select {
			case <-gate:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}}},
		{Name: "b", Needs: []string{"a"}, Deadline: time.Minute, Component: supervisor.Task{Run: func(context.Context) error { return nil }}},
	}
	c := NewClient(h)
	if _, err := c.Status(t.Context()); !errors.Is(err, ErrNoDaemon) {
		t.Errorf("without a daemon: %v", err)
	}
	server := &Server{Home: h, State: &state.State{Workshop: "w"}, Log: log, Build: func() Parts { return Parts{Units: units} }}
	ended := make(chan error, 1)
	go func() { ended <- server.Run(t.Context()) }()
	err := retry.Until(t.Context(), "the daemon's answer", time.Minute, func(ctx context.Context) error {
		_, err := c.Status(ctx)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(h.Socket()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("socket: %v, %v", info.Mode(), err)
	}

	var seen []string
	err = c.Follow(t.Context(), func(all []supervisor.Status) bool {
		line := string(all[0].State) + " " + string(all[1].State)
		if len(seen) == 0 {
			close(gate)
		}
		seen = append(seen, line)
		return !AllReady(all)
	})
	if err != nil || seen[len(seen)-1] != "ready ready" {
		t.Errorf("followed %q, %v", seen, err)
	}
	status, err := c.Status(t.Context())
	if err != nil || status.Workshop != "w" || !status.Ready {
		t.Errorf("status %+v, %v", status, err)
	}
	if err := c.Post(t.Context(), PathRepair); err != nil {
		t.Error(err)
	}
	if err := c.Post(t.Context(), PathStop); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestNodesAreNotFrozen(t *testing.T) {
	got := writers([]supervisor.Status{{Name: "gitea", PID: 3}, {Name: "node-large", PID: 4}, {Name: "repositories"}})
	if len(got) != 1 || got["gitea"] != 3 {
		t.Errorf("%v", got)
	}
}

func managed(t *testing.T) *supervisorManager {
	t.Helper()
	m, err := newSupervisorManager(func() (*supervised, error) {
		s, err := supervisor.New(slog.New(slog.DiscardHandler))
		return &supervised{Supervisor: s}, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestTaskAfterTheEndIsAnswered(t *testing.T) {
	m := managed(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.run(ctx); err != nil {
		t.Fatal(err)
	}
	if err := m.runWhileStopped(func() error { return nil }); !errors.Is(err, errEnding) {
		t.Error(err)
	}
}

func TestExclusiveOperationsDoNotOverlap(t *testing.T) {
	m := managed(t)
	release, err := m.reserve("a snapshot is being saved")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.reserve("the sandbox is being reset"); err == nil || !strings.Contains(err.Error(), "a snapshot is being saved") {
		t.Error(err)
	}
	release()
	if _, err := m.reserve("the sandbox is being reset"); err != nil {
		t.Error(err)
	}
}

// TestFollowersSeeUnitsComeAndGo changes the units of a daemon while a client follows.
func TestFollowersSeeUnitsComeAndGo(t *testing.T) {
	h := state.Home(t.TempDir())
	done := supervisor.Task{Run: func(context.Context) error { return nil }}
	server := &Server{Home: h, State: &state.State{Workshop: "w"}, Log: slog.New(slog.DiscardHandler), Build: func() Parts {
		return Parts{Units: []supervisor.Unit{{Name: "a", Deadline: time.Minute, Component: done}}}
	}}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	defer func() { stop(); <-ended }()
	c := NewClient(h)
	if err := retry.Until(t.Context(), "the daemon's answer", time.Minute, func(ctx context.Context) error {
		_, err := c.Status(ctx)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	limited, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	units := server.current()
	step := 0
	err := c.Follow(limited, func(all []supervisor.Status) bool {
		switch {
		case step == 0:
			step++
			if err := units.Add(supervisor.Unit{Name: "b", Group: "g", Needs: []string{"a"}, Deadline: time.Minute, Component: done}); err != nil {
				t.Error(err)
			}
		case step == 1 && len(all) == 2 && all[1].State == supervisor.Ready:
			step++
			go func() {
				if err := units.Remove(limited, "g", "is removed"); err != nil {
					t.Error(err)
				}
			}()
		case step == 2 && len(all) == 1:
			return false
		}
		return true
	})
	if err != nil {
		t.Errorf("after step %d: %v", step, err)
	}
}
