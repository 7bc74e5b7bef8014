package gitea

import (
	"context"
	"fmt"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// Reviews returns the verdicts about a pull request.
func (f *Forge) Reviews(ctx context.Context, repo string, number int) ([]forge.Review, error) {
	var reviews []forge.Review
	err := f.pages(ctx, repo, func(c *sdk.Client, owner, name string, page sdk.ListOptions) (*sdk.Response, bool, error) {
		list, r, err := c.ListPullReviews(owner, name, int64(number), sdk.ListPullReviewsOptions{ListOptions: page})
		for _, one := range list {
			if one.Reviewer == nil {
				continue // a team that is asked for one
			}
			review := forge.Review{By: one.Reviewer.UserName, Commit: one.CommitID, At: one.Submitted}
			switch {
			case one.Dismissed:
				review.Verdict = forge.Dismissed
			case one.State == sdk.ReviewStateApproved:
				review.Verdict = forge.Approves
			case one.State == sdk.ReviewStateRequestChanges:
				review.Verdict = forge.RequestsChanges
			default:
				continue
			}
			reviews = append(reviews, review)
		}
		return r, false, err
	})
	if err != nil {
		return nil, fmt.Errorf("reviews of pull request %s#%d: %w", repo, number, err)
	}
	return reviews, nil
}

// Checks returns what has checked a commit, by name. Gitea has commit statuses alone.
func (f *Forge) Checks(ctx context.Context, repo, commit string) ([]forge.Status, error) {
	return f.Statuses(ctx, repo, commit)
}

// PullRequestCommits returns the commits of a pull request as they were on its own branch, the
// newest first.
func (f *Forge) PullRequestCommits(ctx context.Context, repo string, number int) ([]forge.CommitHead, error) {
	var all []forge.CommitHead
	err := f.pages(ctx, repo, func(c *sdk.Client, owner, name string, page sdk.ListOptions) (*sdk.Response, bool, error) {
		list, r, err := c.ListPullRequestCommits(owner, name, int64(number), sdk.ListPullRequestCommitsOptions{ListOptions: page})
		for _, one := range list {
			head := forge.CommitHead{}
			if one.CommitMeta != nil {
				head.ID = one.SHA
			}
			if g := one.RepoCommit; g != nil {
				head.Subject = forge.Subject(g.Message)
				if g.Author != nil {
					head.Author = g.Author.Name
				}
			}
			all = append(all, head)
		}
		return r, false, err
	})
	if err != nil {
		return nil, fmt.Errorf("commits of pull request %s#%d: %w", repo, number, err)
	}
	return all, nil
}
