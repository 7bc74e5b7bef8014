package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	sdk "github.com/google/go-github/v88/github"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
)

// ErrExists is wrapped by the error about a repository that exists already.
var ErrExists = errors.New("exists already")

// Error is a request that GitHub has refused. It wraps forge.ErrNotFound or
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

// failure translates an error of the SDK. Nothing of a request but its path gets
// into the text.
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
		return fmt.Errorf("%w: the answer is no JSON and may be that of a proxy: check the API's URL: %w", gitclient.ErrNetwork, err)
	}
	return err
}

func refusal(r *sdk.ErrorResponse) error {
	e := &Error{Status: r.Response.StatusCode, Message: message(r)}
	switch {
	case e.Status == http.StatusUnauthorized:
		e.kind, e.Hint = gitclient.ErrDenied, "the token is wrong, expired or revoked: make a new one and put it where the configuration says"
	case byRule(r) && e.Status != http.StatusMethodNotAllowed:
		e.kind, e.Hint = gitclient.ErrDenied, passRules("the scheduler's account")
	case e.Status == http.StatusForbidden:
		e.kind, e.Hint = gitclient.ErrDenied, forbidden(r)
	case e.Status == http.StatusNotFound:
		e.kind, e.Hint = forge.ErrNotFound, "it does not exist, or the account may not see it: check the name, and that the token or App has access to the repository"
	case e.Status == http.StatusConflict && messageHas(r, "is empty"):
		e.kind, e.Hint = forge.ErrNotFound, "push a first commit to the repository"
	case e.Status == http.StatusConflict:
		e.Hint = "another client changes the same thing: it is tried again"
	case e.Status == http.StatusGone:
		e.Hint = "issues are switched off in the repository's settings, or this one was deleted: switch them on"
	case e.Status == http.StatusUnprocessableEntity && messageHas(r, "No commit found"):
		e.kind = forge.ErrNotFound
	case e.Status == http.StatusUnprocessableEntity && (messageHas(r, "already exists") || messageHas(r, "No commits between")):
		e.Hint = "another client was faster, or GitHub's lists are behind: it is tried again"
	case e.Status == http.StatusUnprocessableEntity:
		e.Hint = "GitHub does not accept this request; if nothing of it looks wrong to you, report it to the scheduler's authors"
	case e.Status == http.StatusTooManyRequests:
		e.Hint = "wait some minutes"
	case e.Status == http.StatusMethodNotAllowed:
		e.Hint = "look at the pull request's page for what is missing"
	case e.Status >= http.StatusInternalServerError:
		e.Hint = "GitHub has a problem, see githubstatus.com: it is tried again"
	}
	return e
}

// forbidden is the hint about a 403 that is no rate limit.
func forbidden(r *sdk.ErrorResponse) string {
	h := r.Response.Header
	sso, _, _ := strings.Cut(h.Get("X-GitHub-SSO"), ";")
	switch {
	case sso == "required":
		return "the organisation uses single sign-on: authorise the token for it under Settings, Developer settings"
	case messageHas(r, "not permitted to create or approve pull requests"):
		return "switch on Settings, Actions, General, \"Allow GitHub Actions to create and approve pull requests\" in the repository, and in its organisation where that has it off; or use the token of a user or an App"
	case h.Get("X-Accepted-GitHub-Permissions") != "":
		return "the account lacks a permission; give it " + h.Get("X-Accepted-GitHub-Permissions")
	case h.Get("X-Accepted-OAuth-Scopes") != "":
		return "the token lacks a scope; one of these will do: " + h.Get("X-Accepted-OAuth-Scopes")
	case messageHas(r, "archived"):
		return "unarchive the repository, or take it out of the platform model"
	}
	return "give the account write access to contents, pull requests, issues and commit statuses of the repository"
}

// byRule reports whether a ruleset or a branch protection has refused a request.
func byRule(r *sdk.ErrorResponse) bool {
	return messageHas(r, "protected branch") || messageHas(r, "branch is protected") || messageHas(r, "rule violations")
}

// passRules is the hint about a ruleset or a branch protection.
func passRules(account string) string {
	return "a ruleset or branch protection refuses it: check Settings, Rules (and Branches) of the repository and of its organisation, and add " +
		account + " to the bypass list of that rule, or leave branches " + forge.BranchPrefix + "** out of it"
}

// messageHas reports whether GitHub's message contains a text.
func messageHas(r *sdk.ErrorResponse, text string) bool {
	return strings.Contains(strings.ToLower(message(r)), strings.ToLower(text))
}

// refusedAs reports whether GitHub has refused a request with a status and a
// message that contains text.
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

// checkNetwork is the hint where an answer is missing.
const checkNetwork = "check the network and the proxies on the way; how GitHub is doing is at githubstatus.com"

// advised adds a hint to an error of git.
func (f *Forge) advised(err error) error {
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, forge.ErrNotFound):
		return fmt.Errorf("%w, or the account may not see it", err)
	case errors.Is(err, gitclient.ErrRefused):
		return fmt.Errorf("%w: %s", err, passRules(f.who()))
	case errors.Is(err, gitclient.ErrDenied):
		return fmt.Errorf("%w: check that the token or App is valid and may write the repository's contents, and its workflows where those change", err)
	case errors.Is(err, gitclient.ErrNetwork), errors.As(err, new(net.Error)), strings.Contains(err.Error(), "status code: 5"):
		return fmt.Errorf("%w (%s)", err, checkNetwork)
	}
	return err
}
