// Package supervisor starts the parts of a sandbox in the order of their
// needs, as many at once as can be, and keeps them running.
//
// A part is a Component. The supervisor calls it in this order and never calls
// two of its methods at once:
//
//	                 ┌──────── crashed, or asked to repair or restart ────┐
//	                 ▼                                                    │
//	waiting ──► Init ──► Start ──► Ready ──► (ready) ──► Exited() ────────┤
//	                                                                      │
//	                                              Stop ◄── asked to stop ─┘
//
// A component that ends by itself is started again, after a pause that grows
// with each crash. Five crashes within a minute make it failed, and so does an
// error of Init; a failed component stays so until Repair. What needs it
// waits. What was ready before stays as it is: a component must survive that
// something it needs is gone for a while.
//
// Units of one Group can be stopped on purpose, by Stop, in the reverse order of
// their needs. They are held then: neither a crash nor Repair nor Restart brings
// one back, only Start.
//
// Units can come and go while others run: Add takes a group with what it needs, and
// Remove ends a group for good.
package supervisor

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Component is one part of the sandbox: a child process, something served by
// this process, or a task that is done once.
type Component interface {
	// Init prepares what Start needs on disk. It is called before every Start
	// and must do nothing where there is nothing to do.
	Init(ctx context.Context) error
	// Start sets the component going and returns at once.
	Start(ctx context.Context) error
	// Ready returns nil as soon as the component does its work, and an error
	// that names what is not so yet otherwise. It is asked again until then.
	Ready(ctx context.Context) error
	// Exited is closed when the component ends by itself. It is nil for one
	// that has nothing to end. It is asked for after each Start.
	Exited() <-chan struct{}
	// Stop ends the component and returns when it has ended. It may be called
	// in every state, also on a component that was never started.
	Stop(ctx context.Context) error
}

// Unit places a component among the others.
type Unit struct {
	Name      string
	Title     string   // what it is or does, for messages
	Needs     []string // units that must be ready first
	Component Component
	// Group names the cluster that the unit belongs to; "" for none. The units
	// of a group can be stopped and started while the others go on.
	Group string
	// Deadline is how long Init, Start and Ready may take together.
	Deadline time.Duration
	// Log is the component's log file; "" when it has none.
	Log string
}

// State of a unit.
type State string

const (
	Waiting    State = "waiting"    // for what it needs
	Starting   State = "starting"   // Init, Start, or not ready yet
	Ready      State = "ready"      //
	Restarting State = "restarting" // crashed; pausing before the next start
	Failed     State = "failed"     // given up until Repair
	Stopping   State = "stopping"   //
	Stopped    State = "stopped"    // with all, or held
	// Silent is that of a unit which is ready by its status and has not answered a
	// probe in time. A Supervisor does not set it; see Supervisor.Silent.
	Silent State = "not answering"
)

// Status is a unit at one moment.
type Status struct {
	Name     string        `json:"name"`
	Title    string        `json:"title"`
	Group    string        `json:"group,omitempty"`
	OneShot  bool          `json:"oneShot,omitempty"` // a Task
	State    State         `json:"state"`
	Since    time.Time     `json:"since"`
	Took     time.Duration `json:"tookNanoseconds,omitempty"` // from the first step to ready
	PID      int           `json:"pid,omitempty"`
	Restarts int           `json:"restarts,omitempty"`
	Reason   string        `json:"reason,omitempty"` // last reason for not being ready
	LogTail  []string      `json:"logTail,omitempty"`
	Log      string        `json:"log,omitempty"`
	// LastFailure is why it was started again, or given up, the last time. It
	// stays when the unit is ready again.
	LastFailure string `json:"lastFailure,omitempty"`
	// Held says that the unit's group has been stopped on purpose: the unit is
	// not to be waited for until the group is started. Reason says by what.
	Held bool `json:"held,omitempty"`
}

// hasPID is implemented by components that are a process.
type hasPID interface{ PID() int }

// hasCause is implemented by components that know why they have ended.
type hasCause interface{ Cause() error }

// endedError is how a process has ended.
type endedError struct{ how string }

func (e *endedError) Error() string { return "ended " + e.how }

// errEnded is the end of a component that knows no cause.
var errEnded = &endedError{"by itself"}

// causeOf is why a component has ended that was ready.
func causeOf(c Component) error {
	if c, ok := c.(hasCause); ok {
		if cause := c.Cause(); cause != nil {
			return cause
		}
	}
	return errEnded
}

// causeBeforeReady is why a component has ended that was not ready, last for
// the reason given. What is more than the end of a process explains itself.
func causeBeforeReady(c Component, last error) error {
	cause := causeOf(c)
	ended, ok := errors.AsType[*endedError](cause)
	switch {
	case !ok:
		return cause
	case ended == errEnded:
		return fmt.Errorf("ended before it was ready: %w", last)
	}
	return fmt.Errorf("%w before it was ready: %w", ended, last)
}

// Task is a component that is done once per start of the supervisor: it is
// ready when Run has returned nil. Run must be safe to interrupt and to run
// again.
type Task struct {
	Run func(ctx context.Context) error
}

var _ Component = Task{}

func (t Task) Init(ctx context.Context) error { return t.Run(ctx) }

func (t Task) Start(context.Context) error { return nil }

func (t Task) Ready(context.Context) error { return nil }

// Exited returns nil: a task that is done does not end.
func (t Task) Exited() <-chan struct{} { return nil }

func (t Task) Stop(context.Context) error { return nil }
