package supervisor

import (
	"context"
	"errors"
	"sync"
)

// Background is a component whose start takes a while and has steps that users
// want to see, and which this process itself keeps up.
type Background struct {
	// Run does everything: it brings the component up, reports by say what it is
	// just doing, calls ready when the component does its work, and returns when
	// it has ended: by itself, with the reason, or because ctx has. One that
	// returns nil after it was ready has nothing that can end.
	Run func(ctx context.Context, say func(step string), ready func()) error
	// Check looks again whether a ready component does its work; may be nil.
	Check func(ctx context.Context) error
	// End ends what Run has left behind on purpose; may be nil.
	End func(ctx context.Context) error

	mu  sync.Mutex
	now *span // nil before the first Start
}

type span struct {
	cancel context.CancelFunc
	exited chan struct{} // closed when it ends by itself, or could not start
	done   chan struct{} // closed when Run has returned

	step  string
	ready bool
	cause error
}

var _ Component = (*Background)(nil)

func (b *Background) Init(context.Context) error { return nil }

func (b *Background) Start(ctx context.Context) error {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r := &span{cancel: cancel, exited: make(chan struct{}), done: make(chan struct{}), step: "starting"}
	b.mu.Lock()
	b.now = r
	b.mu.Unlock()
	change := func(do func()) {
		b.mu.Lock()
		defer b.mu.Unlock()
		do()
	}
	go func() {
		defer close(r.done)
		err := b.Run(ctx,
			func(step string) { change(func() { r.step = step }) },
			func() { change(func() { r.ready = true }) },
		)
		var stays bool
		change(func() {
			stays = err == nil && r.ready
			if !stays && err == nil {
				err = errors.New("ended before it was ready: " + r.step)
			}
			r.cause = err
		})
		if !stays {
			close(r.exited)
		}
	}()
	return nil
}

// Ready returns the step as an error until Run is ready, and then asks Check.
func (b *Background) Ready(ctx context.Context) error {
	b.mu.Lock()
	r := b.now
	if r == nil {
		b.mu.Unlock()
		return errors.New("not started")
	}
	ready, step, cause := r.ready, r.step, r.cause
	b.mu.Unlock()
	switch {
	case cause != nil:
		return cause
	case !ready:
		return errors.New(step)
	case b.Check != nil:
		return b.Check(ctx)
	}
	return nil
}

func (b *Background) Cause() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.now == nil {
		return nil
	}
	return b.now.cause
}

// Exited is closed when Run returns before Stop, but for one that has
// nothing that can end.
func (b *Background) Exited() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.now == nil {
		return nil
	}
	return b.now.exited
}

// Stop ends Run, waits for it, then calls End.
func (b *Background) Stop(ctx context.Context) error {
	b.mu.Lock()
	r := b.now
	b.now = nil
	b.mu.Unlock()
	if r == nil {
		return nil
	}
	r.cancel()
	select {
	case <-r.done:
	case <-ctx.Done():
		return errors.New("does not end: " + r.step)
	}
	if b.End == nil {
		return nil
	}
	return b.End(ctx)
}
