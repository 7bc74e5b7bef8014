package wait

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestForReturnsWhenTrue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		err := For(t.Context(), "x", time.Minute, func(context.Context) error {
			if time.Since(began) < time.Second {
				return errors.New("not yet")
			}
			return nil
		})
		if err != nil || time.Since(began) > 2*time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}

func TestForTellsTheLastReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reason := errors.New("disk is full")
		err := For(t.Context(), "the first backup", 3*time.Second, func(ctx context.Context) error {
			if ctx.Err() != nil {
				return ctx.Err() // what most calls return once the context has ended
			}
			return reason
		})
		if !errors.Is(err, reason) || !strings.Contains(err.Error(), "the first backup") || !strings.Contains(err.Error(), "3s") {
			t.Error(err)
		}
	})
}

// late is a context whose timer has not run yet when its time is over.
type late struct {
	context.Context
	deadline time.Time
}

func (l late) Deadline() (time.Time, bool) { return l.deadline, true }

// TestForTellsTheReasonAndNotTheTime: what looks at the deadline itself, as
// client-go's limits of requests do, refuses for it while ctx has not ended.
func TestForTellsTheReasonAndNotTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		deadline := time.Now().Add(time.Second)
		err := For(late{ctx, deadline}, "the first backup", time.Minute, func(context.Context) error {
			if !time.Now().Before(deadline) {
				return errors.New("would exceed the deadline")
			}
			return errors.New("disk is full")
		})
		if err == nil || !strings.Contains(err.Error(), "disk is full") {
			t.Error(err)
		}
	})
}
