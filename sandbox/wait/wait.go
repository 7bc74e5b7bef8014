// Package wait waits for things, so that every wait has a deadline, names what
// it waits for, and tells the last reason when it gives up.
package wait

import (
	"context"
	"fmt"
	"time"
)

const poll = 25 * time.Millisecond

// For asks check until it returns nil. When limit passes first, or ctx ends,
// the error names what was waited for and wraps check's last error.
func For(ctx context.Context, what string, limit time.Duration, check func(ctx context.Context) error) error {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	var last error
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		// once the time is over, that hides the reason
		if !Over(ctx) || last == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: not after %s: %w", what, time.Since(began).Round(time.Millisecond), last)
		case <-tick.C:
		}
	}
}

// Over tells whether the time of ctx has passed. Whoever works with a deadline
// may refuse for it before the context's own timer has ended that.
func Over(ctx context.Context) bool {
	deadline, limited := ctx.Deadline()
	return ctx.Err() != nil || limited && !time.Now().Before(deadline)
}
