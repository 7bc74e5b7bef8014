package lease

import (
	"context"
	"errors"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// acquire waits until the lease is this contender's. It looks at once, so that
// one that is alone need not wait.
func (l *Lease) acquire(ctx context.Context) (*term, error) {
	var seen sighting
	var since time.Time // when it was seen first
	for first := true; ; first = false {
		if !first && !pause(ctx, l.renew()) || ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		var now sighting
		err := l.ask(ctx, func(ctx context.Context) (err error) {
			now, err = l.look(ctx)
			return err
		})
		if err != nil {
			l.log.Debug("the lease could not be looked at", "error", err)
			continue
		}
		if now != seen || since.IsZero() {
			seen, since = now, time.Now()
			l.change(func(s *State) { s.Holder, s.URL = now.status.Description, now.status.URL })
		}
		released := now.status.State == forge.Success
		if now.head != "" && !released && time.Since(since) < l.options.Length {
			continue
		}
		if t := l.begin(ctx, now.head); t != nil {
			return t, nil
		}
		since = time.Time{} // of what is there now
	}
}

// ask does something that asks the forge, and notes whether it answers.
func (l *Lease) ask(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, l.renew())
	defer cancel()
	err := do(ctx)
	l.change(func(s *State) {
		if s.Error = ""; err != nil {
			s.Error = err.Error()
		}
	})
	return err
}

// begin takes the lease, and returns nil when another was faster or nobody
// knows who was.
func (l *Lease) begin(ctx context.Context, head string) *term {
	t := &term{last: time.Now()}
	err := l.ask(ctx, func(ctx context.Context) (err error) {
		if t.commit, err = l.take(ctx, head); err == nil {
			err = l.beatOnce(ctx, t)
		}
		return err
	})
	if err == nil && head == "" {
		// Two may have made the branch, one after the other. The later one has
		// won, which the other sees a little later.
		if pause(ctx, l.renew()) {
			err = l.ask(ctx, func(ctx context.Context) error { return l.beatOnce(ctx, t) })
		}
	}
	switch {
	case ctx.Err() != nil:
		if t.commit != "" {
			l.release(ctx, t)
		}
	case err == nil:
		return t
	case !errors.Is(err, forge.ErrMoved) && !errors.Is(err, errLost):
		l.log.Warn("the lease could not be taken", "error", err)
	}
	return nil
}
