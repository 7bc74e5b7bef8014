package github

import (
	"fmt"
	"time"
)

// Wait says why a request is held back, and until when.
type Wait struct {
	Reason  string
	Until   time.Time
	Request string // method and path
}

// LimitError is a rate limit that lasts longer than the caller has time.
type LimitError struct {
	Reason string
	Until  time.Time
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%s until %s: wait, have fewer schedulers share the account, or use a GitHub App, which has a budget of its own",
		e.Reason, e.Until.UTC().Format(time.RFC3339))
}

// Budget counts API requests. Limit, Remaining and Reset are GitHub's newest
// word on the REST API; they are zero where it has no limits.
type Budget struct {
	Requests  int // sent so far, whatever their answer
	Unchanged int // of those, answered by 304, which GitHub does not count
	Limit     int
	Remaining int
	Reset     time.Time
}
