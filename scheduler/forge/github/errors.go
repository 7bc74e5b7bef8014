package github

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	sdk "github.com/google/go-github/v88/github"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
)

// ErrExists is wrapped by the error about a repository that is there already.
var ErrExists = errors.New("exists already")

// Error is a request that GitHub has turned down. It wraps forge.ErrNotFound or
// gitclient.ErrDenied where that is what it means.
type Error struct {
	Status  int    // http status; 200 for a refusal of the GraphQL API
	Type    string // of a refusal of the GraphQL API, e.g. FORBIDDEN; may be empty
	Message string // GitHub's, with its details
	Hint    string // what to do
	kind    error
}

func (e *Error) Error() string {
	var b strings.Builder
	if e.kind != nil {
		b.WriteString(e.kind.Error() + ": ")
	}
	fmt.Fprintf(&b, "GitHub says %q (http status %d)", e.Message, e.Status)
	if e.Hint != "" {
		b.WriteString(": " + e.Hint)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.kind }

// failure words an error of the SDK. Nothing of a request but its path gets
// into the words.
func failure(err error) error {
	var refused *sdk.ErrorResponse
	var limit *LimitError
	var noAnswer *url.Error
	switch {
	case errors.As(err, &limit):
		return limit
	case errors.As(err, &refused):
		return refusal(refused)
	case errors.As(err, &noAnswer):
		return noAnswer.Err
	case errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, new(*json.SyntaxError)):
		return fmt.Errorf("%w: the answer is no JSON, a proxy may have written it: check the API's URL: %w", gitclient.ErrNetwork, err)
	}
	return err
}

func refusal(r *sdk.ErrorResponse) error {
	e := &Error{Status: r.Response.StatusCode, Message: message(r)}
	switch {
	case e.Status == http.StatusUnauthorized:
		e.kind, e.Hint = gitclient.ErrDenied, "the token is wrong, expired or revoked: make a new one and put it where the configuration says"
	case e.Status == http.StatusForbidden:
		e.kind, e.Hint = gitclient.ErrDenied, forbidden(r)
	case e.Status == http.StatusNotFound:
		e.kind, e.Hint = forge.ErrNotFound, "it is not there, or the account may not see it: check the name, and that the token or App has access to the repository"
	case e.Status == http.StatusConflict && says(r, "is empty"):
		e.kind, e.Hint = forge.ErrNotFound, "push a first commit to the repository"
	case e.Status == http.StatusConflict:
		e.Hint = "somebody else changes the same thing: it is tried again"
	case e.Status == http.StatusGone:
		e.Hint = "issues are switched off in the repository's settings, or this one was deleted: switch them on"
	case e.Status == http.StatusUnprocessableEntity && says(r, "No commit found"):
		e.kind = forge.ErrNotFound
	case e.Status == http.StatusUnprocessableEntity:
		e.Hint = "this request will not be taken as it is; if nothing of it looks wrong to you, report it to the scheduler's authors"
	case e.Status == http.StatusTooManyRequests:
		e.Hint = "wait some minutes"
	case e.Status == http.StatusMethodNotAllowed:
		e.Hint = "look at the pull request's page for what is missing"
	case e.Status >= http.StatusInternalServerError:
		e.Hint = "GitHub has a problem, see githubstatus.com: it is tried again"
	}
	return e
}

// forbidden says what to do about a 403 that is no rate limit.
func forbidden(r *sdk.ErrorResponse) string {
	h := r.Response.Header
	sso, _, _ := strings.Cut(h.Get("X-GitHub-SSO"), ";")
	switch {
	case sso == "required":
		return "the organisation uses single sign-on: authorise the token for it under Settings, Developer settings"
	case h.Get("X-Accepted-GitHub-Permissions") != "":
		return "the account lacks a permission; give it " + h.Get("X-Accepted-GitHub-Permissions")
	case h.Get("X-Accepted-OAuth-Scopes") != "":
		return "the token lacks a scope; one of these will do: " + h.Get("X-Accepted-OAuth-Scopes")
	case says(r, "archived"):
		return "unarchive the repository, or take it out of the platform model"
	case says(r, "protected"), says(r, "rule violations"):
		return "a branch protection or ruleset refuses it: let the scheduler's account pass it"
	}
	return "give the account write access to contents, pull requests, issues and commit statuses of the repository"
}

// says tells whether GitHub's message holds a text.
func says(r *sdk.ErrorResponse, text string) bool {
	return strings.Contains(strings.ToLower(message(r)), strings.ToLower(text))
}

// refusedAs returns whether GitHub has turned a request down with a status and
// a message that holds text.
func refusedAs(err error, status int, text string) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == status && strings.Contains(strings.ToLower(e.Message), strings.ToLower(text))
}

// message is GitHub's message with its details.
func message(r *sdk.ErrorResponse) string {
	text := r.Message
	if text == "" {
		text = http.StatusText(r.Response.StatusCode)
	}
	for i, e := range r.Errors {
		separator := "; "
		if i == 0 {
			separator = ": "
		}
		if e.Message != "" {
			text += separator + e.Message
			continue
		}
		text += separator + strings.TrimSpace(e.Resource+" "+e.Field+" "+strings.ReplaceAll(e.Code, "_", " "))
	}
	return text
}
