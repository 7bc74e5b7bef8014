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

// Organisation is what an account may read of an organisation and of its own
// token.
type Organisation struct {
	Name string
	Plan string // "free", "team", "enterprise"; "" where only owners may read it
	// Scopes are those of the account's token. There are none where nothing is
	// known: of an App, and of a token with permissions of its own.
	Scopes []string
}

// Organisation looks an organisation up.
func (f *Forge) Organisation(ctx context.Context, name string) (Organisation, error) {
	if !forge.PlainName(name) {
		return Organisation{}, fmt.Errorf("organisation %q: this is no name", name)
	}
	var found Organisation
	err := f.call(ctx, func() (*sdk.Response, error) {
		o, r, err := f.client.Organizations.Get(ctx, name)
		if err == nil {
			found = Organisation{Name: o.GetLogin(), Plan: o.GetPlan().GetName(), Scopes: scopes(r.Header)}
		}
		return r, err
	})
	if err != nil {
		return Organisation{}, fmt.Errorf("organisation %s: %w", name, err)
	}
	return found, nil
}

func scopes(h http.Header) (list []string) {
	for scope := range strings.SplitSeq(h.Get("X-OAuth-Scopes"), ",") {
		if scope = strings.TrimSpace(scope); scope != "" {
			list = append(list, scope)
		}
	}
	return list
}

// Visibility is who may see a repository.
type Visibility string

// Internal is for all members of an enterprise; only its organisations have it.
const (
	Private  Visibility = "private"
	Internal Visibility = "internal"
	Public   Visibility = "public"
)

// Repository is a repository of an organisation.
type Repository struct {
	ID            int64
	Name          string // owner/name
	Description   string
	Visibility    Visibility
	DefaultBranch string // an organisation's setting decides about a new repository's
	URL           string // clone URL
	Topics        []string
	Open          int // issues and pull requests that are open
}

func repository(r *sdk.Repository) Repository {
	return Repository{
		ID: r.GetID(), Name: r.GetFullName(), Description: r.GetDescription(), Visibility: Visibility(r.GetVisibility()),
		DefaultBranch: r.GetDefaultBranch(), URL: r.GetCloneURL(), Topics: r.Topics, Open: r.GetOpenIssuesCount(),
	}
}

// Repositories lists the repositories of an organisation that the account may
// see.
func (f *Forge) Repositories(ctx context.Context, organisation string) ([]Repository, error) {
	if !forge.PlainName(organisation) {
		return nil, fmt.Errorf("organisation %q: this is no name", organisation)
	}
	var all []Repository
	err := f.pages(ctx, func(page sdk.ListOptions) (*sdk.Response, bool, error) {
		list, r, err := f.client.Repositories.ListByOrg(ctx, organisation, &sdk.RepositoryListByOrgOptions{
			Type: "all", Sort: "full_name", ListOptions: page,
		})
		for _, one := range list {
			all = append(all, repository(one))
		}
		return r, false, err
	})
	if err != nil {
		return nil, fmt.Errorf("repositories of %s: %w", organisation, err)
	}
	return all, nil
}

// RepositoryNamed returns the repository that has a name now. GitHub itself
// redirects from the old name of one that was renamed.
func (f *Forge) RepositoryNamed(ctx context.Context, repo string) (Repository, error) {
	var found Repository
	err := f.callRepo(ctx, repo, func(owner, name string) (*sdk.Response, error) {
		one, r, err := f.client.Repositories.Get(ctx, owner, name)
		if err == nil {
			found = repository(one)
		}
		return r, err
	})
	if err == nil && !strings.EqualFold(found.Name, repo) {
		err = fmt.Errorf("its name is %s now: %w", found.Name, forge.ErrNotFound)
	}
	if err != nil {
		return Repository{}, fmt.Errorf("repository %s: %w", repo, err)
	}
	return found, nil
}

