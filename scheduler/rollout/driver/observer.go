package driver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/rollout"
)

// Lister is a forge that lists branches.
type Lister interface {
	model.Reader
	// BranchesBelow returns where the branches are whose names begin with a prefix.
	BranchesBelow(ctx context.Context, cloneURL, prefix string) (map[string]string, error)
}

// Observer is a fleet whose clusters count as followers of an environment's branch also
// where they follow that of a wave, with the environment's commit that their wave's holds.
// So a gate that waits for a commit waits for all waves of a rollout.
type Observer struct {
	fleet.Observer
	forge Lister
	marks *marks
}

// NewObserver makes one of a fleet.
func NewObserver(f Lister, of fleet.Observer) *Observer {
	return &Observer{of, f, newMarks(f)}
}

// Observe implements fleet.Observer.
func (o *Observer) Observe(ctx context.Context, s fleet.Source) ([]fleet.Configuration, error) {
	all, err := o.Observer.Observe(ctx, s)
	if err != nil {
		return nil, err
	}
	branches, err := o.forge.BranchesBelow(ctx, s.Repo, rollout.BranchPrefix)
	if errors.Is(err, forge.ErrNotFound) { // to this account: the gate has never needed to read it
		return all, nil
	}
	if err != nil {
		return nil, fmt.Errorf("branches of rollouts: %w", err)
	}
	for _, branch := range slices.Sorted(maps.Keys(branches)) {
		wave, err := o.marks.of(ctx, s.Repo, branch, branches[branch])
		if err != nil {
			return nil, err
		}
		if wave.Branch != s.Branch {
			continue
		}
		more, err := o.Observer.Observe(ctx, fleet.Source{Repo: s.Repo, Branch: branch})
		if err != nil {
			return nil, err
		}
		for _, c := range more {
			if c.Commit != "" {
				has, err := o.marks.of(ctx, s.Repo, branch, c.Commit)
				if err != nil && !errors.Is(err, forge.ErrNotFound) {
					return nil, err
				}
				c.Commit = has.Commit
			}
			all = append(all, c)
		}
	}
	return all, nil
}
