package retry

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cenkalti/backoff/v5"
)

func TestUntilReturnsWhenTrue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		err := Until(t.Context(), "x", time.Minute, func(context.Context) error {
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

func TestUntilReportsTheLastReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reason := errors.New("disk is full")
		err := Until(t.Context(), "the first backup", 3*time.Second, func(ctx context.Context) error {
			if ctx.Err() != nil {
				return ctx.Err() // what most calls return once the context has ended
			}
			return reason
		})
		var timeout *TimeoutError
		if !errors.Is(err, reason) || !errors.As(err, &timeout) || timeout.What != "the first backup" || timeout.After != 3*time.Second {
			t.Error(err)
		}
	})
}

// late is a context whose timer has not fired yet at its deadline.
type late struct {
	context.Context
	deadline time.Time
}

func (l late) Deadline() (time.Time, bool) { return l.deadline, true }

// TestUntilKeepsTheReasonAtTheDeadline: a call that looks at the deadline itself,
// as client-go's rate limiter does, fails for it before ctx ends.
func TestUntilKeepsTheReasonAtTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		deadline := time.Now().Add(time.Second)
		err := Until(late{ctx, deadline}, "the first backup", time.Minute, func(context.Context) error {
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

// pauses returns the pauses between the tries until check succeeds.
func pauses(t *testing.T, tries int, failure error, options ...Option) (all []time.Duration) {
	t.Helper()
	last := time.Time{}
	err := Until(t.Context(), "x", time.Hour, func(context.Context) error {
		if now := time.Now(); !last.IsZero() {
			all = append(all, now.Sub(last))
		}
		if last = time.Now(); len(all) == tries {
			return nil
		}
		return failure
	}, options...)
	if err != nil {
		t.Error(err)
	}
	return all
}

func TestPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failure := errors.New("not yet")
		if got := pauses(t, 2, failure); !slices.Equal(got, []time.Duration{25 * time.Millisecond, 25 * time.Millisecond}) {
			t.Errorf("by default: %v", got)
		}
		if got := pauses(t, 2, failure, Every(time.Minute)); !slices.Equal(got, []time.Duration{time.Minute, time.Minute}) {
			t.Errorf("every minute: %v", got)
		}
		if got := pauses(t, 4, failure, Backoff(2*time.Second, 4*time.Second)); !slices.Equal(got, []time.Duration{2 * time.Second, 3 * time.Second, 4 * time.Second, 4 * time.Second}) {
			t.Errorf("growing: %v", got)
		}
		if got := pauses(t, 1, After(failure, time.Second), Every(time.Minute)); !slices.Equal(got, []time.Duration{time.Second}) {
			t.Errorf("after a second: %v", got)
		}
	})
}

// TestUntilRests: what a try costs is not asked of the machine all the time, and a try that
// waits for an answer in vain is not waited for twice.
func TestUntilRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for took, want := range map[time.Duration]time.Duration{
			10 * time.Millisecond:  100 * time.Millisecond,
			400 * time.Millisecond: 400 * time.Millisecond,
			30 * time.Second:       time.Second,
		} {
			began, tries := time.Now(), 0
			err := Until(t.Context(), "x", time.Hour, func(context.Context) error {
				time.Sleep(took)
				if tries++; tries == 2 {
					return nil
				}
				return errors.New("not yet")
			}, Every(100*time.Millisecond))
			if rest := time.Since(began) - 2*took; err != nil || rest != want {
				t.Errorf("after a try of %s it rests for %s, want %s: %v", took, rest, want, err)
			}
		}
	})
}

func TestUntilReturnsAPermanentErrorAtOnce(t *testing.T) {
	denied := errors.New("denied")
	err := Until(t.Context(), "x", time.Hour, func(context.Context) error { return Permanent(denied) })
	var mark *backoff.PermanentError
	if !errors.Is(err, denied) || errors.As(err, &mark) {
		t.Errorf("%v", err)
	}
}

// TestUntilWithinUntil: what an inner wait calls permanent, and has run out of
// time for, is one failed try of the outer one.
func TestUntilWithinUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		err := Until(t.Context(), "outer", time.Hour, func(ctx context.Context) error {
			if tries++; tries == 3 {
				return nil
			}
			mark := Permanent
			if tries == 2 {
				mark = func(err error) error { return After(err, 3*time.Hour) }
			}
			return Until(ctx, "inner", time.Second, func(ctx context.Context) error {
				<-ctx.Done()
				return mark(ctx.Err())
			})
		})
		if err != nil || tries != 3 {
			t.Errorf("%d tries: %v", tries, err)
		}
	})
}

func TestUntilEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		interrupted, reason := errors.New("interrupted"), errors.New("not yet")
		time.AfterFunc(time.Second, func() { cancel(interrupted) })
		err := Until(ctx, "x", time.Hour, func(context.Context) error { return reason })
		var timeout *TimeoutError
		if !errors.Is(err, interrupted) || !errors.Is(err, reason) || errors.As(err, &timeout) {
			t.Error(err)
		}
	})
}

func TestExpired(t *testing.T) {
	limited, cancel := context.WithTimeout(t.Context(), time.Hour)
	ended, end := context.WithCancel(t.Context())
	end()
	defer cancel()
	for _, test := range []struct {
		name string
		ctx  context.Context
		want bool
	}{
		{"no limit", t.Context(), false},
		{"time left", limited, false},
		{"ended", ended, true},
		{"time over, not ended yet", late{t.Context(), time.Now()}, true},
	} {
		if got := Expired(test.ctx); got != test.want {
			t.Errorf("%s: %t", test.name, got)
		}
	}
}
