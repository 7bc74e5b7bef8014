package sandbox

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/daemon"
	"github.com/kalypso-dev/kalypso/sandbox/stack"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

const (
	// watchPoll is for what comes with no event: memory, and the scheduler's status.
	watchPoll = 2 * time.Second
	// watchPause is the least time between two requests for the whole status, and
	// between two attempts to reach a daemon that does not run.
	watchPause = time.Second
)

// GetStatus asks the daemon, or returns what is known without one. The error is
// ErrNoSandbox when there is no sandbox.
func GetStatus(ctx context.Context, h Home) (*Status, error) {
	status, err := daemon.NewClient(h).Status(ctx)
	if !errors.Is(err, daemon.ErrNoDaemon) {
		return status, err
	}
	s, err := h.Load()
	if err != nil {
		return nil, err
	}
	return stack.DownStatus(h, s), nil
}

// Watch calls show with the sandbox's status, at once and after every change of
// a component, until ctx ends, which is the error then. A daemon that ends is
// waited for. The error is ErrNoSandbox when there is no sandbox or no more;
// an error of show ends the watch, too.
func Watch(ctx context.Context, h Home, show func(*Status) error) error {
	for {
		began := time.Now()
		s, err := GetStatus(ctx, h)
		if err != nil {
			return cmp.Or(ctx.Err(), err)
		}
		if err := show(s); err != nil {
			return err
		}
		if s.Running {
			if err := watchDaemon(ctx, h, s, show); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(watchPause - time.Since(began)):
		}
	}
}

// watchDaemon returns nil when the daemon has ended.
func watchDaemon(ctx context.Context, h Home, s *Status, show func(*Status) error) error {
	following, cancel := context.WithCancel(ctx)
	defer cancel()
	events, ended := make(chan []supervisor.Status), make(chan error, 1)
	go func() {
		ended <- daemon.NewClient(h).Follow(following, func(all []supervisor.Status) bool {
			select {
			case events <- append([]supervisor.Status{}, all...):
				return true
			case <-following.Done():
				return false
			}
		})
	}()
	asked := time.Now()
	ask := time.NewTimer(watchPoll)
	defer ask.Stop()
	for {
		select {
		case all := <-events:
			next, changed := with(s, all)
			if !changed {
				continue
			}
			s = next
			ask.Reset(max(0, watchPause-time.Since(asked)))
		case <-ask.C:
			next, err := GetStatus(ctx, h)
			if err != nil {
				return cmp.Or(ctx.Err(), err)
			}
			if !next.Running {
				return nil
			}
			s, asked = next, time.Now()
			ask.Reset(watchPoll)
		case err := <-ended:
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if errors.Is(err, daemon.ErrNoDaemon) {
				return nil
			}
			return err
		}
		if err := show(s); err != nil {
			return err
		}
	}
}

// with returns the status with what an event says about the components, and
// whether that is something new.
func with(s *Status, all []supervisor.Status) (next *Status, changed bool) {
	now := map[string]supervisor.Status{}
	for _, c := range all {
		now[c.Name] = c
	}
	next = new(*s)
	next.Components = append([]Component{}, s.Components...)
	silent := false
	for i, c := range next.Components {
		fresh, known := now[c.Name]
		if !known || fresh.Since.Equal(c.Since) && fresh.State == c.State && fresh.Reason == c.Reason && fresh.PID == c.PID {
			continue
		}
		if c.State == supervisor.Silent && fresh.State == supervisor.Ready && fresh.Since.Equal(c.Since) {
			silent = true // an event says nothing about that
			continue
		}
		changed = true
		next.Components[i].Status = fresh
		if fresh.PID != c.PID {
			next.Components[i].MemoryBytes = 0 // it was the other process's
		}
	}
	next.Ready = daemon.AllReady(all) && !silent
	return next, changed
}
