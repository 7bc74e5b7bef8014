package sandbox

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

// runs are the supervisors of one daemon, one after the other. What changes
// the data below the components is done between two of them, while nothing
// runs.
type runs struct {
	build func() (*supervisor.Supervisor, error)

	mu      sync.Mutex
	now     *supervisor.Supervisor
	next    chan struct{}      // closed when now is replaced
	end     context.CancelFunc // of now; nil until it runs
	between *between           // what the run is ended for
	busy    string             // what goes on that stands alone, "" for nothing
	over    chan struct{}      // closed when no other supervisor comes
}

// between is something to do when nothing runs.
type between struct {
	do   func() error
	done chan error
}

// halfwayError is about a change of data that has begun and is not done.
// Nothing may run on it.
type halfwayError struct{ err error }

func (e *halfwayError) Error() string {
	return e.err.Error() + "; `kalypso up` goes on with it"
}
func (e *halfwayError) Unwrap() error { return e.err }

// errEnding says that the daemon does nothing more.
var errEnding = errors.New("the sandbox is being stopped")

// newRuns builds the first supervisor.
func newRuns(build func() (*supervisor.Supervisor, error)) (*runs, error) {
	s, err := build()
	if err != nil {
		return nil, err
	}
	return &runs{build: build, now: s, next: make(chan struct{}), over: make(chan struct{})}, nil
}

// run goes on until ctx ends, and returns the errors of stopping. The error is
// a *halfwayError when a change of data could not be finished.
func (r *runs) run(ctx context.Context) error {
	defer r.finish()
	for {
		here, end := context.WithCancel(ctx)
		s := r.begin(end)
		err := s.Run(here)
		end()
		todo := r.take()
		if todo == nil {
			return err
		}
		if ctx.Err() != nil {
			todo.done <- errEnding
			return err
		}
		if err == nil {
			err = todo.do()
		}
		var halfway *halfwayError
		if errors.As(err, &halfway) {
			todo.done <- err
			return err
		}
		s, buildErr := r.build()
		if buildErr != nil {
			todo.done <- buildErr
			return buildErr
		}
		r.replace(s)
		// only now, so that whoever asked looks at the new components
		todo.done <- err
	}
}

func (r *runs) begin(end context.CancelFunc) *supervisor.Supervisor {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end = end
	if r.between != nil {
		end() // asked for before the run has begun
	}
	return r.now
}

func (r *runs) take() *between {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.between
	r.between, r.end = nil, nil
	return b
}

// finish answers who has come too late.
func (r *runs) finish() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.over)
	if r.between != nil {
		r.between.done <- errEnding
	}
}

func (r *runs) replace(s *supervisor.Supervisor) {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.next)
	r.now, r.next = s, make(chan struct{})
}

// current is the supervisor of this moment; next is closed when there is
// another.
func (r *runs) current() (s *supervisor.Supervisor, next <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now, r.next
}

// reserve makes sure that only one thing is done at a time of those that must
// stand alone.
func (r *runs) reserve(what string) (release func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.busy != "" {
		return nil, fmt.Errorf("not while something else is done (%s): try again in a moment", r.busy)
	}
	r.busy = what
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.busy = ""
	}, nil
}

// whileStill stops all components, calls do, and starts them again. It returns
// when they are about to start. Whoever calls it has reserved.
func (r *runs) whileStill(do func() error) error {
	b := &between{do: do, done: make(chan error, 1)}
	r.mu.Lock()
	select {
	case <-r.over:
		b.done <- errEnding
	default:
		r.between = b
	}
	if r.end != nil {
		r.end()
	}
	r.mu.Unlock()
	return <-b.done
}
