package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// headBranch is the branch name that stands for what is checked out, or what a
// server's HEAD points to. Git lets no branch have it.
const headBranch = "HEAD"

// location is where a repository is read.
type location interface {
	// read returns the content of a branch, or of a commit when that is not
	// "". What is not there is a model.ErrNotFound.
	read(ctx context.Context, branch, commit string) (*model.Tree, error)
	// defaultBranch returns the branch that is meant when none is named.
	defaultBranch(ctx context.Context) (string, error)
	// name is how references and positions spell the location.
	name() string
}

// openLocation finds out what a user has named and checks that it is there.
func (p *Platform) openLocation(ctx context.Context, what, named string) (location, error) {
	info, err := os.Stat(named)
	switch {
	case err == nil && info.IsDir():
		at, err := openFolder(ctx, named)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		return at, nil
	case err == nil:
		return nil, &Error{
			Message: fmt.Sprintf("%s: %s is a file", what, named),
			Hint:    "name a folder or the URL of a git repository",
		}
	case !errors.Is(err, fs.ErrNotExist) && !strings.Contains(named, ":"):
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	a, ok := parseAddress(named)
	if !ok {
		return nil, noFolder(what, named)
	}
	switch a.scheme {
	case "http", "https":
		at := p.remote(named)
		if _, err := at.head(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		return at, nil
	case "file":
		at, err := openFile(named)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		return at, nil
	}
	return nil, &Error{
		Message: fmt.Sprintf("%s: %s cannot be read: git is read over http, https and from folders, not over %s", what, redact.URL(named), a.scheme),
		Hint:    fmt.Sprintf("name %s, or a folder that you have cloned it to", a.https()),
	}
}

func noFolder(what, named string) error {
	e := &Error{
		Message: fmt.Sprintf("%s: there is no folder %s", what, named),
		Hint:    "name a folder or the URL of a git repository",
		Err:     fs.ErrNotExist,
	}
	if host, _, ok := strings.Cut(filepath.ToSlash(named), "/"); ok && strings.Contains(strings.Trim(host, "."), ".") {
		e.Hint = fmt.Sprintf("did you mean https://%s?", named)
	}
	return e
}

// cacheBytes is how much file content of repositories on servers is kept while
// a Platform lives: environments share most of it.
const cacheBytes = 256 << 20

// remote is a repository on a server.
type remote struct {
	client *gitclient.Client
	server gitclient.Remote
}

// remote returns the repository at an http URL, without asking for it yet.
func (p *Platform) remote(url string) *remote {
	r := &remote{client: p.client, server: gitclient.Remote{URL: url}}
	if p.options.Credentials == nil {
		return r
	}
	if user, password := p.options.Credentials(url); user != "" || password != "" {
		r.server.Auth = &gitclient.Auth{User: user, Password: password}
	}
	return r
}

func (r *remote) name() string { return redact.URL(r.server.URL) }

func (r *remote) head(ctx context.Context) (string, error) {
	commit, err := r.client.Head(ctx, r.server, "")
	return commit, r.refusal(err)
}

func (r *remote) defaultBranch(context.Context) (string, error) { return headBranch, nil }

func (r *remote) read(ctx context.Context, branch, commit string) (*model.Tree, error) {
	asked := branch
	if branch == headBranch {
		asked = ""
	}
	tree, err := r.client.Tree(ctx, r.server, asked, commit)
	if err != nil {
		return nil, r.refusal(err)
	}
	named := *tree
	named.Repo, named.Branch = r.name(), branch
	return &named, nil
}

// refusal marks the errors of a server that wants credentials.
func (r *remote) refusal(err error) error {
	if !errors.Is(err, transport.ErrAuthenticationRequired) && !errors.Is(err, transport.ErrAuthorizationFailed) {
		return err
	}
	message := "it asks for credentials, or does not exist"
	if r.server.Auth != nil {
		message = "it refuses the credentials"
	}
	return fmt.Errorf("repository %s: %s: %w", r.name(), message, ErrCredentials)
}
