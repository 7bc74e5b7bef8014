package gitea

import (
	"context"
	"fmt"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// Read implements model.Reader.
func (f *Forge) Read(ctx context.Context, ref model.Reference) (*model.Tree, error) {
	tree, err := f.git.Tree(ctx, f.remote(ref.Repo), ref.Branch, ref.Commit)
	if err != nil {
		return nil, err
	}
	tree.Repo = ref.Repo
	return tree, nil
}

// Head implements forge.Forge. It asks git: the API's answer about a branch
// holds much that must be worked out, and takes Gitea three times as long.
func (f *Forge) Head(ctx context.Context, ref model.Reference) (string, error) {
	if ref.Commit != "" {
		return ref.Commit, nil
	}
	return f.git.Head(ctx, f.remote(ref.Repo), ref.Branch)
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
