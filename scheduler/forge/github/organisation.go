package github

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	sdk "github.com/google/go-github/v88/github"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// Organisation is what an account learns of an organisation and of itself.
type Organisation struct {
	Name string
	Plan string // "free", "team", "enterprise"; "" where only owners learn it
	// Scopes are those of the account's token. There are none where nothing is
	// known: of an App, and of a token with permissions of its own.
	Scopes []string
}

// Organisation looks an organisation up.
func (f *Forge) Organisation(ctx context.Context, name string) (Organisation, error) {
	if !plainName(name) {
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

// Listed is a repository as an organisation lists it; Repository.Empty is not
// filled in.
type Listed struct {
	Repository
	ID         int64
	Visibility Visibility
	Topics     []string
	Open       int // issues and pull requests that are open
}

// Repositories lists the repositories of an organisation that the account may
// see.
func (f *Forge) Repositories(ctx context.Context, organisation string) ([]Listed, error) {
	if !plainName(organisation) {
		return nil, fmt.Errorf("organisation %q: this is no name", organisation)
	}
	var all []Listed
	err := f.pages(ctx, func(page sdk.ListOptions) (*sdk.Response, bool, error) {
		list, r, err := f.client.Repositories.ListByOrg(ctx, organisation, &sdk.RepositoryListByOrgOptions{
			Type: "all", Sort: "full_name", ListOptions: page,
		})
		for _, one := range list {
			all = append(all, listed(one))
		}
		return r, false, err
	})
	if err != nil {
		return nil, fmt.Errorf("repositories of %s: %w", organisation, err)
	}
	return all, nil
}

// RepositoryNamed returns the repository that has a name now. GitHub itself
// also leads from the old name of one that was renamed.
func (f *Forge) RepositoryNamed(ctx context.Context, repo string) (Listed, error) {
	owner, name, err := split(repo)
	if err != nil {
		return Listed{}, err
	}
	var found Listed
	err = f.call(ctx, func() (*sdk.Response, error) {
		one, r, err := f.client.Repositories.Get(ctx, owner, name)
		if err == nil {
			found = listed(one)
		}
		return r, err
	})
	if err == nil && !strings.EqualFold(found.Name, repo) {
		err = fmt.Errorf("it is called %s now: %w", found.Name, forge.ErrNotFound)
	}
	if err != nil {
		return Listed{}, fmt.Errorf("repository %s: %w", repo, err)
	}
	return found, nil
}

func listed(r *sdk.Repository) Listed {
	return Listed{Repository: repository(r), ID: r.GetID(), Visibility: Visibility(r.GetVisibility()), Topics: r.Topics, Open: r.GetOpenIssuesCount()}
}

// CreateEmpty makes a repository of an organisation that has no commit, for
// CreateBranches to fill. The error wraps ErrExists when the name is taken.
func (f *Forge) CreateEmpty(ctx context.Context, repo, description string, visibility Visibility) (Listed, error) {
	owner, name, err := split(repo)
	if err != nil {
		return Listed{}, err
	}
	var made Listed
	err = f.call(ctx, func() (*sdk.Response, error) {
		one, r, err := f.client.Repositories.Create(ctx, owner, &sdk.Repository{
			Name: &name, Description: &description,
			// a server that is too old for the one reads the other
			Visibility: new(string(visibility)), Private: new(visibility != Public),
			HasIssues: new(true), HasWiki: new(false), HasProjects: new(false),
		})
		if err == nil {
			made = listed(one)
		}
		return r, err
	})
	if refusedAs(err, http.StatusUnprocessableEntity, "already exists") {
		err = fmt.Errorf("%w: %w", ErrExists, err)
	}
	if err != nil {
		return Listed{}, fmt.Errorf("making repository %s: %w", repo, err)
	}
	return made, nil
}

// SetTopics gives a repository topics, in place of those that it has.
func (f *Forge) SetTopics(ctx context.Context, repo string, topics []string) error {
	owner, name, err := split(repo)
	if err != nil {
		return err
	}
	err = f.call(ctx, func() (*sdk.Response, error) {
		_, r, err := f.client.Repositories.ReplaceAllTopics(ctx, owner, name, topics)
		return r, err
	})
	if err != nil {
		return fmt.Errorf("topics of %s: %w", repo, err)
	}
	return nil
}
