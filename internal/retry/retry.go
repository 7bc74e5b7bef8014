// Package retry repeats a call until it succeeds. Every wait has a deadline,
// names what it waits for, and ends with the last reason why that was not there.
package retry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// longestRest is up to which a pause is as long as the try before it. A call that waits for an
// answer until it gives up takes longer, but costs nothing.
const longestRest = time.Second

// Option changes how [Until] tries. Without one it pauses for 25 ms, or for as long as the
// try took, up to a second: on a slow machine the tries leave half of the time to what they
// wait for.
type Option func(*schedule)

type schedule struct {
	backoff.BackOff
	notify backoff.Notify
	took   time.Duration // of the last try
}

// NextBackOff implements backoff.BackOff.
func (s *schedule) NextBackOff() time.Duration {
	return max(s.BackOff.NextBackOff(), min(s.took, longestRest))
}

// Every pauses for the same time after each try.
func Every(pause time.Duration) Option {
	return func(s *schedule) { s.BackOff = backoff.NewConstantBackOff(pause) }
}

// Backoff pauses for a longer time after each try, from first to at most longest.
func Backoff(first, longest time.Duration) Option {
	return func(s *schedule) {
		s.BackOff = &backoff.ExponentialBackOff{InitialInterval: first, MaxInterval: longest, Multiplier: backoff.DefaultMultiplier}
	}
}

// Notify calls report with the reason ahead of every pause.
func Notify(report func(reason error)) Option {
	return func(s *schedule) { s.notify = func(reason error, _ time.Duration) { report(reason) } }
}

// Permanent marks an error that another try cannot mend: [Until] returns it at
// once, without the mark. Nil stays nil.
func Permanent(err error) error { return backoff.Permanent(err) }

// After marks an error with how long to pause before the next try.
func After(err error, pause time.Duration) error {
	return &afterError{err, &backoff.RetryAfterError{Duration: pause}}
}

type afterError struct {
	error
	after *backoff.RetryAfterError
}

func (e *afterError) Unwrap() []error { return []error{e.error, e.after} }

// TimeoutError says that the time for a wait is over.
type TimeoutError struct {
	What   string
	After  time.Duration
	Reason error // of the last try that ended in time, without the mark of [Permanent]
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("%s: not after %s: %v", e.What, e.After.Round(time.Millisecond), e.Reason)
}

func (e *TimeoutError) Unwrap() error { return e.Reason }

// Until calls check until it returns nil or a [Permanent] error. When limit or
// ctx's deadline passes first, the error is a *TimeoutError with the last
// reason; when ctx is cancelled, it wraps the cause and that reason.
func Until(ctx context.Context, what string, limit time.Duration, check func(context.Context) error, options ...Option) error {
	began := time.Now()
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var last error
	var final *backoff.PermanentError
	s := &schedule{BackOff: backoff.NewConstantBackOff(25 * time.Millisecond)}
	for _, option := range options {
		option(s)
	}
	try := func() (struct{}, error) {
		started := time.Now()
		err := check(bounded)
		s.took = time.Since(started)
		if err == nil || !Expired(bounded) {
			last = err
			errors.As(err, &final)
			return struct{}{}, err
		}
		// an error of a call that ran out of time hides the reason
		if last == nil {
			last = err
		}
		return struct{}{}, errExpired
	}
	_, err := backoff.Retry(bounded, try, backoff.WithBackOff(s), backoff.WithNotify(s.notify), backoff.WithMaxElapsedTime(0))
	switch {
	case err == nil || final != nil:
		return err
	case errors.Is(ctx.Err(), context.Canceled):
		return fmt.Errorf("%s: %w: %w", what, context.Cause(ctx), last)
	}
	return &TimeoutError{what, time.Since(began), unmarked(last)}
}

// unmarked returns err without the mark of [Permanent] and [After]: where one
// wait is part of another's try, the mark would end the outer one, too.
func unmarked(err error) error {
	switch marked := err.(type) { //nolint:errorlint // only the mark that this wait has put around it
	case *backoff.PermanentError:
		return marked.Err
	case *afterError:
		return marked.error
	}
	return err
}

var errExpired = backoff.Permanent(errors.New("expired"))

// Expired reports whether the time of ctx has passed. A call that looks at the
// deadline itself may fail for it before the context's own timer ends that.
func Expired(ctx context.Context) bool {
	deadline, limited := ctx.Deadline()
	return ctx.Err() != nil || limited && !time.Now().Before(deadline)
}

// Sleep pauses for a time, or until ctx ends: then it returns the cause.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
