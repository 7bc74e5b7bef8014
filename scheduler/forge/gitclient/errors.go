package gitclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/transport"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// What errors wrap, besides forge.ErrNotFound and forge.ErrMoved, where a
// caller has something to do about it. Every other error is the server's.
var (
	// ErrDenied means that the server does not take the account, or that the
	// account may not do what was asked. It says nothing about whether the
	// thing exists.
	ErrDenied = errors.New("access denied")
	// ErrNetwork means that there was no answer, or not all of it.
	ErrNetwork = errors.New("network failure")
)

// bounded is ctx with the time limit of one conversation.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, Timeout, fmt.Errorf("%w: no answer within %s", ErrNetwork, Timeout))
}

// failure words a transport error. A server that asks for credentials knows a
// repository that this account may not see, or hides whether there is one:
// neither tells that it is absent.
func (r Remote) failure(ctx context.Context, err error) error {
	if b, ok := ctx.Value(budgetKey{}).(*budget); ok && b.exceeded != nil {
		return fmt.Errorf("repository %s: %w", r.name(), b.exceeded)
	}
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("repository %s: %w", r.name(), cause)
	}
	var unexpected *plumbing.UnexpectedError // hides what it wraps
	if errors.As(err, &unexpected) {
		err = unexpected.Err
	}
	var noAnswer *url.Error
	switch {
	case errors.Is(err, transport.ErrRepositoryNotFound):
		return fmt.Errorf("repository %s: %w", r.name(), forge.ErrNotFound)
	case errors.Is(err, transport.ErrEmptyRemoteRepository):
		return fmt.Errorf("repository %s is empty: %w", r.name(), forge.ErrNotFound)
	case errors.Is(err, transport.ErrAuthenticationRequired), errors.Is(err, transport.ErrAuthorizationFailed):
		return fmt.Errorf("repository %s: %w: %w", r.name(), ErrDenied, err)
	case errors.As(err, &noAnswer):
		return fmt.Errorf("repository %s: %w: %w", r.name(), ErrNetwork, noAnswer.Err)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("repository %s: %w: the answer ends early", r.name(), ErrNetwork)
	}
	return fmt.Errorf("repository %s: %w", r.name(), err)
}

// unknownObject recognises git's answer to a commit ID that it does not have.
// It has no code of its own.
func unknownObject(err error) bool {
	return strings.Contains(err.Error(), "not our ref")
}
