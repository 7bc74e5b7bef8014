package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	sdk "github.com/google/go-github/v88/github"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

func (f *Forge) pull(ctx context.Context, repo string, number int) (p *sdk.PullRequest, err error) {
	err = f.callRepo(ctx, repo, func(owner, name string) (r *sdk.Response, err error) {
		p, r, err = f.client.PullRequests.Get(ctx, owner, name, number)
		return r, err
	})
	return p, err
}

// PullRequest returns a pull request as it is now. GitHub's lists may have it as
// it was some seconds ago.
func (f *Forge) PullRequest(ctx context.Context, repo string, number int) (forge.PullRequest, error) {
	login, err := f.login(ctx)
	if err != nil {
		return forge.PullRequest{}, err
	}
	p, err := f.pull(ctx, repo, number)
	if err != nil {
		return forge.PullRequest{}, fmt.Errorf("pull request %s#%d: %w", repo, number, err)
	}
	return f.pullRequest(p, login), nil
}

// MergedBy returns the account that has merged a pull request, "" for one that is not merged.
func (f *Forge) MergedBy(ctx context.Context, repo string, number int) (string, error) {
	p, err := f.pull(ctx, repo, number)
	if err != nil {
		return "", fmt.Errorf("pull request %s#%d: %w", repo, number, err)
	}
	return p.GetMergedBy().GetLogin(), nil
}

// PullRequests implements forge.Forge. GitHub lets one pull request between two
// branches be open at a time, so that a page which shows it, or is the last,
// shows all that is asked for.
func (f *Forge) PullRequests(ctx context.Context, repo, head, base string) ([]forge.PullRequest, error) {
	found, more, err := f.between(ctx, repo, head, base, "all")
	if err != nil {
		return nil, err
	}
	if more && !slices.ContainsFunc(found, func(p forge.PullRequest) bool { return p.State == forge.Open }) {
		open, _, err := f.between(ctx, repo, head, base, string(forge.Open))
		if err != nil {
			return nil, err
		}
		found = append(found, open...)
	}
	slices.SortFunc(found, func(a, b forge.PullRequest) int { return b.Number - a.Number })
	return slices.CompactFunc(found, func(a, b forge.PullRequest) bool { return a.Number == b.Number }), nil
}

// between lists the newest pull requests between two branches: one page, and as
// many more as it takes to find one of this account that is not open any more.
func (f *Forge) between(ctx context.Context, repo, head, base, state string) (found []forge.PullRequest, more bool, err error) {
	owner, name, err := forge.SplitRepo(repo)
	if err != nil {
		return nil, false, err
	}
	login, err := f.login(ctx)
	if err != nil {
		return nil, false, err
	}
	err = f.pages(ctx, func(page sdk.ListOptions) (*sdk.Response, bool, error) {
		page.PerPage = 30 // each is some 20 kB
		list, r, err := f.client.PullRequests.List(ctx, owner, name, &sdk.PullRequestListOptions{
			State: state, Head: owner + ":" + head, Base: base, Sort: "created", Direction: "desc", ListOptions: page,
		})
		newest := false
		for _, p := range list {
			if !sameBranches(p, head, base) {
				continue
			}
			pr := f.pullRequest(p, login)
			found = append(found, pr)
			newest = newest || pr.Own && pr.State != forge.Open
		}
		more = r != nil && r.NextPage != 0
		return r, newest, err
	})
	if err != nil {
		return nil, false, fmt.Errorf("pull requests of %s: %w", repo, err)
	}
	return found, more, nil
}

// LatestPullRequests lists the pull requests of a repository, whatever their branches: all
// that are open, and the newest of the others; newest first.
func (f *Forge) LatestPullRequests(ctx context.Context, repo string) ([]forge.PullRequest, error) {
	owner, name, err := forge.SplitRepo(repo)
	if err != nil {
		return nil, err
	}
	login, err := f.login(ctx)
	if err != nil {
		return nil, err
	}
	var found []forge.PullRequest
	for _, state := range []string{string(forge.Open), string(forge.Closed)} {
		err := f.pages(ctx, func(page sdk.ListOptions) (*sdk.Response, bool, error) {
			page.PerPage = 30 // each is some 20 kB
			list, r, err := f.client.PullRequests.List(ctx, owner, name, &sdk.PullRequestListOptions{
				State: state, Sort: "created", Direction: "desc", ListOptions: page,
			})
			for _, p := range list {
				found = append(found, f.pullRequest(p, login))
			}
			return r, state == string(forge.Closed), err
		})
		if err != nil {
			return nil, fmt.Errorf("pull requests of %s: %w", repo, err)
		}
	}
	slices.SortStableFunc(found, func(a, b forge.PullRequest) int { return b.Number - a.Number })
	return slices.CompactFunc(found, func(a, b forge.PullRequest) bool { return a.Number == b.Number }), nil
}

// sameBranches reports whether a pull request goes from one branch to another of
// its own repository. A fork's branch of the same name is another branch, and
// GitHub lists everything when it does not understand the filter.
func sameBranches(p *sdk.PullRequest, head, base string) bool {
	return p.GetHead().GetRef() == head && p.GetBase().GetRef() == base &&
		(p.GetHead().GetRepo() == nil || p.GetHead().GetRepo().GetID() == p.GetBase().GetRepo().GetID())
}

