package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	sdk "github.com/google/go-github/v88/github"
)

// draftMark begins the title of a draft where the repository's plan has no
// drafts: private repositories of free organisations.
const draftMark = "[Draft] "

// Only GraphQL can turn a pull request into a draft and back
// (docs.github.com/graphql/reference/mutations).
const (
	toDraft = `mutation($id:ID!){convertPullRequestToDraft(input:{pullRequestId:$id}){pullRequest{isDraft}}}`
	toReady = `mutation($id:ID!){markPullRequestReadyForReview(input:{pullRequestId:$id}){pullRequest{isDraft}}}`
)

// errNoDrafts means that the repository has no drafts.
var errNoDrafts = errors.New("the repository has no drafts")

// setDraft makes a pull request a draft, or ready.
func (f *Forge) setDraft(ctx context.Context, p *sdk.PullRequest, draft bool) error {
	query := toReady
	if draft {
		query = toDraft
	}
	err := f.graphQL(ctx, query, map[string]any{"id": p.GetNodeID()}, nil)
	var refused *Error
	switch {
	case draft && errors.As(err, &refused) && refused.Status == http.StatusOK:
		return fmt.Errorf("%w: %w", errNoDrafts, err)
	case err != nil && draft:
		return fmt.Errorf("making it a draft: %w", err)
	case err != nil:
		return fmt.Errorf("making it ready for review: %w", err)
	}
	p.Draft = new(draft)
	return nil
}

// noDrafts tells whether an error means that the repository has no drafts.
func noDrafts(err error) bool {
	return errors.Is(err, errNoDrafts) || refusedAs(err, http.StatusUnprocessableEntity, "draft pull requests are not supported")
}
