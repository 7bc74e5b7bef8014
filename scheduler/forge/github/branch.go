package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	sdk "github.com/google/go-github/v88/github"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// present returns where the branch is, "" when it is not there. That of a
// fast-forward need not be asked for: GitHub compares.
func (f *Forge) present(ctx context.Context, repo string, request forge.CommitRequest) (string, error) {
	if request.FastForward {
		return request.Expect, nil
	}
	head, err := f.head(ctx, repo, request.Branch)
	if err != nil && !errors.Is(err, forge.ErrNotFound) {
		return "", err
	}
	if request.Expect != "" && head != request.Expect {
		return "", fmt.Errorf("branch %s of %s is at %q, not %s: %w", request.Branch, repo, head, request.Expect, forge.ErrMoved)
	}
	return head, nil
}

// point makes the branch point to a commit.
func (f *Forge) point(ctx context.Context, repo string, request forge.CommitRequest, present, commit string) error {
	owner, name, err := split(repo)
	if err != nil {
		return err
	}
	if present == commit {
		return nil
	}
	if present == "" {
		err = f.call(ctx, func() (*sdk.Response, error) {
			_, r, err := f.client.Git.CreateRef(ctx, owner, name, sdk.CreateRef{Ref: "refs/heads/" + request.Branch, SHA: commit})
			return r, err
		})
		if refusedAs(err, http.StatusUnprocessableEntity, "already exists") {
			return fmt.Errorf("%w: %w", forge.ErrMoved, err)
		}
		return err
	}
	err = f.call(ctx, func() (*sdk.Response, error) {
		_, r, err := f.client.Git.UpdateRef(ctx, owner, name, "heads/"+request.Branch, sdk.UpdateRef{SHA: commit, Force: new(!request.FastForward)})
		return r, err
	})
	if refusedAs(err, http.StatusUnprocessableEntity, "fast forward") || refusedAs(err, http.StatusUnprocessableEntity, "reference does not exist") {
		return fmt.Errorf("%w: %w", forge.ErrMoved, err)
	}
	return err
}
