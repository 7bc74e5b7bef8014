// Package usage has the error of a call that is wrong: a flag, an argument or a
// name that does not exist. Programs exit with 2 for it.
package usage

import "fmt"

// Error is a mistake in how something was asked for. Its message says what to
// give instead.
type Error struct{ Message string }

func (e *Error) Error() string { return e.Message }

// Errorf makes an [Error] of a formatted message.
func Errorf(format string, args ...any) error {
	return &Error{fmt.Sprintf(format, args...)}
}

// New makes an [Error] of a message.
func New(message string) error { return &Error{message} }
