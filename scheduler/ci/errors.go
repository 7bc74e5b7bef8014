package ci

import (
	"errors"
	"fmt"
	"time"
)

// ErrDenied is wrapped by errors about a server that does not take the token.
var ErrDenied = errors.New("access denied")

// UsageError is a mistake in a flag or a variable.
type UsageError struct{ Message string }

func (e *UsageError) Error() string { return e.Message }

func usage(format string, args ...any) error {
	return &UsageError{Message: fmt.Sprintf(format, args...)}
}

// TimeoutError tells that something did not come in time.
type TimeoutError struct {
	What   string
	After  time.Duration
	Reason string // the last one for not being there
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("%s: not after %s: %s", e.What, e.After.Round(time.Millisecond), e.Reason)
}

// hinted is an error with a sentence on what to do about it.
type hinted struct {
	error
	hint string
}

func (e *hinted) Unwrap() error { return e.error }

func withHint(err error, format string, args ...any) error {
	return &hinted{err, fmt.Sprintf(format, args...)}
}

// Hint is what a person can do about an error, "" when that is in its text.
func Hint(err error) string {
	var h *hinted
	switch {
	case errors.As(err, &h):
		return h.hint
	case errors.Is(err, ErrDenied):
		return "the token is that of KALYPSO_CI_TOKEN, or else GITHUB_TOKEN, which is good for the workflow's own repository only"
	}
	return ""
}
