package driver

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/rollout"
)

// Followers shows what follows the branch of a wave as a follower of the environment's branch, so
// that what compares clusters with that branch need not know of rollouts. Several goroutines may
// use it.
type Followers struct {
	marks *marks

	mu   sync.Mutex
	last map[waveBranch]rollout.Wave // what was read of a branch last
}

type waveBranch struct{ repo, branch string }

// NewFollowers reads the branches of waves by r.
func NewFollowers(r model.Reader) *Followers {
	return &Followers{marks: newMarks(r), last: map[waveBranch]rollout.Wave{}}
}

// Resolve has the subscriptions of a cluster to waves' branches follow the environment's branch, with
// the commits of that which their own commits hold, and names the wave. Where a commit cannot be
// read, the subscription is Unknown with the reason; where it was not known before what the branch
// is, either, it stays as it is.
func (f *Followers) Resolve(ctx context.Context, c *fleet.Cluster) {
	all := slices.Clone(c.Subscriptions) // the caller's may be those of others, too
	defer func() { c.Subscriptions = all }()
	for i := range all {
		s := &all[i]
		if _, is := rollout.EnvironmentOf(s.Branch); !is || s.Repo == "" {
			continue
		}
		key := waveBranch{s.Repo, s.Branch}
		fetched, err := f.at(ctx, key, s.Commit)
		applied := fetched
		if err == nil && s.Applied != s.Commit {
			applied, err = f.at(ctx, key, s.Applied)
		}
		head := fetched
		if err == nil && fetched.Branch == "" && applied.Branch == "" { // nothing was fetched yet, or what is gone
			head, err = f.head(ctx, key)
		}
		f.mu.Lock()
		wave := f.last[key]
		for _, now := range []rollout.Wave{applied, fetched, head} {
			if now.Branch != "" {
				wave = now
				f.last[key] = now
			}
		}
		f.mu.Unlock()
		if wave.Branch == "" {
			continue
		}
		s.Branch, s.Wave, s.Commit, s.Applied = wave.Branch, wave.Wave, fetched.Commit, applied.Commit
		if err != nil {
			s.State, s.Reason = fleet.Unknown, "the commit of its wave cannot be read: "+err.Error()
		}
	}
}

// head is what the newest commit of a wave's branch holds.
func (f *Followers) head(ctx context.Context, key waveBranch) (rollout.Wave, error) {
	tree, err := f.marks.reader.Read(ctx, model.Reference{Repo: key.repo, Branch: key.branch})
	if err != nil {
		return rollout.Wave{}, err
	}
	return rollout.ParseWave(tree.Files[rollout.WaveFile])
}

// at is what a commit of a wave's branch holds: nothing for "", and for one that is gone, or does not
// say it, itself, which is none of the environment's branch.
func (f *Followers) at(ctx context.Context, key waveBranch, commit string) (rollout.Wave, error) {
	if commit == "" {
		return rollout.Wave{}, nil
	}
	has, err := f.marks.of(ctx, key.repo, key.branch, commit)
	if errors.Is(err, forge.ErrNotFound) {
		err = nil
	}
	if err == nil && has.Commit == "" {
		has.Commit = commit
	}
	return has.Wave, err
}
