package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	sdk "github.com/google/go-github/v88/github"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

const (
	autoMerge = `mutation($id:ID!,$method:PullRequestMergeMethod!,$head:GitObjectID!){done:enablePullRequestAutoMerge(input:{pullRequestId:$id,mergeMethod:$method,expectedHeadOid:$head}){pullRequest{id}}}`
	enqueue   = `mutation($id:ID!,$head:GitObjectID!){done:enqueuePullRequest(input:{pullRequestId:$id,expectedHeadOid:$head}){mergeQueueEntry{id}}}`
)

// Merge merges a pull request whose branch is still at the commit head, by a
// merge commit where the repository allows that, and returns the commit. An
// earlier try may have had its effect although its answer was lost: then its
// commit is returned. The error wraps
// forge.ErrNotYet while GitHub works out whether it can be merged, or checks are
// missing; and forge.ErrQueued where GitHub merges it later.
func (f *Forge) Merge(ctx context.Context, repo string, number int, head string) (commit string, err error) {
	commit, err = f.mergeBy(ctx, repo, number, head, "merge")
	if err == nil {
		return commit, nil
	}
	p, again := f.pull(ctx, repo, number)
	if again == nil && p.MergedAt != nil {
		return p.GetMergeCommitSHA(), nil
	}
	if refusedAs(err, http.StatusMethodNotAllowed, "") && again == nil {
		commit, err = f.mergeAsAllowed(ctx, repo, p, head, err)
	}
	if err != nil {
		err = fmt.Errorf("merging %s#%d: %w", repo, number, err)
	}
	return commit, err
}

func (f *Forge) mergeBy(ctx context.Context, repo string, number int, head, method string) (commit string, err error) {
	err = f.callRepo(ctx, repo, func(owner, name string) (*sdk.Response, error) {
		m, r, err := f.client.PullRequests.Merge(ctx, owner, name, number, "", &sdk.PullRequestOptions{SHA: head, MergeMethod: method})
		commit = m.GetSHA()
		return r, err
	})
	return commit, err
}

// mergeAsAllowed merges a pull request of which GitHub has refused a merge commit:
// by another method, its merge queue or its auto-merge.
func (f *Forge) mergeAsAllowed(ctx context.Context, repo string, p *sdk.PullRequest, head string, refused error) (commit string, err error) {
	var settings *sdk.Repository
	err = f.callRepo(ctx, repo, func(owner, name string) (r *sdk.Response, err error) {
		settings, r, err = f.client.Repositories.Get(ctx, owner, name)
		return r, err
	})
	if err != nil {
		return "", fmt.Errorf("%w: %w", forge.ErrNotYet, refused)
	}
	method := "merge"
	isFalse := func(setting *bool) bool { return setting != nil && !*setting }
	if isFalse(settings.AllowMergeCommit) || refusedAs(refused, http.StatusMethodNotAllowed, "merge commits") {
		for _, other := range []struct {
			name    string
			allowed *bool
		}{{"squash", settings.AllowSquashMerge}, {"rebase", settings.AllowRebaseMerge}} {
			if isFalse(other.allowed) {
				continue
			}
			method = other.name
			if commit, refused = f.mergeBy(ctx, repo, p.GetNumber(), head, method); refused == nil {
				return commit, nil
			}
			if !refusedAs(refused, http.StatusMethodNotAllowed, "merges are not allowed") {
				break
			}
		}
	}
	missing := missingFor(refused)
	if missing == "" {
		return "", fmt.Errorf("%w: %w", forge.ErrNotYet, refused)
	}
	if p.AutoMerge != nil {
		return "", fmt.Errorf("%w: %w", forge.ErrQueued, refused)
	}
	var none struct{}
	later := errors.New("auto-merge is switched off: Allow auto-merge in the repository's settings switches it on")
	if missing == byQueue {
		later = f.graphQL(ctx, enqueue, map[string]any{"id": p.GetNodeID(), "head": head}, &none)
	}
	if later != nil && !isFalse(settings.AllowAutoMerge) {
		later = f.graphQL(ctx, autoMerge, map[string]any{"id": p.GetNodeID(), "method": strings.ToUpper(method), "head": head}, &none)
	}
	switch {
	case later == nil:
		return "", fmt.Errorf("%w: %w", forge.ErrQueued, refused)
	case missing == aCheck:
		return "", fmt.Errorf("%w: %w; %w", forge.ErrNotYet, refused, later)
	}
	return "", fmt.Errorf("%s, and this account cannot give that: %w; %w", missing, refused, later)
}

// What a pull request may lack.
const (
	byQueue  = "it has to go through the branch's merge queue"
	aReview  = "it needs a review by another user"
	aFailure = "a required check has failed"
	aCheck   = "a required check has not ended"
)

// missingFor returns what a pull request lacks that GitHub does not merge, "" where
// GitHub does not say. Its settings can be read by administrators only, but its
// messages name the rule.
func missingFor(refused error) string {
	for _, of := range []struct{ text, missing string }{
		{"merge queue", byQueue},
		{"approving review", aReview}, {"review is required", aReview}, {"review required", aReview}, {"code owner", aReview}, {"requested changes", aReview},
		{"is failing", aFailure}, {"status check", aCheck}, {"required workflow", aCheck},
	} {
		if refusedAs(refused, http.StatusMethodNotAllowed, of.text) {
			return of.missing
		}
	}
	return ""
}
