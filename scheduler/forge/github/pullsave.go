package github

import (
	"context"
	"fmt"
	"net/http"

	sdk "github.com/google/go-github/v88/github"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// SavePullRequest implements forge.Forge.
func (f *Forge) SavePullRequest(ctx context.Context, repo string, pr forge.PullRequest) (forge.PullRequest, error) {
	me, err := f.me(ctx)
	if err != nil {
		return forge.PullRequest{}, err
	}
	var saved *sdk.PullRequest
	what := fmt.Sprintf("pull request %s#%d", repo, pr.Number)
	if pr.Number == 0 {
		what = fmt.Sprintf("opening a pull request from %s to %s in %s", pr.Head, pr.Base, repo)
		saved, err = f.open(ctx, repo, pr)
	} else {
		saved, err = f.edit(ctx, repo, pr)
	}
	if err != nil {
		f.pulls.forget(repo, pr.Number)
		err = fmt.Errorf("%s: %w", what, err)
		if saved == nil {
			return forge.PullRequest{}, err
		}
		return pullRequest(saved, me), err
	}
	f.pulls.note(repo, saved)
	return pullRequest(saved, me), nil
}

// open opens a pull request. Its labels come after it: GitHub takes none with
// it.
func (f *Forge) open(ctx context.Context, repo string, pr forge.PullRequest) (saved *sdk.PullRequest, err error) {
	owner, name, err := split(repo)
	if err != nil {
		return nil, err
	}
	if err := f.defineLabels(ctx, repo, pr.Labels); err != nil {
		return nil, err
	}
	err = f.call(ctx, func() (r *sdk.Response, err error) {
		saved, r, err = f.client.PullRequests.Create(ctx, owner, name, &sdk.NewPullRequest{
			Title: &pr.Title, Head: &pr.Head, Base: &pr.Base, Body: &pr.Body, Draft: &pr.Draft,
		})
		return r, err
	})
	switch {
	case pr.Draft && refusedAs(err, http.StatusUnprocessableEntity, "draft pull requests are not supported"):
		return nil, fmt.Errorf("%w: %w", forge.ErrNoDrafts, err)
	case err != nil:
		return nil, err
	case pr.Draft && !saved.GetDraft():
		if err := f.setDraft(ctx, saved, true); err != nil {
			return saved, err
		}
	}
	return saved, f.addLabels(ctx, repo, saved, pr.Labels)
}

// edit brings a pull request to what it shall be. The order keeps an
// interruption from looking like a person's word: labels are there before the
// text that speaks of them and go after it, a draft is one before anything
// relies on it, and ceases to be one before the text says that it may.
func (f *Forge) edit(ctx context.Context, repo string, pr forge.PullRequest) (*sdk.PullRequest, error) {
	owner, name, err := split(repo)
	if err != nil {
		return nil, err
	}
	have, err := f.pull(ctx, repo, pr.Number)
	if err != nil {
		return nil, err
	}
	if err := f.defineLabels(ctx, repo, missing(pr.Labels, have.Labels)); err != nil {
		return nil, err
	}
	if err := f.addLabels(ctx, repo, have, missing(pr.Labels, have.Labels)); err != nil {
		return nil, err
	}
	if have.GetDraft() && !pr.Draft && pr.State == forge.Open {
		if err := f.setDraft(ctx, have, false); err != nil {
			return nil, err
		}
	}
	// a state that does not change is not sent: it would undo, or be refused
	// for, what a person did since the pull request was seen; and what is merged
	// stays so
	var state *string
	if have.MergedAt == nil && have.GetState() != string(pr.State) {
		state = new(string(pr.State))
	}
	var saved *sdk.PullRequest
	err = f.call(ctx, func() (r *sdk.Response, err error) {
		saved, r, err = f.client.PullRequests.Edit(ctx, owner, name, pr.Number, &sdk.PullRequest{Title: &pr.Title, Body: &pr.Body, State: state})
		return r, err
	})
	if err != nil {
		return nil, err
	}
	if pr.Draft && !saved.GetDraft() && pr.State == forge.Open {
		if err := f.setDraft(ctx, saved, true); err != nil {
			return saved, err
		}
	}
	return saved, f.removeLabels(ctx, repo, saved, pr.Labels)
}

// pull returns a pull request as it was seen last, or asks for it.
func (f *Forge) pull(ctx context.Context, repo string, number int) (p *sdk.PullRequest, err error) {
	if p := f.pulls.last(repo, number); p != nil {
		return p, nil
	}
	owner, name, err := split(repo)
	if err != nil {
		return nil, err
	}
	err = f.call(ctx, func() (r *sdk.Response, err error) {
		p, r, err = f.client.PullRequests.Get(ctx, owner, name, number)
		return r, err
	})
	return p, err
}
