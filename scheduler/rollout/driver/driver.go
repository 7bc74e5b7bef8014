// Package driver carries rollouts out: it reads their branches and asks the fleet, has
// package rollout decide, and makes the commits.
//
// Every commit is made on top of what was read, and none is made when its branch has moved
// meanwhile. First comes the decision, on the branch with the state; then the branches of
// the waves are brought to what it says, one after the other. A run that was cut off
// anywhere is gone on with by the next one, of whichever process.
package driver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/rollout"
)

// DefaultGrace is for how long clusters must fail before a rollout stops.
const DefaultGrace = time.Minute

// Options configure a Driver.
type Options struct {
	Forge forge.Forge
	Fleet fleet.Reader // nil where nobody can be asked
	Grace time.Duration
	Now   func() time.Time // time.Now when nil
	Clock string           // names the machine; by default its host name
	// ReadOnly makes no commits: what is due is said in the status.
	ReadOnly bool
}

// Driver carries out the rollouts of environments. Its methods may be called from several
// goroutines, but not for one environment.
type Driver struct {
	options Options

	marks *marks

	mu      sync.Mutex
	failing map[string]time.Time // since when, by repository and state branch
}

// New makes a Driver.
func New(o Options) *Driver {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Clock == "" {
		o.Clock, _ = os.Hostname() // "" differs from every other one
	}
	return &Driver{options: o, marks: newMarks(o.Forge), failing: map[string]time.Time{}}
}

// Environment is an environment with its rollouts.
type Environment struct {
	Name     string
	GitOps   model.Reference // branch and folder
	Types    []string        // all cluster types
	Rollouts []model.Rollout
}

// Of is what a model says of an environment's rollouts. Those for cluster types that it
// does not have are left out.
func Of(env *model.Environment) Environment {
	e := Environment{Name: env.Name, GitOps: env.GitOps}
	for _, t := range env.ClusterTypes {
		e.Types = append(e.Types, t.Name)
	}
	for _, r := range env.Rollouts {
		if slices.Contains(e.Types, r.Spec.ClusterType) {
			e.Rollouts = append(e.Rollouts, r)
		}
	}
	return e
}

// Outcome is how an environment's rollouts are after a run.
type Outcome struct {
	Statuses []rollout.Status // by cluster type
	Writes   int              // commits that were made
	// Decisions are those that were made, each in a line.
	Decisions []string
	Again     time.Time // when the time alone may change something; zero for never
	Active    bool      // clusters are waited for
}

// maxSteps bounds a run: each wave of a rollout takes a few.
const maxSteps = 500

// Run does all that can be done now about the rollouts of an environment. They are
// independent: an error of one keeps no other back.
func (d *Driver) Run(ctx context.Context, env Environment) (Outcome, error) {
	out := Outcome{Statuses: []rollout.Status{}}
	if len(env.Rollouts) == 0 {
		return out, nil
	}
	repo, ok := d.options.Forge.Repo(env.GitOps.Repo)
	if !ok {
		return out, fmt.Errorf("rollouts of environment %s: GitOps repository %q is not on this forge", env.Name, redact.URL(env.GitOps.Repo))
	}
	var snapshot fleet.Snapshot
	unseen := "the scheduler's configuration has no observe, which names the fleet"
	if d.options.Fleet != nil {
		var err error
		unseen = ""
		if snapshot, err = d.options.Fleet.Inventory(ctx); err != nil {
			unseen = redact.Error(err).Error()
		}
	}
	var failed []error
	for _, r := range env.Rollouts {
		one := &run{Driver: d, env: env, repo: repo, rollout: r, snapshot: snapshot, unseen: unseen, out: &out}
		if err := one.all(ctx); err != nil {
			failed = append(failed, fmt.Errorf("rollout %s of environment %s: %w", r.Name, env.Name, err))
		}
	}
	slices.SortFunc(out.Statuses, func(a, b rollout.Status) int { return cmp.Compare(a.ClusterType, b.ClusterType) })
	return out, errors.Join(failed...)
}

// run is one rollout in a run.
type run struct {
	*Driver
	env      Environment
	repo     string
	rollout  model.Rollout
	snapshot fleet.Snapshot
	unseen   string
	out      *Outcome

	at    string         // the commit of the state, "" before the first
	state *rollout.State // nil before the first
}

func (r *run) clusterType() string { return r.rollout.Spec.ClusterType }
func (r *run) stateBranch() string { return rollout.StateBranch(r.env.Name, r.clusterType()) }

