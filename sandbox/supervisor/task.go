package supervisor

import "context"

// Task is a component that is done once per start of the supervisor: it is
// ready when Run has returned nil. Run must be safe to interrupt and to run
// again.
type Task struct {
	Run func(ctx context.Context) error
}

var _ Component = Task{}

// Init does the work.
func (t Task) Init(ctx context.Context) error { return t.Run(ctx) }

// Start does nothing.
func (t Task) Start(context.Context) error { return nil }

// Ready returns nil.
func (t Task) Ready(context.Context) error { return nil }

// Exited returns nil: a task that is done does not end.
func (t Task) Exited() <-chan struct{} { return nil }

// Stop does nothing.
func (t Task) Stop(context.Context) error { return nil }
