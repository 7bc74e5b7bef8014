// Package gitclient reads and writes git repositories over smart http without a
// work tree, a disk or a git binary. It is what every forge speaks, so that a
// forge's own package holds only what differs: its API.
package gitclient

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	"golang.org/x/sync/singleflight"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// Timeout bounds one conversation with a git server.
const Timeout = 2 * time.Minute

// Remote is a repository on a git server.
type Remote struct {
	URL  string // clone URL, http or https
	Auth *Auth  // nil: nothing is sent
}

// Auth is sent as basic authentication, to the remote's own origin only.
type Auth struct {
	User, Password string
}

// Client talks to git servers and remembers the trees it has read.
type Client struct {
	transport transport.Transport
	snapshots *cache
	reads     singleflight.Group
	large     sync.Map // clone URLs of repositories that are read in part
}

// New returns a Client that keeps about cacheBytes of file contents.
func New(httpClient *http.Client, cacheBytes int64) *Client {
	bounded := *httpClient
	bounded.Transport = limited{cmp.Or[http.RoundTripper](httpClient.Transport, http.DefaultTransport)}
	return &Client{
		transport: githttp.NewClient(&bounded),
		snapshots: newCache(cacheBytes),
	}
}

// Head returns the commit ID of a branch, or of the default branch when
// branch is empty.
func (c *Client) Head(ctx context.Context, remote Remote, branch string) (string, error) {
	talk, err := c.openBounded(ctx, remote)
	if err != nil {
		return "", err
	}
	head, err := resolve(talk.refs, remote.URL, branch)
	if err != nil {
		return "", err
	}
	return head.String(), nil
}

// conversation is one for reading, with what the server has.
type conversation struct {
	session transport.UploadPackSession
	refs    *packp.AdvRefs
}

// open starts a conversation.
func (c *Client) open(ctx context.Context, remote Remote) (*conversation, error) {
	endpoint, err := endpoint(remote.URL)
	if err != nil {
		return nil, err
	}
	session, err := c.transport.NewUploadPackSession(endpoint, remote.auth())
	if err != nil {
		return nil, fmt.Errorf("repository %s: %w", remote.name(), err)
	}
	refs, err := session.AdvertisedReferencesContext(ctx)
	if err != nil {
		return nil, remote.failure(ctx, err)
	}
	return &conversation{session, refs}, nil
}

func (r Remote) auth() transport.AuthMethod {
	if r.Auth == nil {
		return nil
	}
	return &githttp.BasicAuth{Username: r.Auth.User, Password: r.Auth.Password}
}

// name is the clone URL without secrets, for messages.
func (r Remote) name() string {
	u, err := url.Parse(r.URL)
	if err != nil {
		return "with a malformed URL"
	}
	return u.Redacted()
}

// endpoint refuses everything but http: other transports would read the
// scheduler's own machine or use its keys, for anybody who can write a URL
// into a platform model.
func endpoint(cloneURL string) (*transport.Endpoint, error) {
	u, err := url.Parse(cloneURL)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, fmt.Errorf("repository %q: only http and https clone URLs can be read: %w", redacted(cloneURL), forge.ErrNotFound)
	}
	e, err := transport.NewEndpoint(cloneURL)
	if err != nil {
		return nil, fmt.Errorf("repository %q: %w", u.Redacted(), err)
	}
	return e, nil
}

func redacted(cloneURL string) string {
	if u, err := url.Parse(cloneURL); err == nil {
		return u.Redacted()
	}
	return cloneURL
}

// resolve finds a branch in what the server advertises.
func resolve(refs *packp.AdvRefs, repo, branch string) (plumbing.Hash, error) {
	if branch == "" {
		if refs.Head != nil {
			return *refs.Head, nil
		}
		return plumbing.ZeroHash, fmt.Errorf("default branch of repository %s: %w", redacted(repo), forge.ErrNotFound)
	}
	if hash, ok := refs.References[plumbing.NewBranchReferenceName(branch).String()]; ok {
		return hash, nil
	}
	return plumbing.ZeroHash, fmt.Errorf("branch %s of repository %s: %w", branch, redacted(repo), forge.ErrNotFound)
}