func (f *Forge) pullRequest(p *sdk.PullRequest, login string) forge.PullRequest {
	pr := forge.PullRequest{
		Number:     p.GetNumber(),
		Title:      p.GetTitle(),
		Body:       p.GetBody(),
		Head:       p.GetHead().GetRef(),
		HeadCommit: p.GetHead().GetSHA(),
		Base:       p.GetBase().GetRef(),
		State:      forge.State(p.GetState()),
		Draft:      p.GetDraft(),
		Author:     p.GetUser().GetLogin(),
		Own:        f.own(p.GetUser(), login),
		URL:        p.GetHTMLURL(),
		Labels:     labelNames(p.Labels),
		Created:    p.GetCreatedAt().UTC(),
	}
	if p.MergedAt != nil {
		pr.State, pr.MergeCommit = forge.Merged, p.GetMergeCommitSHA()
		pr.Merged, pr.MergedBy = p.GetMergedAt().UTC(), p.GetMergedBy().GetLogin()
	}
	return pr
}

// SavePullRequest implements forge.Forge.
func (f *Forge) SavePullRequest(ctx context.Context, repo string, pr forge.PullRequest) (forge.PullRequest, error) {
	login, err := f.login(ctx)
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
		err = fmt.Errorf("%s: %w", what, err)
		if saved == nil {
			return forge.PullRequest{}, err
		}
		return f.pullRequest(saved, login), err
	}
	return f.pullRequest(saved, login), nil
}

// open opens a pull request. Its labels come after it: GitHub takes none with
// it.
func (f *Forge) open(ctx context.Context, repo string, pr forge.PullRequest) (saved *sdk.PullRequest, err error) {
	if err := f.defineLabels(ctx, repo, pr.Labels); err != nil {
		return nil, err
	}
	err = f.callRepo(ctx, repo, func(owner, name string) (r *sdk.Response, err error) {
		saved, r, err = f.client.PullRequests.Create(ctx, owner, name, &sdk.NewPullRequest{
			Title: &pr.Title, Head: &pr.Head, Base: &pr.Base, Body: &pr.Body, Draft: &pr.Draft,
		})
		return r, err
	})
	switch {
	case refusedAs(err, http.StatusUnprocessableEntity, "already exists"):
		return nil, fmt.Errorf("%w: %w", forge.ErrExists, err)
	case refusedAs(err, http.StatusUnprocessableEntity, "No commits between"):
		return nil, f.compared(ctx, repo, pr, err)
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

// compared looks again at branches between which GitHub sees no commits. Where
// it was merged meanwhile, the base has moved.
func (f *Forge) compared(ctx context.Context, repo string, pr forge.PullRequest, refused error) error {
	ahead := 0
	err := f.callRepo(ctx, repo, func(owner, name string) (*sdk.Response, error) {
		c, r, err := f.client.Repositories.CompareCommits(ctx, owner, name, pr.Base, pr.Head, &sdk.ListOptions{PerPage: 1})
		ahead = c.GetAheadBy()
		return r, err
	})
	switch {
	case err != nil:
		return errors.Join(refused, err)
	case ahead > 0: // the push has arrived by now
		return refused
	}
	return fmt.Errorf("branch %s has all of %s already: %w: %w", pr.Base, pr.Head, forge.ErrMoved, refused)
}

// edit changes a pull request to what is wanted. The order keeps an interruption
// from looking like a user's decision: labels are there before the text that
// speaks of them and go after it, a draft is one before anything relies on it,
// and ceases to be one before the text says that it may.
func (f *Forge) edit(ctx context.Context, repo string, pr forge.PullRequest) (*sdk.PullRequest, error) {
	have, err := f.pull(ctx, repo, pr.Number)
	if err != nil {
		return nil, err
	}
	missing := missingLabels(pr.Labels, have.Labels)
	if err := f.defineLabels(ctx, repo, missing); err != nil {
		return nil, err
	}
	if err := f.addLabels(ctx, repo, have, missing); err != nil {
		return nil, err
	}
	if have.GetDraft() && !pr.Draft && pr.State == forge.Open {
		if err := f.setDraft(ctx, have, false); err != nil {
			return nil, err
		}
	}
	// a state that does not change is not sent: it would undo, or be refused
	// for, what a user did since the pull request was read; and what is merged
	// stays so
	var state *string
	if have.MergedAt == nil && have.GetState() != string(pr.State) {
		state = new(string(pr.State))
	}
	var saved *sdk.PullRequest
	err = f.callRepo(ctx, repo, func(owner, name string) (r *sdk.Response, err error) {
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

// Label adds labels to a pull request and makes those that the repository does
// not have.
func (f *Forge) Label(ctx context.Context, repo string, number int, labels []string) error {
	err := f.defineLabels(ctx, repo, labels)
	if err == nil {
		err = f.addLabels(ctx, repo, &sdk.PullRequest{Number: &number}, labels)
	}
	if err != nil {
		return fmt.Errorf("%s#%d: %w", repo, number, err)
	}
	return nil
}
