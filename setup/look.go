package setup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/storage/memory"

	"github.com/kalypso-dev/kalypso/scheduler/forge/github"
)

// Plan is what has to be done.
type Plan struct {
	Steps []Step
	// Missing are the secrets that workflows need and that have no value here.
	// They may be there all the same: forges do not show them.
	Missing []Secret
}

// Secret is one of a repository's.
type Secret struct{ Repository, Name string }

// Look finds out what has to be done. It is an error when that cannot succeed,
// as far as can be seen from here.
func Look(ctx context.Context, o Options) (*Plan, error) {
	org, err := organisation(ctx, o.Forge, o.Organisation, "repo", "workflow")
	if err != nil {
		return nil, err
	}
	repositories, err := o.wanted()
	if err != nil {
		return nil, err
	}
	there, err := o.Forge.Repositories(ctx, o.Organisation)
	if err != nil {
		return nil, err
	}
	found := map[string]*github.Repository{}
	var others []error
	for _, r := range repositories {
		i := slices.IndexFunc(there, func(l github.Repository) bool { return strings.EqualFold(l.Name, r.name) })
		if i < 0 {
			continue
		}
		found[r.name] = &there[i]
		if err := o.own(ctx, r, there[i]); err != nil {
			others = append(others, err)
		}
	}
	if len(others) > 0 {
		return nil, errors.Join(others...)
	}
	if err := o.paid(org, repositories, found); err != nil {
		return nil, err
	}
	p := &Plan{}
	for _, r := range repositories {
		if err := p.repository(ctx, o, r, found[r.name]); err != nil {
			return nil, err
		}
	}
	for _, r := range repositories {
		if err := p.pulls(ctx, o, r, found[r.name] != nil); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// NotOursError is a repository in the way.
type NotOursError struct{ Repository, Why string }

func (e *NotOursError) Error() string {
	return fmt.Sprintf("repository %s %s: nothing is made beside it; rename it or remove it, or take another organisation", e.Repository, e.Why)
}

// own returns an error unless the repository that has the wanted one's name was
// made for it.
func (o Options) own(ctx context.Context, r wanted, l github.Repository) error {
	switch marked := markedFor(l.Topics); {
	case marked == o.Workshop.Name:
		return nil
	case marked != "":
		return &NotOursError{l.Name, fmt.Sprintf("was made by kalypso init for the workshop %s (`kalypso init --cleanup --workshop %[1]s` removes it)", marked)}
	}
	half, err := halfMade(ctx, o.Forge, l, description(r.Repository.Repository))
	if err == nil && !half {
		err = &NotOursError{l.Name, "is there already and was not made by kalypso init"}
	}
	return err
}

// halfMade tells whether a repository without a mark is one that was cut off
// before it got it.
func halfMade(ctx context.Context, f *github.Forge, l github.Repository, description string) (bool, error) {
	if l.Description != description {
		return false, nil
	}
	branches, err := f.Branches(ctx, l.Name)
	return len(branches) == 0, err
}

// repository adds what one repository needs; l is nil when it is not there. The
// contents come last, because pushing them starts workflows.
func (p *Plan) repository(ctx context.Context, o Options, r wanted, l *github.Repository) error {
	if l == nil {
		p.add(r, fmt.Sprintf("make it, %s", o.Visibility), func(ctx context.Context) error { return o.create(ctx, r) })
	}
	if l == nil || markedFor(l.Topics) == "" {
		topics := []string{Mark(o.Workshop.Name)}
		if l != nil {
			topics = append(topics, l.Topics...)
		}
		p.add(r, "mark it with the topic "+topics[0], func(ctx context.Context) error { return o.Forge.SetTopics(ctx, r.name, topics) })
	}
	p.secrets(o, r)
	if err := p.environments(ctx, o, r, l != nil); err != nil {
		return err
	}
	if err := p.webhook(ctx, o, r, l != nil); err != nil {
		return err
	}
	return p.contents(ctx, o, r, l)
}

// contents adds the push of the branches that are missing. Once a branch is no
// more as it began, the repository belongs to the people who use it, and is left
// as it is.
func (p *Plan) contents(ctx context.Context, o Options, r wanted, l *github.Repository) error {
	store := memory.NewStorage()
	commits, err := r.Commits(store)
	if err != nil {
		return fmt.Errorf("repository %s: %w", r.name, err)
	}
	missing := len(commits)
	if l != nil {
		there, err := o.Forge.Branches(ctx, r.name)
		if err != nil {
			return err
		}
		for name, commit := range commits {
			switch there[name.Short()] {
			case "":
			case commit.String():
				missing--
			default:
				return nil
			}
		}
	}
	first := r.Branches[0].Name
	switch {
	case missing > 0:
		var names []string
		files := 0
		for _, b := range r.Branches {
			names = append(names, b.Name)
			files += len(b.Files)
		}
		p.add(r, fmt.Sprintf("push %s, %d files", strings.Join(names, ", "), files), func(ctx context.Context) error {
			if err := o.Forge.CreateBranches(ctx, r.name, store, commits); err != nil {
				return err
			}
			return o.defaultBranch(ctx, r.name, first)
		})
	case l.DefaultBranch != first:
		p.add(r, "make "+first+" its default branch", func(ctx context.Context) error { return o.defaultBranch(ctx, r.name, first) })
	}
	return nil
}
