package ci

import (
	"context"
	"errors"
	"time"
)

// final marks an error after which waiting makes no sense any more.
type final struct{ error }

func (e *final) Unwrap() error { return e.error }

// stop makes an error end the wait; nil stays nil.
func stop(err error) error {
	if err == nil {
		return nil
	}
	return &final{err}
}

// soon asks to be checked again no later than in that time.
type soon struct {
	error
	in time.Duration
}

func (s *soon) Unwrap() error { return s.error }

// quick is how much shorter than the pace the first pause is: most things that
// are waited for come soon or take long.
const quick = 10

// wait asks check at once and then, ever more slowly, at most at that pace,
// until it returns nil or an error of stop. When the limit passes first it is a
// *TimeoutError with check's last error in it.
func wait(ctx context.Context, what string, limit, pace time.Duration, check func(context.Context) error) error {
	began := time.Now()
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var last error
	for pause := pace / quick; ; pause = min(pause*3/2, pace) {
		err := check(bounded)
		var end *final
		switch {
		case err == nil:
			return nil
		case errors.As(err, &end) && bounded.Err() == nil:
			return end.error
		}
		// once the time is over, that hides the reason
		if !over(bounded) || last == nil {
			last = err
		}
		till := pause
		var early *soon
		if errors.As(err, &early) {
			till = min(till, early.in)
		}
		next := time.NewTimer(max(till, time.Millisecond))
		select {
		case <-bounded.Done():
			next.Stop()
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return &TimeoutError{What: what, After: time.Since(began), Reason: last.Error()}
		case <-next.C:
		}
	}
}

// over tells whether the time of ctx has passed. Whoever works with a deadline
// may refuse for it before the context's own timer has ended that.
func over(ctx context.Context) bool {
	deadline, limited := ctx.Deadline()
	return ctx.Err() != nil || limited && !time.Now().Before(deadline)
}
