// Package setup makes a workshop's repositories in an organisation on a real
// forge, with all that the sandbox gives them on its own: branches, secrets,
// environments, variables, webhooks and pull requests. It also takes them away
// again.
//
// [Look] compares what there is with what there should be, and writes nothing.
// [Plan.Do] makes what is missing. Cut off at any point, the next Look finds
// what is still missing.
//
// # Whose a repository is
//
// Nothing is kept on this machine, since the next person to call may sit at
// another one. So a repository carries a mark: a topic with the workshop's
// name, see [Mark]. People see it, GitHub lists it with the repository, it
// survives a change of name, description and owner's mind, and neither a fork
// nor a copy inherits it. Whoever takes it off keeps the repository.
//
// A topic cannot be given with the repository itself, but only a moment later.
// A repository that was cut off in between is known by being empty and by a
// description that nobody else writes.
//
// A repository that has one of the names and is neither stops everything before
// anything is made.
package setup

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/fixtures"
	"github.com/kalypso-dev/kalypso/fixtures/seed"
	"github.com/kalypso-dev/kalypso/scheduler/forge/github"
)

// Options say what is wanted, and where.
type Options struct {
	Forge        *github.Forge
	Organisation string
	Workshop     fixtures.Workshop // as it is loaded for the forge, see Load
	Visibility   github.Visibility // of what is made; what is there stays as it is
	Secrets      map[string]string // values by name; one that is missing is left out
	Webhook      *Webhook          // nil for none
}

// Webhook is where a scheduler hears of changes.
type Webhook struct{ URL, Secret string }

// Load returns a workshop for an organisation. Images are in the registry that
// belongs to the forge, or in another one when its host is given.
func Load(f *github.Forge, workshop, organisation, registry string) (fixtures.Workshop, error) {
	if registry == "" {
		registry = f.Registry()
	}
	return fixtures.LoadAt(workshop, fixtures.Addresses{
		Repositories: f.OrganisationURL(organisation),
		// names of images have no capital letters
		Images: registry + "/" + strings.ToLower(organisation),
	})
}

const (
	markPrefix = "kalypso-init-"
	madeBy     = " (made by kalypso init)"
)

// Mark is the topic of the repositories that were made for a workshop.
func Mark(workshop string) string { return markPrefix + workshop }

// description is what a repository is made with.
func description(r fixtures.Repository) string { return r.Description + madeBy }

// markedFor returns the workshop that a repository was made for, "" when it
// carries no mark.
func markedFor(topics []string) string {
	for _, t := range topics {
		if name, ok := strings.CutPrefix(t, markPrefix); ok && slices.Contains(fixtures.Workshops(), name) {
			return name
		}
	}
	return ""
}

// wanted is a repository as it should be.
type wanted struct {
	seed.Repository
	name  string // owner/name
	needs fixtures.Needs
}

func (o Options) wanted() ([]wanted, error) {
	seeds, err := seed.Of(o.Workshop.Repositories)
	if err != nil {
		return nil, fmt.Errorf("workshop %s: %w", o.Workshop.Name, err)
	}
	var all []wanted
	for _, s := range seeds {
		all = append(all, wanted{s, o.Organisation + "/" + s.Name, o.Workshop.Needs(s.Repository)})
	}
	return all, nil
}
