package github

import (
	"context"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/storage/memory"
	sdk "github.com/google/go-github/v88/github"

	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
)

// What follows goes by git, also with Options.NoGit: the API's part for git
// objects takes nothing before a repository has its first commit.

// Branches returns where every branch of a repository is; an empty one has
// none. The account must be one that may push.
func (f *Forge) Branches(ctx context.Context, repo string) (all map[string]string, err error) {
	err = f.byGit(ctx, repo, func(remote gitclient.Remote) error {
		all, err = f.git.Branches(ctx, remote)
		return err
	})
	return all, err
}

// CreateBranches makes those of the branches that are not there, all of them or
// none, by one push of everything that the store holds. The others stay as they
// are.
func (f *Forge) CreateBranches(ctx context.Context, repo string, store *memory.Storage, branches map[plumbing.ReferenceName]plumbing.Hash) error {
	return f.byGit(ctx, repo, func(remote gitclient.Remote) error {
		return f.git.Create(ctx, remote, store, branches)
	})
}

func (f *Forge) byGit(ctx context.Context, repo string, do func(gitclient.Remote) error) error {
	if _, _, err := split(repo); err != nil {
		return err
	}
	remote, err := f.own(ctx, repo)
	if err != nil {
		return err
	}
	return advised(do(remote))
}

// Commit is a commit with whose it is.
type Commit struct {
	ID     string
	Author string // e-mail address
	When   time.Time
}

// Commits returns the newest commits of a branch, a page of them, and whether
// there are more.
func (f *Forge) Commits(ctx context.Context, repo, branch string) (all []Commit, more bool, err error) {
	owner, name, err := split(repo)
	if err != nil {
		return nil, false, err
	}
	err = f.call(ctx, func() (*sdk.Response, error) {
		list, r, err := f.client.Repositories.ListCommits(ctx, owner, name, &sdk.CommitsListOptions{
			SHA: branch, ListOptions: sdk.ListOptions{PerPage: pageSize},
		})
		for _, c := range list {
			author := c.GetCommit().GetAuthor()
			all = append(all, Commit{c.GetSHA(), author.GetEmail(), author.GetDate().UTC()})
		}
		more = err == nil && r.NextPage != 0
		return r, err
	})
	return all, more, err
}

// OrganisationURL is what the clone URLs of an organisation begin with, without
// a slash in the end.
func (f *Forge) OrganisationURL(organisation string) string {
	return f.web.JoinPath(organisation).String()
}

// Registry is the host of the image registry that belongs to this GitHub
// (docs.github.com/packages/working-with-a-github-packages-registry/
// working-with-the-container-registry).
func (f *Forge) Registry() string {
	if origin(f.web) == "https://github.com:443" {
		return "ghcr.io"
	}
	return "containers." + f.web.Host
}
