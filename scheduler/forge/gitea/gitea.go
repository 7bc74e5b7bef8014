// Package gitea is a forge.Forge on a Gitea server: its API for pull requests,
// issues, labels and statuses, git over http for trees and commits.
package gitea

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
)

const (
	callTimeout = 30 * time.Second // one API request
	pageSize    = 50
	cacheBytes  = 128 << 20
)

// Options say which server to talk to and as whom.
type Options struct {
	URL   string // the server's root URL
	Token string
	User  string       // the token's account; asked for when empty
	HTTP  *http.Client // http.DefaultTransport's when nil
}

// Forge is one account's view of a Gitea server. It is safe for concurrent
// use.
type Forge struct {
	base  *url.URL
	token string
	http  *http.Client
	git   *gitclient.Client

	mu   sync.Mutex
	user string
}

var _ forge.Forge = (*Forge)(nil)

// New returns a Forge. It makes no request, so that a scheduler can start
// before its forge.
func New(options Options) (*Forge, error) {
	base, err := url.Parse(options.URL)
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		return nil, fmt.Errorf("gitea: %q is not an http or https URL", options.URL)
	}
	if options.Token == "" {
		return nil, errors.New("gitea: no token")
	}
	client := options.HTTP
	if client == nil {
		client = &http.Client{}
	}
	return &Forge{
		base:  base,
		token: options.Token,
		user:  options.User,
		http:  client,
		git:   gitclient.New(client, cacheBytes),
	}, nil
}

// call runs f with an API client whose requests end with ctx, or after
// callTimeout. The SDK keeps its context in the client: hence one per call.
func (f *Forge) call(ctx context.Context, do func(*sdk.Client) (*sdk.Response, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout,
		fmt.Errorf("%w: no answer from %s within %s", gitclient.ErrNetwork, f.base.Redacted(), callTimeout))
	defer cancel()
	client, err := sdk.NewClient(f.base.String(),
		sdk.SetContext(ctx), sdk.SetToken(f.token), sdk.SetHTTPClient(f.http), sdk.SetGiteaVersion(""))
	if err != nil {
		return err
	}
	response, err := do(client)
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	var noAnswer *url.Error
	switch {
	case response != nil && response.Response != nil:
		return statusFailure(response.StatusCode, err)
	case errors.As(err, &noAnswer):
		return fmt.Errorf("%w: %w", gitclient.ErrNetwork, noAnswer.Err)
	}
	return err
}

// statusFailure is an API error by its http status, in the words that git's
// own errors have, see gitclient.
func statusFailure(code int, err error) error {
	switch code {
	case http.StatusNotFound:
		return fmt.Errorf("%w (%w)", forge.ErrNotFound, err)
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Errorf("%w (%w, http status %d)", gitclient.ErrDenied, err, code)
	}
	return fmt.Errorf("%w (http status %d)", err, code)
}

// me returns the name of the account that the token belongs to.
func (f *Forge) me(ctx context.Context) (string, error) {
	f.mu.Lock()
	user := f.user
	f.mu.Unlock()
	if user != "" {
		return user, nil
	}
	err := f.call(ctx, func(c *sdk.Client) (*sdk.Response, error) {
		u, r, err := c.GetMyUserInfo()
		if err == nil {
			user = u.UserName
		}
		return r, err
	})
	if err != nil {
		return "", fmt.Errorf("account of the token: %w", err)
	}
	f.mu.Lock()
	f.user = user
	f.mu.Unlock()
	return user, nil
}

// split takes an "owner/name" apart.
func split(repo string) (owner, name string, err error) {
	owner, name, ok := strings.Cut(repo, "/")
	if !ok || owner == "" || name == "" || strings.Contains(name, "/") {
		return "", "", fmt.Errorf("repository %q is not of the form owner/name", repo)
	}
	return owner, name, nil
}

// pages calls get for page 1, 2, ... until one is the last or get says stop.
func pages(get func(options sdk.ListOptions) (response *sdk.Response, stop bool, err error)) (*sdk.Response, error) {
	for page := 1; ; {
		response, stop, err := get(sdk.ListOptions{Page: page, PageSize: pageSize})
		if err != nil || stop || response.NextPage <= page {
			return response, err
		}
		page = response.NextPage
	}
}
