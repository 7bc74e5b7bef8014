package gitea

import (
	"context"
	"errors"
	"fmt"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// Read implements model.Reader.
func (f *Forge) Read(ctx context.Context, ref model.Reference) (*model.Tree, error) {
	commit := ref.Commit
	if repo, ok := f.Repo(ref.Repo); ok && commit == "" {
		var err error
		if commit, err = f.head(ctx, repo, ref.Branch); err != nil {
			return nil, err
		}
	}
	tree, err := f.git.Tree(ctx, f.remote(ref.Repo), ref.Branch, commit)
	if err != nil {
		return nil, err
	}
	tree.Repo = ref.Repo
	return tree, nil
}

// Head implements forge.Forge.
func (f *Forge) Head(ctx context.Context, ref model.Reference) (string, error) {
	if ref.Commit != "" {
		return ref.Commit, nil
	}
	if repo, ok := f.Repo(ref.Repo); ok {
		return f.head(ctx, repo, ref.Branch)
	}
	return f.git.Head(ctx, f.remote(ref.Repo), ref.Branch)
}

// head asks the API, which is cheaper for the server than git is. The API
// answers from a database that may lag behind a repository's first push, so
// that only git's word counts for a branch that is not there.
func (f *Forge) head(ctx context.Context, repo, branch string) (string, error) {
	if branch == "" {
		return f.git.Head(ctx, f.own(repo), "")
	}
	owner, name, err := split(repo)
	if err != nil {
		return "", err
	}
	var commit string
	err = f.call(ctx, func(c *sdk.Client) (*sdk.Response, error) {
		b, r, err := c.GetRepoBranch(owner, name, branch)
		if err == nil && b.Commit != nil {
			commit = b.Commit.ID
		}
		return r, err
	})
	if errors.Is(err, forge.ErrNotFound) || err == nil && commit == "" {
		return f.git.Head(ctx, f.own(repo), branch)
	}
	if err != nil {
		return "", fmt.Errorf("branch %s of %s: %w", branch, repo, err)
	}
	return commit, nil
}

// Commit implements forge.Forge.
func (f *Forge) Commit(ctx context.Context, repo string, request forge.CommitRequest) (string, error) {
	if _, _, err := split(repo); err != nil {
		return "", err
	}
	return f.git.Commit(ctx, f.own(repo), request)
}

// DeleteBranch implements forge.Forge.
func (f *Forge) DeleteBranch(ctx context.Context, repo, branch string) error {
	if _, _, err := split(repo); err != nil {
		return err
	}
	if !forge.OwnBranch(branch) {
		return fmt.Errorf("branch %s is not below %s: the scheduler deletes only its own branches", branch, forge.BranchPrefix)
	}
	return f.git.Delete(ctx, f.own(repo), branch)
}
