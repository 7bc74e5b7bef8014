package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	sdk "github.com/google/go-github/v88/github"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// Reviews returns the verdicts about a pull request.
func (f *Forge) Reviews(ctx context.Context, repo string, number int) ([]forge.Review, error) {
	owner, name, err := forge.SplitRepo(repo)
	if err != nil {
		return nil, err
	}
	var reviews []forge.Review
	err = f.pages(ctx, func(page sdk.ListOptions) (*sdk.Response, bool, error) {
		list, r, err := f.client.PullRequests.ListReviews(ctx, owner, name, number, &page)
		for _, one := range list {
			review := forge.Review{By: one.GetUser().GetLogin(), Commit: one.GetCommitID(), At: one.GetSubmittedAt().Time}
			switch one.GetState() {
			case "APPROVED":
				review.Verdict = forge.Approves
			case "CHANGES_REQUESTED":
				review.Verdict = forge.RequestsChanges
			case "DISMISSED":
				review.Verdict = forge.Dismissed
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

// Checks returns what has checked a commit, by name: commit statuses, and the newest check run
// of each name, as those of GitHub Actions. An account that may not read check runs has the
// statuses alone.
func (f *Forge) Checks(ctx context.Context, repo, commit string) ([]forge.Status, error) {
	all, err := f.Statuses(ctx, repo, commit)
	if err != nil {
		return nil, err
	}
	owner, name, err := forge.SplitRepo(repo)
	if err != nil {
		return nil, err
	}
	err = f.pages(ctx, func(page sdk.ListOptions) (*sdk.Response, bool, error) {
		list, r, err := f.client.Checks.ListCheckRunsForRef(ctx, owner, name, commit, &sdk.ListCheckRunsOptions{ListOptions: page})
		if err != nil {
			return r, true, err
		}
		for _, run := range list.CheckRuns {
			all = append(all, forge.Status{Context: run.GetName(), State: runState(run), Description: run.GetOutput().GetTitle(), URL: run.GetHTMLURL()})
		}
		return r, false, nil
	})
	var refused *Error
	if errors.As(err, &refused) && refused.Status == http.StatusForbidden {
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("check runs of commit %s of %s: %w", commit, repo, err)
	}
	slices.SortStableFunc(all, func(a, b forge.Status) int { return strings.Compare(a.Context, b.Context) })
	return all, nil
}

// runState maps a check run to the scheduler's three states
// (docs.github.com/pull-requests/collaborating-with-pull-requests/collaborating-on-repositories-with-code-quality-features/about-status-checks).
func runState(run *sdk.CheckRun) forge.StatusState {
	switch {
	case run.GetStatus() != "completed":
		return forge.Pending
	case slices.Contains([]string{"success", "neutral", "skipped"}, run.GetConclusion()):
		return forge.Success
	}
	return forge.Failure
}

// PullRequestCommits returns the commits of a pull request as they were on its own branch, the
// newest first.
func (f *Forge) PullRequestCommits(ctx context.Context, repo string, number int) ([]forge.CommitHead, error) {
	owner, name, err := forge.SplitRepo(repo)
	if err != nil {
		return nil, err
	}
	var all []forge.CommitHead
	err = f.pages(ctx, func(page sdk.ListOptions) (*sdk.Response, bool, error) {
		list, r, err := f.client.PullRequests.ListCommits(ctx, owner, name, number, &page)
		for _, one := range list {
			all = append(all, forge.CommitHead{ID: one.GetSHA(), Author: one.GetCommit().GetAuthor().GetName(), Subject: forge.Subject(one.GetCommit().GetMessage())})
		}
		return r, false, err
	})
	if err != nil {
		return nil, fmt.Errorf("commits of pull request %s#%d: %w", repo, number, err)
	}
	slices.Reverse(all)
	return all, nil
}
