// Package gitea is a forge.Forge on a Gitea server: its API for pull requests,
// issues, labels and statuses, git over http for trees and commits.
package gitea

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/kalypso-dev/kalypso/internal/addresses"
	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
	"github.com/kalypso-dev/kalypso/scheduler/forge/signing"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

const (
	callTimeout = 30 * time.Second // one API request
	pageSize    = 50
	cacheBytes  = 128 << 20
)

// Options are the server to use and its account.
type Options struct {
	URL   string // the server's root URL
	Token string
	User  string       // the token's account; asked for when empty
	HTTP  *http.Client // http.DefaultTransport's when nil
	// Hosts are the servers that are read by git besides, see gitclient.Hosts.
	Hosts []string
	// Addresses are replaced in files, see gitclient.Addresses.
	Addresses *addresses.Replacer
	// Signing signs commits; nil for none.
	Signing *signing.Key
}

// Forge is one account's view of a Gitea server. It is safe for concurrent
// use.
type Forge struct {
	site
	token string
	http  *http.Client
	git   *gitclient.Client

	mu   sync.Mutex
	user string
}

var _ forge.Forge = (*Forge)(nil)

type site = forge.Site

// Files is the forge.Site's.
const Files = "src/branch"

// New returns a Forge. It makes no request, so that a scheduler can start
// before its forge.
func New(options Options) (*Forge, error) {
	base, err := url.Parse(options.URL)
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		return nil, fmt.Errorf("gitea: %q is not an http or https URL", redact.URL(options.URL))
	}
	if options.Token == "" {
		return nil, errors.New("gitea: no token")
	}
	client := options.HTTP
	if client == nil {
		client = &http.Client{}
	}
	git := gitclient.New(client, cacheBytes)
	git.Signing, git.Addresses = options.Signing, options.Addresses
	if git.Hosts, err = gitclient.NewHosts(append([]string{options.URL}, options.Hosts...)...); err != nil {
		return nil, fmt.Errorf("gitea: %w", err)
	}
	return &Forge{
		site:  forge.Site{Root: base, Files: Files},
		token: options.Token,
		user:  options.User,
		http:  client,
		git:   git,
	}, nil
}