func (r *run) ref(branch, commit string) model.Reference {
	return model.Reference{Repo: r.env.GitOps.Repo, Branch: branch, Commit: commit}
}

// all takes one step after the other until there is none.
func (r *run) all(ctx context.Context) error {
	if err := r.read(ctx); err != nil {
		return err
	}
	for range maxSteps {
		done, err := r.step(ctx)
		if err != nil || done {
			return err
		}
	}
	return fmt.Errorf("not done after %d steps", maxSteps)
}

// read reads the state.
func (r *run) read(ctx context.Context) error {
	tree, err := r.options.Forge.Read(ctx, r.ref(r.stateBranch(), ""))
	if errors.Is(err, forge.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	state, err := rollout.ParseState(tree.Files[rollout.StateFile])
	if err != nil {
		return fmt.Errorf("branch %s of %s: %w; revert the commit that has changed it, or delete the branch to begin anew with the waves as they are", r.stateBranch(), r.repo, err)
	}
	r.at, r.state = tree.Commit, state
	return nil
}

// step brings one wave's branch to the state, or decides what is next.
func (r *run) step(ctx context.Context) (done bool, err error) {
	if r.state != nil && !r.options.ReadOnly {
		for _, wave := range slices.Sorted(maps.Keys(r.state.Waves)) {
			if wrote, err := r.bring(ctx, wave); wrote || err != nil {
				return false, err
			}
		}
	}
	head, err := r.options.Forge.Head(ctx, r.ref(r.env.GitOps.Branch, ""))
	if err != nil {
		return false, err
	}
	in := rollout.Input{
		Environment: r.env.Name, Rollout: r.rollout, State: r.state, Head: head, Unseen: r.unseen,
		Now: r.options.Now(), Clock: r.options.Clock, Failing: r.failingSince(), Grace: r.options.Grace,
	}
	var failed error
	in.Same = func(a, b string) bool {
		same, err := r.same(ctx, a, b)
		failed = errors.Join(failed, err)
		return same
	}
	if in.Clusters, err = r.clusters(ctx); err != nil {
		return false, err
	}
	if r.unseen == "" {
		in.Unseen = unknown(r.snapshot)
	}
	result := rollout.Next(in)
	if failed != nil {
		return false, failed
	}
	r.note(result.Failing)
	if result.State != nil && !r.options.ReadOnly {
		return false, r.save(ctx, result.State, result.Subject)
	}
	r.out.Statuses = append(r.out.Statuses, result.Status)
	r.out.Active = r.out.Active || result.Status.Phase == rollout.Progressing
	if again := result.Again; !again.IsZero() && (r.out.Again.IsZero() || again.Before(r.out.Again)) {
		r.out.Again = again
	}
	return true, nil
}

// unknown is why it cannot be known which clusters are of a type: one that does not answer
// may be, unless it is known what it followed last.
func unknown(s fleet.Snapshot) string {
	for _, c := range s.Clusters {
		if c.Unknown != "" && len(c.Subscriptions) == 0 {
			return fmt.Sprintf("cluster %s: %s", c.Name, c.Unknown)
		}
	}
	return ""
}

// failingSince is since when clusters have been seen to fail, and note notes whether they
// do.
func (r *run) failingSince() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failing[r.env.GitOps.Repo+" "+r.stateBranch()]
}

func (r *run) note(failing bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := r.env.GitOps.Repo + " " + r.stateBranch()
	if _, known := r.failing[key]; failing && !known {
		r.failing[key] = r.options.Now()
	} else if !failing {
		delete(r.failing, key)
	}
}

// same compares two commits of the environment's branch.
func (r *run) same(ctx context.Context, a, b string) (bool, error) {
	if a == b {
		return true, nil
	}
	var trees [2]*model.Tree
	for i, commit := range []string{a, b} {
		tree, err := r.options.Forge.Read(ctx, r.ref(r.env.GitOps.Branch, commit))
		if err != nil {
			return false, err
		}
		trees[i] = tree
	}
	return rollout.Same(trees[0], trees[1], r.env.GitOps.Path, r.clusterType(), r.env.Types), nil
}

// save keeps a decision.
func (r *run) save(ctx context.Context, state *rollout.State, subject string) error {
	commit, err := saveState(ctx, r.options.Forge, r.repo, r.stateBranch(), r.at, state, subject, r.options.Now())
	if err != nil {
		return err
	}
	r.at, r.state = commit, state
	r.out.Writes++
	r.out.Decisions = append(r.out.Decisions, r.rollout.Name+": "+subject)
	return nil
}
