package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	sdk "github.com/google/go-github/v88/github"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// Read implements model.Reader.
func (f *Forge) Read(ctx context.Context, ref model.Reference) (*model.Tree, error) {
	if repo, ok := f.Repo(ref.Repo); ok && f.noGit {
		return f.readByAPI(ctx, repo, ref)
	}
	remote, err := f.remote(ctx, ref.Repo)
	if err != nil {
		return nil, err
	}
	tree, err := f.git.Tree(ctx, remote, ref.Branch, ref.Commit)
	if err != nil {
		return nil, advised(err)
	}
	tree.Repo = ref.Repo
	return tree, nil
}

// Head implements forge.Forge. It asks the API, which answers 304 while a
// branch stays where it is.
func (f *Forge) Head(ctx context.Context, ref model.Reference) (string, error) {
	if ref.Commit != "" {
		return ref.Commit, nil
	}
	repo, ok := f.Repo(ref.Repo)
	if !ok {
		remote, err := f.remote(ctx, ref.Repo)
		if err != nil {
			return "", err
		}
		head, err := f.git.Head(ctx, remote, ref.Branch)
		return head, advised(err)
	}
	return f.head(ctx, repo, ref.Branch)
}

// head returns where a branch is, or the default branch when it is empty.
func (f *Forge) head(ctx context.Context, repo, branch string) (head string, err error) {
	owner, name, err := split(repo)
	if err != nil {
		return "", err
	}
	what := "branch " + branch
	err = f.call(ctx, func() (*sdk.Response, error) {
		if branch == "" {
			what = "default branch"
			sha, r, err := f.client.Repositories.GetCommitSHA1(ctx, owner, name, "HEAD", "")
			head = sha
			return r, err
		}
		ref, r, err := f.client.Git.GetRef(ctx, owner, name, "heads/"+branch)
		head = ref.GetObject().GetSHA()
		return r, err
	})
	if err != nil {
		return "", fmt.Errorf("%s of %s: %w", what, repo, err)
	}
	return head, nil
}

// Commit implements forge.Forge.
func (f *Forge) Commit(ctx context.Context, repo string, request forge.CommitRequest) (string, error) {
	if _, _, err := split(repo); err != nil {
		return "", err
	}
	if f.noGit {
		return f.commitByAPI(ctx, repo, request)
	}
	remote, err := f.own(ctx, repo)
	if err != nil {
		return "", err
	}
	id, err := f.git.Commit(ctx, remote, request)
	return id, advised(err)
}

// DeleteBranch implements forge.Forge.
func (f *Forge) DeleteBranch(ctx context.Context, repo, branch string) error {
	owner, name, err := split(repo)
	if err != nil {
		return err
	}
	if !forge.OwnBranch(branch) {
		return fmt.Errorf("branch %s is not below %s: the scheduler deletes only its own branches", branch, forge.BranchPrefix)
	}
	err = f.call(ctx, func() (*sdk.Response, error) {
		return f.client.Git.DeleteRef(ctx, owner, name, "heads/"+branch)
	})
	if refusedAs(err, http.StatusUnprocessableEntity, "reference does not exist") {
		return nil
	}
	if err != nil && !errors.Is(err, forge.ErrNotFound) {
		return fmt.Errorf("deleting branch %s of %s: %w", branch, repo, err)
	}
	if err != nil {
		return fmt.Errorf("deleting branch %s: repository %s: %w", branch, repo, err)
	}
	return nil
}
