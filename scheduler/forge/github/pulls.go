package github

import (
	"context"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/google/go-github/v88/github"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

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
	owner, name, err := split(repo)
	if err != nil {
		return nil, false, err
	}
	me, err := f.me(ctx)
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
			pr := pullRequest(p, me)
			f.pulls.note(repo, p)
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

// sameBranches tells whether a pull request goes from one branch to another of
// its own repository. A fork's branch of the same name is another branch, and
// GitHub lists everything when it does not understand the filter.
func sameBranches(p *sdk.PullRequest, head, base string) bool {
	return p.GetHead().GetRef() == head && p.GetBase().GetRef() == base &&
		(p.GetHead().GetRepo() == nil || p.GetHead().GetRepo().GetID() == p.GetBase().GetRepo().GetID())
}

func pullRequest(p *sdk.PullRequest, me string) forge.PullRequest {
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
		Own:        strings.EqualFold(p.GetUser().GetLogin(), me),
		URL:        p.GetHTMLURL(),
		Labels:     names(p.Labels),
	}
	if p.MergedAt != nil {
		pr.State, pr.MergeCommit = forge.Merged, p.GetMergeCommitSHA()
	}
	return pr
}
