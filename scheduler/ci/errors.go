package ci

import (
	"errors"
	"fmt"
)

// ErrDenied is wrapped by errors about a server that does not take the token.
var ErrDenied = errors.New("access denied")

// UsageError is a mistake in a flag or a variable.
type UsageError struct{ Message string }

func (e *UsageError) Error() string { return e.Message }

func usage(format string, args ...any) error {
	return &UsageError{Message: fmt.Sprintf(format, args...)}
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
