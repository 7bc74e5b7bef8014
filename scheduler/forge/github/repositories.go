package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	sdk "github.com/google/go-github/v88/github"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// Repository is a repository as it is, or shall be.
type Repository struct {
	Name          string // owner/name
	Description   string
	Private       bool
	DefaultBranch string // read only: an organisation's setting decides about a new repository's
	Empty         bool   // read only: it has no commit
	URL           string // read only: clone URL
}

// Repository looks a repository up.
func (f *Forge) Repository(ctx context.Context, repo string) (Repository, error) {
	owner, name, err := split(repo)
	if err != nil {
		return Repository{}, err
	}
	var found *sdk.Repository
	err = f.call(ctx, func() (r *sdk.Response, err error) {
		found, r, err = f.client.Repositories.Get(ctx, owner, name)
		return r, err
	})
	if err != nil {
		return Repository{}, fmt.Errorf("repository %s: %w", repo, err)
	}
	info := repository(found)
	if _, err := f.head(ctx, repo, ""); errors.Is(err, forge.ErrNotFound) {
		info.Empty = true
	} else if err != nil {
		return Repository{}, err
	}
	return info, nil
}

func repository(r *sdk.Repository) Repository {
	return Repository{
		Name: r.GetFullName(), Description: r.GetDescription(), Private: r.GetPrivate(),
		DefaultBranch: r.GetDefaultBranch(), URL: r.GetCloneURL(),
	}
}

// CreateRepository makes a repository of an organisation or of the account
// itself, with a README.md as its first commit: the Git data API takes nothing
// before there is one. The error wraps ErrExists when the name is taken.
func (f *Forge) CreateRepository(ctx context.Context, want Repository) (Repository, error) {
	owner, name, err := split(want.Name)
	if err != nil {
		return Repository{}, err
	}
	me, err := f.me(ctx)
	if err != nil {
		return Repository{}, err
	}
	organisation := owner
	if strings.EqualFold(owner, me) {
		organisation = ""
	}
	var made *sdk.Repository
	err = f.call(ctx, func() (r *sdk.Response, err error) {
		made, r, err = f.client.Repositories.Create(ctx, organisation, &sdk.Repository{
			Name: &name, Description: &want.Description, Private: &want.Private,
			AutoInit: new(true), HasIssues: new(true), HasWiki: new(false), HasProjects: new(false),
		})
		return r, err
	})
	if refusedAs(err, http.StatusUnprocessableEntity, "already exists") {
		return Repository{}, fmt.Errorf("repository %s: %w: %w", want.Name, ErrExists, err)
	}
	if err != nil {
		return Repository{}, fmt.Errorf("making repository %s: %w", want.Name, err)
	}
	return repository(made), nil
}

// DeleteRepository removes a repository with all that it has; a missing one is
// no error. A token needs the scope delete_repo, an App the permission
// administration.
func (f *Forge) DeleteRepository(ctx context.Context, repo string) error {
	owner, name, err := split(repo)
	if err != nil {
		return err
	}
	err = f.call(ctx, func() (*sdk.Response, error) {
		return f.client.Repositories.Delete(ctx, owner, name)
	})
	if err != nil && !errors.Is(err, forge.ErrNotFound) {
		return fmt.Errorf("deleting repository %s: %w", repo, err)
	}
	f.issues.doubt(repo)
	return nil
}

// CreateBranch makes a branch point to a commit. One that does already is no
// error; one that points elsewhere is forge.ErrMoved.
func (f *Forge) CreateBranch(ctx context.Context, repo, branch, commit string) error {
	err := f.point(ctx, repo, forge.CommitRequest{Branch: branch}, "", commit)
	if errors.Is(err, forge.ErrMoved) {
		if head, again := f.head(ctx, repo, branch); again == nil && head == commit {
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("branch %s of %s: %w", branch, repo, err)
	}
	return nil
}

// SetDefaultBranch makes a branch the one that people see first.
func (f *Forge) SetDefaultBranch(ctx context.Context, repo, branch string) error {
	owner, name, err := split(repo)
	if err != nil {
		return err
	}
	err = f.call(ctx, func() (*sdk.Response, error) {
		_, r, err := f.client.Repositories.Edit(ctx, owner, name, &sdk.Repository{DefaultBranch: &branch})
		return r, err
	})
	if err != nil {
		return fmt.Errorf("default branch %s of %s: %w", branch, repo, err)
	}
	return nil
}
