// Package propose says what edits of a platform model would do, and makes pull requests of them.
//
// A [Planner] lays the edits of package edit over what is read of the control plane, and loads,
// plans and validates the environment as the scheduler and `kalypso validate` do. A [Proposer]
// brings the edited files to a branch of the control plane's repository by the pull-request
// engine of package publish: nothing that anything follows is written to. The same edits of the
// same branch are the same pull request, so that what was cut off goes on when it is asked for
// again.
package propose

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/kalypso-dev/kalypso/scheduler/controller"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/validate"
)

// Environment is an environment of a control plane, as it was read.
type Environment struct {
	Name         string
	Names        []string        // of all environments of the control plane
	ControlPlane model.Reference // its branch, and the folder in it
	Head         string          // the commit of the branch
	// Reader reads all that the environment names, at commits that do not change while it is used.
	Reader model.Reader
	// Version identifies these commits; "" where they are not known together.
	Version string
}

// Platform knows environments. Its errors about one that is not there wrap store.ErrNotFound.
type Platform interface {
	// Environment is what is known of an environment; with current the forge is asked for the head
	// of its branch.
	Environment(ctx context.Context, name string, current bool) (Environment, error)
	// Ahead is how many commits the head of a branch is ahead of another commit, 0 where that is not
	// known.
	Ahead(ctx context.Context, branch model.Reference, head, commit string) int
}

// Fleet knows the clusters of an environment; what is not in the user's scope it leaves out.
type Fleet interface {
	// ByType are the names of clusters by their cluster type, sorted.
	ByType(ctx context.Context, environment string) (map[string][]string, error)
	// Running are the deployment targets that run somewhere, by cluster type.
	Running(ctx context.Context, environment string) (map[Pair]bool, error)
}

// Pair is a deployment target on a cluster type.
type Pair struct{ ClusterType, Target string }

// plansEach is how many plans of one user are made at a time. Others wait: a page that has asked
// anew has cancelled what it asked before.
const plansEach = 2

// Planner makes plans of edits. It keeps what it has parsed and planned of each environment, so
// that the next plan of it costs what the edits touch. Several goroutines may use it.
type Planner struct {
	platform Platform

	turns KeyLock // by environment

	mu           sync.Mutex // for what follows
	environments map[string]*planned
	users        map[string]*slots
}

// slots bound what one user does at a time.
type slots struct {
	free  chan struct{}
	users int // that hold or wait for one
}

// planned is what is kept of an environment, for who has its turn.
type planned struct {
	loader  model.Loader
	planner plan.Planner
	checks  plan.Planner // without the GitOps branch, for validation
	version string
	base    outcome // without edits, of version
}

// outcome is what an environment comes to.
type outcome struct {
	model  *model.Environment
	plan   *plan.Plan
	report validate.Report
	gitOps *model.Tree // nil where the branch is not there
}

// NewPlanner makes a Planner.
func NewPlanner(platform Platform) *Planner {
	return &Planner{platform: platform, environments: map[string]*planned{}, users: map[string]*slots{}}
}

// acquire waits until a user may make another plan.
func (p *Planner) acquire(ctx context.Context, user string) (release func(), err error) {
	p.mu.Lock()
	s := p.users[user]
	if s == nil {
		s = &slots{free: make(chan struct{}, plansEach)}
		p.users[user] = s
	}
	s.users++
	p.mu.Unlock()
	leave := func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if s.users--; s.users == 0 {
			delete(p.users, user)
		}
	}
	select {
	case s.free <- struct{}{}:
		return func() { <-s.free; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, fmt.Errorf("waiting for other plans of the same user: %w", context.Cause(ctx))
	}
}

// of is what is kept of an environment, for who has its turn until release.
func (p *Planner) of(ctx context.Context, environment string) (kept *planned, release func(), err error) {
	if release, err = p.turns.Acquire(ctx, environment); err != nil {
		return nil, nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	kept = p.environments[environment]
	if kept == nil {
		kept = new(planned)
		p.environments[environment] = kept
	}
	return kept, release, nil
}

// come loads, plans and validates an environment.
func (k *planned) come(ctx context.Context, e Environment, reader model.Reader) (o outcome, err error) {
	if o.model, err = k.loader.Load(ctx, reader, e.Name, e.ControlPlane, model.Tolerant(controller.Unreadable)); err != nil {
		return o, err
	}
	if o.model.GitOps.Repo != "" {
		o.gitOps, err = reader.Read(ctx, o.model.GitOps)
		if err != nil && !errors.Is(err, model.ErrNotFound) {
			return o, fmt.Errorf("reading the GitOps branch of environment %s: %w", e.Name, err)
		}
	}
	if o.plan, err = k.planner.New(ctx, o.model, o.gitOps); err != nil {
		return o, err
	}
	subject := validate.Subject{Model: o.model, NoGitOps: o.gitOps == nil && o.model.GitOps.Repo != "", Planner: &k.checks}
	if subject.Trees, err = validate.Trees(ctx, reader, o.model); err != nil {
		return o, err
	}
	o.report, err = validate.Validate(ctx, validate.Input{Known: e.Names, Subjects: []validate.Subject{subject}, RunTests: true})
	return o, err
}

// before is what the environment comes to without edits.
func (k *planned) before(ctx context.Context, e Environment) (outcome, error) {
	if e.Version != "" && e.Version == k.version {
		return k.base, nil
	}
	o, err := k.come(ctx, e, e.Reader)
	if err != nil {
		return o, err
	}
	k.version, k.base = e.Version, o
	return o, nil
}

// KeyLock lets one at a time do what a key names. The zero KeyLock is ready.
type KeyLock struct {
	mu   sync.Mutex // for what follows
	busy map[string]chan struct{}
}

// Acquire waits until nobody else has a key.
func (l *KeyLock) Acquire(ctx context.Context, key string) (release func(), err error) {
	for {
		l.mu.Lock()
		busy := l.busy[key]
		if busy == nil {
			done := make(chan struct{})
			if l.busy == nil {
				l.busy = map[string]chan struct{}{}
			}
			l.busy[key] = done
			l.mu.Unlock()
			return func() {
				l.mu.Lock()
				defer l.mu.Unlock()
				delete(l.busy, key)
				close(done)
			}, nil
		}
		l.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for the same request, which is being answered: %w", context.Cause(ctx))
		}
	}
}
