package setup

import (
	"context"
	"errors"
	"fmt"

	"github.com/kalypso-dev/kalypso/fixtures"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/github"
)

// Made is a repository that was made for a workshop, with what people and
// schedulers have put into it since.
type Made struct {
	github.Repository
	Workshop string
	Since    []Branch // the branches with commits that were not there in the beginning
	Commits  int      // of all of them, each once
	More     bool     // there are more than were counted
}

// Branch is a branch with how many commits it has that were not there in the
// beginning.
type Branch struct {
	Name    string
	Commits int
}

// Find returns what was made in an organisation for workshops, sorted by name,
// wherever people have renamed it to within the organisation. It asks for the
// list of all repositories, since GitHub's search for topics knows of a change
// only after a while. It writes nothing.
func Find(ctx context.Context, f *github.Forge, org string, workshops []string) ([]Made, error) {
	if _, err := organisation(ctx, f, org, "repo"); err != nil {
		return nil, err
	}
	list, err := f.Repositories(ctx, org)
	if err != nil {
		return nil, err
	}
	var all []Made
	for _, l := range list {
		workshop, err := madeFor(ctx, f, org, l, workshops)
		if err != nil {
			return nil, err
		}
		if workshop == "" {
			continue
		}
		m := Made{Repository: l, Workshop: workshop}
		if err := m.count(ctx, f); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// madeFor returns which of the workshops a repository was made for, "" for none.
func madeFor(ctx context.Context, f *github.Forge, org string, l github.Repository, workshops []string) (string, error) {
	marked := markedFor(l.Topics)
	for _, name := range workshops {
		if marked != "" {
			if marked == name {
				return name, nil
			}
			continue
		}
		w, err := Load(f, name, org, "")
		if err != nil {
			return "", err
		}
		if r, ok := repositoryOf(w, org, l.Name); ok {
			half, err := halfMade(ctx, f, l, description(r))
			if half || err != nil {
				return name, err
			}
		}
	}
	return "", nil
}

func repositoryOf(w fixtures.Workshop, org, name string) (fixtures.Repository, bool) {
	for _, r := range w.Repositories {
		if sameName(org+"/"+r.Name, name) {
			return r, true
		}
	}
	return fixtures.Repository{}, false
}

// MayDelete returns an error when the token shows that it cannot delete
// repositories: nobody should be asked about what cannot be done.
func MayDelete(ctx context.Context, f *github.Forge, org string) error {
	_, err := organisation(ctx, f, org, "repo", "delete_repo")
	return err
}

// Delete removes a repository that Find has found, unless it is another one by
// now, or has lost its mark: its owner may have thought better of it while the
// list was being read. One that is gone is no error.
func (m Made) Delete(ctx context.Context, f *github.Forge) error {
	now, err := f.RepositoryNamed(ctx, m.Name)
	switch {
	case errors.Is(err, forge.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	same := now.ID == m.ID && markedFor(now.Topics) == markedFor(m.Topics)
	if same && markedFor(m.Topics) == "" {
		if same, err = halfMade(ctx, f, now, m.Description); err != nil {
			return err
		}
	}
	if !same {
		return fmt.Errorf("repository %s is no more what was shown: it is left alone; look again", m.Name)
	}
	return f.DeleteRepository(ctx, m.Name)
}
