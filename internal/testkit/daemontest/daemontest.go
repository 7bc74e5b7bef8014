// Package daemontest runs the daemon of a sandbox with components of a test.
package daemontest

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/internal/retry"
	"github.com/kalypso-dev/kalypso/sandbox/daemon"
	"github.com/kalypso-dev/kalypso/sandbox/state"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

// Daemon is a running daemon.
type Daemon struct {
	// End stops it and waits for its end.
	End    func()
	client *daemon.Client
}

// Serve runs units behind the socket of a home until the test or End ends it.
func Serve(t *testing.T, h state.Home, units ...supervisor.Unit) *Daemon {
	t.Helper()
	s, err := h.Load()
	if errors.Is(err, state.ErrNoSandbox) {
		s, err = state.Choice{Workshop: "basic-inference"}.Draft()
	}
	if err == nil {
		err = state.WriteFile(h.Path("daemon.pid"), []byte(strconv.Itoa(os.Getpid())))
	}
	if err != nil {
		t.Fatal(err)
	}
	server := &daemon.Server{
		Home: h, State: s, Version: "v1", Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Build: func() daemon.Parts { return daemon.Parts{Units: units} },
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	d := &Daemon{client: daemon.NewClient(h), End: sync.OnceFunc(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})}
	t.Cleanup(d.End)
	d.Await(t, "an answer", func([]supervisor.Status) bool { return true })
	return d
}

// Status returns the components' present status.
func (d *Daemon) Status(t *testing.T) []supervisor.Status {
	t.Helper()
	all, err := d.client.Components(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Settle waits until all components are ready.
func (d *Daemon) Settle(t *testing.T) {
	t.Helper()
	d.Await(t, "all components ready", daemon.AllReady)
}

// Await waits until the components are as a test wants them.
func (d *Daemon) Await(t *testing.T, what string, is func([]supervisor.Status) bool) {
	t.Helper()
	var last []supervisor.Status
	err := retry.Until(t.Context(), what, 10*time.Second, func(ctx context.Context) error {
		return d.client.Follow(ctx, func(all []supervisor.Status) bool {
			last = all
			return !is(all)
		})
	}, retry.Every(5*time.Millisecond)) // the daemon may not listen yet
	if err != nil {
		t.Fatalf("%v: %+v", err, last)
	}
}

// Part is a component that a test controls.
type Part struct {
	mu     sync.Mutex
	starts int
	// OnReady and OnInit are called with the number of the start; may be nil.
	OnReady func(start int) error
	OnInit  func(start int) error
	// ID is the process that it claims to be, 0 for none.
	ID int
}

func (p *Part) Init(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.starts++
	if p.OnInit != nil {
		return p.OnInit(p.starts)
	}
	return nil
}

func (p *Part) Start(context.Context) error { return nil }

func (p *Part) Ready(context.Context) error {
	if p.OnReady != nil {
		return p.OnReady(p.Starts())
	}
	return nil
}

func (p *Part) Exited() <-chan struct{}    { return nil }
func (p *Part) Stop(context.Context) error { return nil }
func (p *Part) PID() int                   { return p.ID }

// Starts counts how often it has been started.
func (p *Part) Starts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.starts
}

// Unit makes a unit of it.
func (p *Part) Unit(name string, needs ...string) supervisor.Unit {
	return supervisor.Unit{Name: name, Title: "a part", Needs: needs, Component: p, Deadline: time.Minute}
}

// Steady is a component that is ready at once.
func Steady(name string) supervisor.Unit { return new(Part).Unit(name) }
