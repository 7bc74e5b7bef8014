package source

import (
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// Error is something that a person can put right, with how.
type Error struct {
	Message string
	Hint    string
	Err     error // what it wraps, may be nil
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns what the error wraps.
func (e *Error) Unwrap() error { return e.Err }

// ErrCredentials is wrapped by errors about a server that asks for other
// credentials than it got, or for any.
var ErrCredentials = errors.New("credentials needed")

// absent words that something is not there in the way a model.Reader must.
func absent(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, model.ErrNotFound)...)
}

// refusal marks the errors of servers that want credentials.
func refusal(err error, url string, sent bool) error {
	if !errors.Is(err, transport.ErrAuthenticationRequired) && !errors.Is(err, transport.ErrAuthorizationFailed) {
		return err
	}
	message := "it asks for credentials, or does not exist"
	if sent {
		message = "it refuses the credentials"
	}
	return fmt.Errorf("repository %s: %s: %w", redacted(url), message, ErrCredentials)
}
