package sandbox

import (
	"context"

	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

// yielding is a component that is not started where there is another of its
// kind already; then it is ready at once.
type yielding struct {
	ours   supervisor.Component
	theirs func() bool

	yields bool // since Init
}

var _ supervisor.Component = (*yielding)(nil)

// Init decides.
func (y *yielding) Init(ctx context.Context) error {
	if y.yields = y.theirs(); y.yields {
		return nil
	}
	return y.ours.Init(ctx)
}

// Start starts ours.
func (y *yielding) Start(ctx context.Context) error {
	if y.yields {
		return nil
	}
	return y.ours.Start(ctx)
}

// Ready asks ours.
func (y *yielding) Ready(ctx context.Context) error {
	if y.yields {
		return nil
	}
	return y.ours.Ready(ctx)
}

// Exited is that of ours.
func (y *yielding) Exited() <-chan struct{} {
	if y.yields {
		return nil
	}
	return y.ours.Exited()
}

// Stop ends ours, also where theirs has come since it was started.
func (y *yielding) Stop(ctx context.Context) error { return y.ours.Stop(ctx) }

// PID is that of ours.
func (y *yielding) PID() int {
	if p, ok := y.ours.(interface{ PID() int }); ok && !y.yields {
		return p.PID()
	}
	return 0
}
