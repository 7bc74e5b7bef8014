package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	sdk "github.com/google/go-github/v88/github"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// Only GraphQL can turn a pull request into a draft and back
// (docs.github.com/graphql/reference/mutations).
const (
	toDraft = `mutation($id:ID!){done:convertPullRequestToDraft(input:{pullRequestId:$id}){pullRequest{isDraft}}}`
	toReady = `mutation($id:ID!){done:markPullRequestReadyForReview(input:{pullRequestId:$id}){pullRequest{isDraft}}}`
)

// setDraft makes a pull request a draft, or ready, and believes what GitHub says
// it is then.
func (f *Forge) setDraft(ctx context.Context, p *sdk.PullRequest, draft bool) error {
	query, what, instead := toReady, "making it ready for review", "; a person can do it on the pull request's page"
	if draft {
		query, what, instead = toDraft, "making it a draft", ""
	}
	var answer struct {
		Done struct {
			PullRequest struct {
				IsDraft *bool `json:"isDraft"`
			} `json:"pullRequest"`
		} `json:"done"`
	}
	err := f.graphQL(ctx, query, map[string]any{"id": p.GetNodeID()}, &answer)
	var refused *Error
	switch is := answer.Done.PullRequest.IsDraft; {
	case draft && errors.As(err, &refused) && (refused.Status != http.StatusOK || refused.Type != "" && refused.Type != "RATE_LIMITED"):
		return fmt.Errorf("%s: %w: %w", what, forge.ErrNotDraft, err)
	case err != nil:
		return fmt.Errorf("%s: %w%s", what, err, instead)
	case is == nil || *is != draft:
		return fmt.Errorf("%s: GitHub has taken the request, and does not say that it is done: look at githubstatus.com; it is tried again", what)
	}
	p.Draft = &draft
	return nil
}
