// Package gitclient reads and writes git repositories over smart http without a
// work tree, a disk or a git binary. Every forge has it, so that a forge's own
// package holds only what differs: its API.
//
// It uses the lower layers of go-git, because what is read is bounded: go-git's
// own clone keeps every object of a pack inflated, and makes room for the sizes
// that a server declares.
package gitclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	"golang.org/x/sync/singleflight"

	"github.com/kalypso-dev/kalypso/internal/addresses"
	"github.com/kalypso-dev/kalypso/internal/lru"
	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/signing"
	"github.com/kalypso-dev/kalypso/scheduler/model"
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

// Client reads and writes repositories and caches the commits it has read.
type Client struct {
	// Signing signs commits; nil for none. It is not to be changed once the Client is used.
	Signing *signing.Key
	// Hosts are the servers that may be asked; nil for all. It is not to be changed
	// once the Client is used.
	Hosts *Hosts
	// Addresses are replaced in the files that are read, by those of where the
	// repositories are here; nil for none. It is not to be changed once the Client is
	// used.
	Addresses *addresses.Replacer

	transport transport.Transport
	snapshots *lru.Cache[*snapshot] // they never change
	reads     singleflight.Group
	large     sync.Map // clone URLs of repositories that are read in part
}

// New returns a Client that keeps about cacheBytes of file contents.
func New(httpClient *http.Client, cacheBytes int64) *Client {
	c := &Client{snapshots: lru.New(cacheBytes, func(s *snapshot) int64 { return s.size })}
	bounded := *httpClient
	bounded.Transport = onHosts{c, limited{cmp.Or[http.RoundTripper](httpClient.Transport, http.DefaultTransport)}}
	c.transport = githttp.NewClient(&bounded)
	return c
}

// Head returns the commit ID of a branch, or of the default branch when
// branch is empty.
func (c *Client) Head(ctx context.Context, remote Remote, branch string) (string, error) {
	conv, err := c.openBounded(ctx, remote)
	if err != nil {
		return "", err
	}
	head, err := resolve(conv.refs, remote.URL, branch)
	if err != nil {
		return "", err
	}
	return head.String(), nil
}

// BranchesBelow returns where the branches are whose names begin with a prefix.
func (c *Client) BranchesBelow(ctx context.Context, remote Remote, prefix string) (map[string]string, error) {
	conv, err := c.openBounded(ctx, remote)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for name, at := range conv.refs.References {
		if short, ok := strings.CutPrefix(name, "refs/heads/"); ok && strings.HasPrefix(short, prefix) {
			all[short] = at.String()
		}
	}
	return all, nil
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
	if _, err := url.Parse(r.URL); err != nil {
		return "with a malformed URL"
	}
	return redact.URL(r.URL)
}

// key names a snapshot. It has the account, because what one account may read
// another may not.
func key(remote Remote, commit string) string {
	user := ""
	if remote.Auth != nil {
		user = remote.Auth.User
	}
	return user + "\x00" + remote.URL + "\x00" + commit
}

// endpoint refuses everything but http: other transports would read the
// scheduler's own machine or use its keys, for anybody who can write a URL
// into a platform model.
func endpoint(cloneURL string) (*transport.Endpoint, error) {
	u, err := url.Parse(cloneURL)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, fmt.Errorf("repository %q: only http and https clone URLs can be read: %w", redact.URL(cloneURL), forge.ErrNotFound)
	}
	e, err := transport.NewEndpoint(cloneURL)
	if err != nil {
		return nil, fmt.Errorf("repository %q: %w", redact.URL(cloneURL), redact.Error(err))
	}
	return e, nil
}

// resolve finds a branch in what the server advertises.
func resolve(refs *packp.AdvRefs, repo, branch string) (plumbing.Hash, error) {
	if branch == "" {
		if refs.Head != nil {
			return *refs.Head, nil
		}
		return plumbing.ZeroHash, fmt.Errorf("default branch of repository %s: %w", redact.URL(repo), forge.ErrNotFound)
	}
	if hash, ok := refs.References[plumbing.NewBranchReferenceName(branch).String()]; ok {
		return hash, nil
	}
	return plumbing.ZeroHash, fmt.Errorf("branch %s of repository %s: %w", branch, redact.URL(repo), forge.ErrNotFound)
}

// What errors wrap, besides forge.ErrNotFound and forge.ErrMoved, where a
// caller can do something about it. Every other error is the server's.
var (
	// ErrDenied means that the server refuses the account, or that the
	// account may not do what was asked. It says nothing about whether the
	// thing exists.
	ErrDenied = errors.New("access denied")
	// ErrRefused means that a rule of the server refuses a push. The error has
	// what the server says about it.
	ErrRefused = fmt.Errorf("%w: a rule of the server refuses the push", ErrDenied)
	// ErrNetwork means that there was no answer, or not all of it.
	ErrNetwork = errors.New("network failure")
)

// bounded is ctx with the time limit of one conversation.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, Timeout, fmt.Errorf("%w: no answer within %s", ErrNetwork, Timeout))
}

// failure translates a transport error. A server that asks for credentials has a
// repository that this account may not see, or hides whether it has one: neither
// means that it is absent.
func (r Remote) failure(ctx context.Context, err error) error {
	if b, ok := ctx.Value(budgetKey{}).(*budget); ok && b.exceeded != nil {
		return fmt.Errorf("repository %s: %w", r.name(), b.exceeded)
	}
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("repository %s: %w", r.name(), cause)
	}
	var unexpected *plumbing.UnexpectedError // hides what it wraps
	if errors.As(err, &unexpected) {
		err = unexpected.Err
	}
	var noAnswer *url.Error
	var host *model.HostError
	switch {
	case errors.As(err, &host):
		return fmt.Errorf("repository %s: %w", r.name(), host)
	case errors.Is(err, transport.ErrRepositoryNotFound):
		return fmt.Errorf("repository %s: %w", r.name(), forge.ErrNotFound)
	case errors.Is(err, transport.ErrEmptyRemoteRepository):
		return fmt.Errorf("repository %s is empty: %w", r.name(), forge.ErrNotFound)
	case errors.Is(err, transport.ErrAuthenticationRequired), errors.Is(err, transport.ErrAuthorizationFailed):
		return fmt.Errorf("repository %s: %w: %w", r.name(), ErrDenied, redact.Error(err))
	case errors.As(err, &noAnswer):
		return fmt.Errorf("repository %s: %w: %w", r.name(), ErrNetwork, noAnswer.Err)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("repository %s: %w: the answer ends early", r.name(), ErrNetwork)
	}
	return fmt.Errorf("repository %s: %w", r.name(), redact.Error(err))
}

// unknownObject reports whether git has answered that it does not have a commit
// or file. There is no code for that.
func unknownObject(err error) bool {
	return strings.Contains(err.Error(), "not our ref")
}
