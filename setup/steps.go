package setup

import (
	"context"
	"errors"
	"fmt"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/github"
)

// Step is one thing to do.
type Step struct {
	Repository string // owner/name
	What       string // in words
	do         func(context.Context) error
}

func (p *Plan) add(r wanted, what string, do func(context.Context) error) {
	p.Steps = append(p.Steps, Step{r.name, what, do})
}

// Do does the steps in their order, tells of each when it is done, and ends at
// the first that fails.
func (p *Plan) Do(ctx context.Context, did func(Step)) error {
	for _, s := range p.Steps {
		if err := s.do(ctx); err != nil {
			return fmt.Errorf("%s: %s: %w", s.Repository, s.What, err)
		}
		did(s)
	}
	return nil
}

// create makes a repository. One that has appeared since it was looked for may
// be ours, too: lists know of a new one with a delay.
func (o Options) create(ctx context.Context, r wanted) error {
	_, err := o.Forge.CreateEmpty(ctx, r.name, description(r.Repository.Repository), o.Visibility)
	if !errors.Is(err, github.ErrExists) {
		return err
	}
	l, hidden := o.Forge.RepositoryNamed(ctx, r.name)
	if hidden != nil {
		return err
	}
	return o.own(ctx, r, l)
}

func (o Options) defaultBranch(ctx context.Context, repo, branch string) error {
	now, err := o.Forge.RepositoryNamed(ctx, repo)
	if err != nil || now.DefaultBranch == branch {
		return err
	}
	return o.Forge.SetDefaultBranch(ctx, repo, branch)
}

// secrets adds those of a repository. Nobody can see what is there, so they are
// set each time.
func (p *Plan) secrets(o Options, r wanted) {
	for _, name := range r.needs.Secrets {
		value, ok := o.Secrets[name]
		if !ok {
			p.Missing = append(p.Missing, Secret{r.name, name})
			continue
		}
		p.add(r, "set the secret "+name, func(ctx context.Context) error { return o.Forge.SetSecret(ctx, r.name, "", name, value) })
	}
}

// environments adds those that are missing, and in each the variable that names
// the next. A variable that is there belongs to the people, who may have changed
// it.
func (p *Plan) environments(ctx context.Context, o Options, r wanted, there bool) error {
	if !r.needs.Environments {
		return nil
	}
	next := o.Workshop.Next()
	for _, environment := range o.Workshop.Environments {
		has, variable := false, false
		if there {
			var err error
			if has, err = o.Forge.HasEnvironment(ctx, r.name, environment); err != nil {
				return err
			}
			if variable, err = o.Forge.HasVariable(ctx, r.name, environment, o.Workshop.NextVariable); has && err != nil {
				return err
			}
		}
		if !has {
			p.add(r, "make the environment "+environment, func(ctx context.Context) error { return o.environment(ctx, r.name, environment) })
		}
		if value := next[environment]; value != "" && !variable {
			p.add(r, fmt.Sprintf("set %s=%s in the environment %s", o.Workshop.NextVariable, value, environment), func(ctx context.Context) error {
				return o.Forge.SetVariable(ctx, r.name, environment, o.Workshop.NextVariable, value)
			})
		}
	}
	return nil
}

func (o Options) environment(ctx context.Context, repo, environment string) error {
	err := o.Forge.CreateEnvironment(ctx, repo, environment)
	if errors.Is(err, forge.ErrNotFound) {
		return fmt.Errorf("%w; %s", err, noEnvironments)
	}
	return err
}