// call runs do with an API client whose requests end with ctx, or after
// callTimeout. The SDK keeps its context in the client: hence one per call.
func (f *Forge) call(ctx context.Context, do func(*sdk.Client) (*sdk.Response, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout,
		fmt.Errorf("%w: no answer from %s within %s", gitclient.ErrNetwork, redact.URL(f.site.Root.String()), callTimeout))
	defer cancel()
	client, err := sdk.NewClient(f.site.Root.String(),
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

// callRepo runs do for a repository.
func (f *Forge) callRepo(ctx context.Context, repo string, do func(c *sdk.Client, owner, name string) (*sdk.Response, error)) error {
	owner, name, err := forge.SplitRepo(repo)
	if err != nil {
		return err
	}
	return f.call(ctx, func(c *sdk.Client) (*sdk.Response, error) { return do(c, owner, name) })
}

// pages calls get for page 1, 2, ... until one is the last or get says stop.
func (f *Forge) pages(ctx context.Context, repo string, get func(c *sdk.Client, owner, name string, page sdk.ListOptions) (response *sdk.Response, stop bool, err error)) error {
	return f.callRepo(ctx, repo, func(c *sdk.Client, owner, name string) (*sdk.Response, error) {
		for page := 1; ; {
			response, stop, err := get(c, owner, name, sdk.ListOptions{Page: page, PageSize: pageSize})
			if err != nil || stop || response.NextPage <= page {
				return response, err
			}
			page = response.NextPage
		}
	})
}

// statusFailure is an API error by its http status, as gitclient has it.
func statusFailure(code int, err error) error {
	switch code {
	case http.StatusNotFound:
		return fmt.Errorf("%w (%w)", forge.ErrNotFound, err)
	case http.StatusUnauthorized:
		return fmt.Errorf("%w (%w, http status %d): %s", gitclient.ErrDenied, err, code, newToken)
	case http.StatusForbidden:
		return fmt.Errorf("%w (%w, http status %d): give the token's account write access to the repository, and the token the scopes write:repository, write:issue and read:user", gitclient.ErrDenied, err, code)
	}
	return fmt.Errorf("%w (http status %d)", err, code)
}

// newToken is what to do about a token that is refused.
const newToken = "the token is wrong, expired or revoked: make a new one and put it where the configuration says"

// advised adds to an error of git what to do about it.
func (f *Forge) advised(remote gitclient.Remote, err error) error {
	switch {
	case err == nil, !errors.Is(err, gitclient.ErrDenied), errors.Is(err, gitclient.ErrRefused):
		return err
	case remote.Auth == nil:
		return fmt.Errorf("%w: it is not on the forge that the token is for, and so has to be public", err)
	case errors.Is(err, transport.ErrAuthenticationRequired):
		return fmt.Errorf("%w: %s", err, newToken)
	}
	return fmt.Errorf("%w: give the token's account write access to the repository", err)
}

// login returns the name of the account that the token belongs to.
func (f *Forge) login(ctx context.Context) (string, error) {
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

// remote is the repository of a clone URL for git. The token goes to this server
// only.
func (f *Forge) remote(cloneURL string) gitclient.Remote {
	if repo, ok := f.Repo(cloneURL); ok {
		return f.own(repo)
	}
	return gitclient.Remote{URL: cloneURL}
}

// own is the remote of a repository of this server. It is spelled the same
// whatever the clone URL was, so that a repository is cached once.
func (f *Forge) own(repo string) gitclient.Remote {
	return gitclient.Remote{
		URL:  f.site.Root.JoinPath(repo + ".git").String(),
		Auth: &gitclient.Auth{User: "kalypso", Password: f.token},
	}
}

// Read implements model.Reader.
func (f *Forge) Read(ctx context.Context, ref model.Reference) (*model.Tree, error) {
	remote := f.remote(ref.Repo)
	tree, err := f.git.Tree(ctx, remote, ref.Branch, ref.Commit)
	if err != nil {
		return nil, f.advised(remote, err)
	}
	tree.Repo = ref.Repo
	return tree, nil
}

// Head implements forge.Forge. It asks git: the API's answer about a branch
// has much that must be worked out, and takes Gitea three times as long.
func (f *Forge) Head(ctx context.Context, ref model.Reference) (string, error) {
	if ref.Commit != "" {
		return ref.Commit, nil
	}
	remote := f.remote(ref.Repo)
	head, err := f.git.Head(ctx, remote, ref.Branch)
	return head, f.advised(remote, err)
}

// History reads the newest commits of a branch, see [gitclient.Client.History].
func (f *Forge) History(ctx context.Context, cloneURL, branch string, folders []string) (*gitclient.History, error) {
	remote := f.remote(cloneURL)
	h, err := f.git.History(ctx, remote, branch, folders)
	return h, f.advised(remote, err)
}

// BranchesBelow returns where the branches are whose names begin with a prefix.
func (f *Forge) BranchesBelow(ctx context.Context, cloneURL, prefix string) (map[string]string, error) {
	remote := f.remote(cloneURL)
	all, err := f.git.BranchesBelow(ctx, remote, prefix)
	return all, f.advised(remote, err)
}

// CommitInfo reads a commit without its files, see [gitclient.Client.CommitInfo].
func (f *Forge) CommitInfo(ctx context.Context, cloneURL, commit string) (gitclient.CommitInfo, error) {
	remote := f.remote(cloneURL)
	info, err := f.git.CommitInfo(ctx, remote, commit)
	return info, f.advised(remote, err)
}

// Fetch brings the commits of a branch into a storage, see [gitclient.Client.Fetch].
func (f *Forge) Fetch(ctx context.Context, cloneURL, branch string, have []string, into gitclient.Storage) (string, error) {
	remote := f.remote(cloneURL)
	head, err := f.git.Fetch(ctx, remote, branch, have, into)
	return head, f.advised(remote, err)
}

// Commit implements forge.Forge.
func (f *Forge) Commit(ctx context.Context, repo string, request forge.CommitRequest) (string, error) {
	if _, _, err := forge.SplitRepo(repo); err != nil {
		return "", err
	}
	commit, err := f.git.Commit(ctx, f.own(repo), request)
	return commit, f.advised(f.own(repo), err)
}

// DeleteBranch implements forge.Forge.
func (f *Forge) DeleteBranch(ctx context.Context, repo, branch string) error {
	if _, _, err := forge.SplitRepo(repo); err != nil {
		return err
	}
	if !forge.OwnBranch(branch) {
		return fmt.Errorf("branch %s is not below %s: the scheduler deletes only its own branches", branch, forge.BranchPrefix)
	}
	return f.advised(f.own(repo), f.git.Delete(ctx, f.own(repo), branch))
}
