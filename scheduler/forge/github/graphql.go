package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	sdk "github.com/google/go-github/v88/github"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
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
	query, what, instead := toReady, "making it ready for review", "; you can do it on the pull request's page"
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
		return fmt.Errorf("%s: GitHub has accepted the request, and does not say that it is done: look at githubstatus.com; it is tried again", what)
	}
	p.Draft = &draft
	return nil
}

// graphQL makes a request of the GraphQL API, which answers 200 also where it
// refuses, and where it fails. The answer goes into data.
func (f *Forge) graphQL(ctx context.Context, query string, variables map[string]any, data any) error {
	var answer struct {
		Data   json.RawMessage `json:"data"`
		Errors []graphError    `json:"errors"`
	}
	err := f.send(ctx, http.MethodPost, graphQL(f.api), map[string]any{"query": query, "variables": variables}, &answer)
	switch {
	case err != nil:
		return err
	case len(answer.Errors) > 0:
		return graphRefusal(answer.Errors)
	}
	if err := json.Unmarshal(answer.Data, data); err != nil {
		return fmt.Errorf("GitHub's answer to a GraphQL query: %w", err)
	}
	return nil
}

// send makes a request that the SDK has no method for, or one with an address
// that GitHub does not document any more.
func (f *Forge) send(ctx context.Context, method, at string, body, answer any) error {
	return f.call(ctx, func() (*sdk.Response, error) {
		q, err := f.client.NewRequest(ctx, method, at, body)
		if err != nil {
			return nil, err
		}
		return f.client.Do(q, answer)
	})
}

// graphError is one of the errors of an answer of the GraphQL API. Where a
// service behind the API fails, it has no type.
type graphError struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// limits reports whether the error is a rate limit
// (docs.github.com/graphql/overview/rate-limits-and-query-limits-for-the-graphql-api).
func (e graphError) limits() bool {
	return strings.HasPrefix(e.Type, "RATE_LIMIT") || isSecondary(e.Message)
}

// graphRefusal makes an error of those of an answer. The first that has a type
// says what it means.
func graphRefusal(errs []graphError) error {
	e := &Error{Status: http.StatusOK}
	var texts []string
	limited := false
	for _, one := range errs {
		texts = append(texts, one.Message)
		limited = limited || one.limits()
		if e.Type == "" {
			e.Type = one.Type
		}
	}
	e.Message = strings.Join(texts, "; ")
	switch {
	case limited:
		e.Type, e.Hint = "RATE_LIMITED", "wait some minutes"
	case e.Type == "FORBIDDEN":
		e.kind, e.Hint = gitclient.ErrDenied, "give the account write access to contents and pull requests of the repository"
	case e.Type == "INSUFFICIENT_SCOPES":
		e.kind, e.Hint = gitclient.ErrDenied, "give the token the scope repo"
	case e.Type == "NOT_FOUND":
		e.kind, e.Hint = forge.ErrNotFound, "it does not exist, or the account may not see it: check that the token or App has access to the repository"
	case e.Type == "":
		e.Hint = "GitHub has a problem, see githubstatus.com: it is tried again"
	default:
		e.Hint = "look at the pull request's page for what is missing: it is tried again"
	}
	return e
}
