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
