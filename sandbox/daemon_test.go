package sandbox

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

// servant is a daemon whose components are a test's.
type servant struct {
	*supervisor.Supervisor // the first
	runs                   *runs
	end                    func()
}

// serve runs units behind the control door of a home until end is called.
func serve(t *testing.T, h Home, units ...supervisor.Unit) *servant {
	t.Helper()
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	r, err := newRuns(func() (*supervisor.Supervisor, error) { return h.supervise(log, units) })
	if err != nil {
		t.Fatal(err)
	}
	s, _ := r.current()
	if err := os.WriteFile(h.Path("daemon.pid"), []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := listenPrivately(h.Socket())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	state, err := h.LoadState()
	if err != nil && !errors.Is(err, ErrNoSandbox) {
		t.Fatal(err)
	}
	c := &control{runs: r, home: h, state: state, version: "v1", log: log, stop: stop, status: func(context.Context) Status {
		s, _ := r.current()
		st := Status{Running: true, Home: string(h), Workshop: "basic-inference", Version: "v1", PID: os.Getpid(), Ready: ready(s.Status())}
		for _, u := range s.Status() {
			st.Components = append(st.Components, Component{Status: u, MemoryBytes: 1 << 20})
		}
		return st
	}}
	server := &http.Server{Handler: c.handler()}
	ended := make(chan error, 1)
	go func() { ended <- r.run(ctx) }()
	go server.Serve(l)
	d := &servant{s, r, sync.OnceFunc(func() {
		stop()
		if err := errors.Join(<-ended, server.Close()); err != nil {
			t.Error(err)
		}
	})}
	t.Cleanup(d.end)
	return d
}

// part is a component that a test moves by hand.
type part struct {
	mu     sync.Mutex
	starts int
	ready  func(start int) error
	init   func(start int) error
}

func (p *part) Init(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.starts++
	if p.init != nil {
		return p.init(p.starts)
	}
	return nil
}

func (p *part) Start(context.Context) error { return nil }

func (p *part) Ready(context.Context) error {
	if p.ready != nil {
		return p.ready(p.count())
	}
	return nil
}

func (p *part) Exited() <-chan struct{}    { return nil }
func (p *part) Stop(context.Context) error { return nil }

func (p *part) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.starts
}

func (p *part) unit(name string, needs ...string) supervisor.Unit {
	return supervisor.Unit{Name: name, Title: "a part", Needs: needs, Component: p, Deadline: time.Minute}
}

// steady is a component that is ready at once.
func steady(name string) supervisor.Unit { return new(part).unit(name) }

// settle waits until all components are ready.
func (s *servant) settle(t *testing.T) {
	t.Helper()
	for range 500 {
		if ready(s.Status()) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("not ready: %+v", s.Status())
}