// CreateEmpty makes a repository of an organisation that has no commit, for
// CreateBranches to fill. The error wraps ErrExists when the name is taken.
func (f *Forge) CreateEmpty(ctx context.Context, repo, description string, visibility Visibility) (Repository, error) {
	var made Repository
	err := f.callRepo(ctx, repo, func(owner, name string) (*sdk.Response, error) {
		one, r, err := f.client.Repositories.Create(ctx, owner, &sdk.Repository{
			Name: &name, Description: &description,
			// a server that is too old for the one reads the other
			Visibility: new(string(visibility)), Private: new(visibility != Public),
			HasIssues: new(true), HasWiki: new(false), HasProjects: new(false),
		})
		if err == nil {
			made = repository(one)
		}
		return r, err
	})
	if refusedAs(err, http.StatusUnprocessableEntity, "already exists") {
		err = fmt.Errorf("%w: %w", ErrExists, err)
	}
	if err != nil {
		return Repository{}, fmt.Errorf("making repository %s: %w", repo, err)
	}
	return made, nil
}

// DeleteRepository removes a repository with all that it has; a missing one is
// no error. A token needs the scope delete_repo, an App the permission
// administration.
func (f *Forge) DeleteRepository(ctx context.Context, repo string) error {
	err := f.callRepo(ctx, repo, func(owner, name string) (*sdk.Response, error) {
		return f.client.Repositories.Delete(ctx, owner, name)
	})
	if err != nil && !errors.Is(err, forge.ErrNotFound) {
		return fmt.Errorf("deleting repository %s: %w", repo, err)
	}
	f.issues.invalidate(repo)
	return nil
}

// SetDefaultBranch makes a branch the repository's default.
func (f *Forge) SetDefaultBranch(ctx context.Context, repo, branch string) error {
	err := f.callRepo(ctx, repo, func(owner, name string) (*sdk.Response, error) {
		_, r, err := f.client.Repositories.Edit(ctx, owner, name, &sdk.Repository{DefaultBranch: &branch})
		return r, err
	})
	if err != nil {
		return fmt.Errorf("default branch %s of %s: %w", branch, repo, err)
	}
	return nil
}

// SetTopics gives a repository topics, in place of those that it has.
func (f *Forge) SetTopics(ctx context.Context, repo string, topics []string) error {
	err := f.callRepo(ctx, repo, func(owner, name string) (*sdk.Response, error) {
		_, r, err := f.client.Repositories.ReplaceAllTopics(ctx, owner, name, topics)
		return r, err
	})
	if err != nil {
		return fmt.Errorf("topics of %s: %w", repo, err)
	}
	return nil
}

// HookEvents are the events that a scheduler needs: pushes, and whatever can
// change a pull request or an issue of its own.
func HookEvents() []string {
	return []string{"push", "create", "delete", "pull_request", "issues"}
}

// Hook is a webhook of a repository.
type Hook struct {
	ID     int64
	URL    string
	Events []string
	Active bool
}

// Hooks lists the webhooks of a repository. Their secrets cannot be read.
func (f *Forge) Hooks(ctx context.Context, repo string) ([]Hook, error) {
	owner, name, err := forge.SplitRepo(repo)
	if err != nil {
		return nil, err
	}
	var all []Hook
	err = f.pages(ctx, func(page sdk.ListOptions) (*sdk.Response, bool, error) {
		list, r, err := f.client.Repositories.ListHooks(ctx, owner, name, &page)
		for _, h := range list {
			all = append(all, Hook{h.GetID(), h.GetConfig().GetURL(), h.Events, h.GetActive()})
		}
		return r, false, err
	})
	if err != nil {
		return nil, fmt.Errorf("webhooks of %s: %w", repo, err)
	}
	return all, nil
}

// SaveHook makes a webhook (ID 0) or changes the existing one. The secret is set
// in both cases, and no error contains it.
func (f *Forge) SaveHook(ctx context.Context, repo string, h Hook, secret string) error {
	want := &sdk.Hook{
		Config: &sdk.HookConfig{URL: &h.URL, ContentType: new("json"), InsecureSSL: new("0"), Secret: &secret},
		Events: h.Events, Active: &h.Active,
	}
	err := f.callRepo(ctx, repo, func(owner, name string) (r *sdk.Response, err error) {
		if h.ID == 0 {
			_, r, err = f.client.Repositories.CreateHook(ctx, owner, name, want)
		} else {
			_, r, err = f.client.Repositories.EditHook(ctx, owner, name, h.ID, want)
		}
		return r, err
	})
	if err != nil {
		return fmt.Errorf("webhook %s of %s: %w", h.URL, repo, err)
	}
	return nil
}
