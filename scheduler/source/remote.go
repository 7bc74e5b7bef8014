package source

import (
	"context"

	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// cacheBytes is how much file content of repositories on servers is kept while
// a World lives: environments share most of it.
const cacheBytes = 256 << 20

// remote is a repository on a server.
type remote struct {
	client *gitclient.Client
	at     gitclient.Remote
}

// remote returns the repository at an http URL, without asking for it yet.
func (w *World) remote(url string) *remote {
	r := &remote{client: w.client, at: gitclient.Remote{URL: url}}
	if w.options.Credentials == nil {
		return r
	}
	if user, password := w.options.Credentials(url); user != "" || password != "" {
		r.at.Auth = &gitclient.Auth{User: user, Password: password}
	}
	return r
}

func (r *remote) name() string { return redacted(r.at.URL) }

// head returns the commit of the default branch.
func (r *remote) head(ctx context.Context) (string, error) {
	commit, err := r.client.Head(ctx, r.at, "")
	return commit, r.refusal(err)
}

func (r *remote) defaultBranch(context.Context) (string, error) { return headBranch, nil }

func (r *remote) read(ctx context.Context, branch, commit string) (*model.Tree, error) {
	asked := branch
	if branch == headBranch {
		asked = ""
	}
	tree, err := r.client.Tree(ctx, r.at, asked, commit)
	if err != nil {
		return nil, r.refusal(err)
	}
	named := *tree
	named.Repo, named.Branch = r.name(), branch
	return &named, nil
}

func (r *remote) refusal(err error) error {
	if err == nil {
		return nil
	}
	return refusal(err, r.at.URL, r.at.Auth != nil)
}
