package collect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/controller"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/placement"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/view"
)

const (
	headsAtOnce        = 8
	environmentsAtOnce = 4
)

// plane is a control plane with its environments.
type plane struct {
	source    *source
	name      string // without credentials
	ref       model.Reference
	forge     controller.Repositories
	histories *histories
	poll      time.Duration
	moved     func()    // is called when a head has moved
	whole     time.Time // when all heads were asked for last; only touched by look

	mu           sync.Mutex      // for what follows
	pushed       map[string]bool // clone URLs of webhooks since the last look
	read         bool            // its Environment objects have been read once
	commit       string          // that they were read from
	diagnostics  []model.Diagnostic
	environments map[string]*environment
	known        map[model.Reference]string // the heads that were asked for last
}

// environment is one of a control plane. The plane's lock is for what is below seen.
type environment struct {
	name    string
	ref     model.Reference
	loader  model.Loader
	planner plan.Planner
	seen    map[model.Reference]string // what was read, with the commit; only touched by the plane's look

	plan   *view.Plan                 // the last that could be made; nil before the first
	pins   map[model.Reference]string // seen, as it was when plan was made
	commit string                     // of its branch of the control plane
	err    error                      // of the last run
}

func newPlane(c *Collector, at controller.ControlPlaneConfig) *plane {
	return &plane{
		name: redact.URL(at.Repo), forge: c.forge, histories: newHistories(c.forge), poll: c.options.Poll,
		ref:          model.Reference{Repo: at.Repo, Branch: cmp.Or(at.Branch, "main"), Path: at.Path},
		environments: map[string]*environment{}, pushed: map[string]bool{}, known: map[model.Reference]string{},
		moved: func() { notify(c.history.source.wake) },
	}
}

// hint has the next look ask about a repository that was pushed to, and no other.
func (p *plane) hint(repo string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pushed[repo] = true
}

// look brings what is known to what the heads of the branches say.
func (p *plane) look(ctx context.Context) error {
	p.mu.Lock()
	pushed := p.pushed
	p.pushed = map[string]bool{}
	read, commit := p.read, p.commit
	environments := slices.Collect(maps.Values(p.environments))
	p.mu.Unlock()

	control := model.Reference{Repo: p.ref.Repo, Branch: p.ref.Branch}
	asked := map[model.Reference]bool{control: true}
	for _, e := range environments {
		for ref := range e.seen {
			asked[ref] = true
		}
	}
	followed := p.histories.heads()
	for b := range followed {
		asked[model.Reference{Repo: b.repo, Branch: b.branch}] = true
	}
	if len(pushed) > 0 && time.Since(p.whole) < p.poll {
		maps.DeleteFunc(asked, func(ref model.Reference, _ bool) bool { return !sameAsOne(p.forge, pushed, ref.Repo) })
	} else {
		p.whole = time.Now()
	}
	heads, failed := p.heads(ctx, asked)
	if p.remember(heads) {
		defer p.moved() // what follows may find branches that are new
	}
	moved := func(ref model.Reference, was string) bool {
		head, known := heads[ref]
		return known && head != was
	}
	for b, was := range followed {
		if moved(model.Reference{Repo: b.repo, Branch: b.branch}, was) {
			p.histories.forget(b)
		}
	}
	if !read || moved(control, commit) {
		if err := p.list(ctx); err != nil {
			return err
		}
	}
	return errors.Join(failed, p.loadAll(ctx, moved))
}

// remember keeps heads, and is whether there is another among them than before.
func (p *plane) remember(heads map[model.Reference]string) (moved bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for ref, head := range heads {
		moved = moved || p.known[ref] != head
		p.known[ref] = head
	}
	return moved
}

// headKnown is the head of a branch as it was asked for last, "" where it was not.
func (p *plane) headKnown(ref model.Reference) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known[ref]
}

// sameAsOne reports whether a clone URL names one of several repositories.
func sameAsOne(f forge.Forge, urls map[string]bool, url string) bool {
	name, own := f.Repo(url)
	for one := range urls {
		other, ok := f.Repo(one)
		if own && ok && strings.EqualFold(name, other) || fleet.SameRepository(url, one) {
			return true
		}
	}
	return false
}

// heads asks for the heads of references, "" for one that is nowhere. One that cannot be
// asked for is left out.
func (p *plane) heads(ctx context.Context, asked map[model.Reference]bool) (map[model.Reference]string, error) {
	found := map[model.Reference]string{}
	var failed error
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(headsAtOnce)
	for ref := range asked {
		group.Go(func() error {
			head, err := p.head(ctx, ref)
			mu.Lock()
			defer mu.Unlock()
			if err != nil && !errors.Is(err, model.ErrNotFound) {
				failed = cmp.Or(failed, err)
				return nil
			}
			found[ref] = head
			return nil
		})
	}
	_ = group.Wait() // the functions return no errors
	return found, failed
}

// head returns the commit that a reference is at. One that names a commit is there or not,
// which only reading it shows.
func (p *plane) head(ctx context.Context, ref model.Reference) (string, error) {
	if ref.Commit == "" {
		return p.forge.Head(ctx, ref)
	}
	tree, err := p.forge.Read(ctx, ref)
	if err != nil {
		return "", err
	}
	return tree.Commit, nil
}

// list reads the Environment objects. An environment is gone only when all that is there
// could be understood.
func (p *plane) list(ctx context.Context) error {
	tree, err := p.forge.Read(ctx, p.ref)
	if err != nil {
		return fmt.Errorf("reading the control plane: %w", err)
	}
	objects, diagnostics := model.LoadEnvironments(tree, p.ref.Path)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.read, p.commit, p.diagnostics = true, tree.Commit, diagnostics
	found := map[string]bool{}
	for _, o := range objects {
		at := o.Spec.ControlPlane
		ref := model.Reference{Repo: at.Repo, Branch: at.Branch, Path: at.Path}
		found[o.Name] = true
		if e := p.environments[o.Name]; e == nil || e.ref != ref {
			p.environments[o.Name] = &environment{name: o.Name, ref: ref}
		}
	}
	if len(model.Errors(diagnostics)) == 0 {
		maps.DeleteFunc(p.environments, func(name string, _ *environment) bool { return !found[name] })
	}
	return nil
}

// loadAll loads and plans the environments that have read something that has moved.
func (p *plane) loadAll(ctx context.Context, moved func(model.Reference, string) bool) error {
	p.mu.Lock()
	environments := slices.SortedFunc(maps.Values(p.environments), func(a, b *environment) int { return cmp.Compare(a.name, b.name) })
	stale := make([]bool, len(environments))
	for i, e := range environments {
		stale[i] = e.plan == nil || e.err != nil
	}
	p.mu.Unlock()
	failures := make([]error, len(environments))
	var group errgroup.Group
	group.SetLimit(environmentsAtOnce)
	for i, e := range environments {
		for ref, was := range e.seen {
			stale[i] = stale[i] || moved(ref, was)
		}
		group.Go(func() error {
			if !stale[i] {
				return p.readHistories(ctx, e)
			}
			failures[i] = p.load(ctx, e)
			return nil
		})
	}
	_ = group.Wait() // what could not be read is in the placements
	return errors.Join(failures...)
}

// load loads and plans an environment as the scheduler does. What was known of it stays
// where that fails.
func (p *plane) load(ctx context.Context, e *environment) error {
	reader := &recorder{Repositories: p.forge, seen: map[model.Reference]string{}}
	made, err := e.planned(ctx, reader)
	if ctx.Err() != nil {
		return err
	}
	e.seen = reader.seen
	p.mu.Lock()
	e.err = err
	e.commit = cmp.Or(reader.seen[model.Reference{Repo: e.ref.Repo, Branch: e.ref.Branch}], e.commit)
	if made != nil {
		e.plan, e.pins = made, reader.seen
	}
	p.mu.Unlock()
	if err != nil {
		return err
	}
	return p.readHistories(ctx, e)
}

// planned is what the scheduler would plan now. There is a plan besides an error where
// only workloads could not be read.
func (e *environment) planned(ctx context.Context, reader *recorder) (*view.Plan, error) {
	env, err := e.loader.Load(ctx, reader, e.name, e.ref, model.Tolerant(controller.Unreadable))
	if err != nil {
		return nil, err
	}
	made := &view.Plan{Model: env}
	var gitOps *model.Tree
	if env.GitOps.Repo != "" {
		gitOps, err = reader.Read(ctx, env.GitOps)
		if err != nil && !errors.Is(err, forge.ErrNotFound) {
			return nil, fmt.Errorf("reading the GitOps branch of environment %s: %w", e.name, err)
		}
		if gitOps != nil {
			made.Before = gitOps.Files
		}
	}
	if made.Plan, err = e.planner.New(ctx, env, gitOps); err != nil {
		return nil, err
	}
	return made, errors.Join(env.Unreadable...)
}

// readHistories reads the branches that an environment's clusters follow, so that the
// writer need not wait for them. What cannot be read is in the placements then.
func (p *plane) readHistories(ctx context.Context, e *environment) error {
	p.mu.Lock()
	made := e.plan
	p.mu.Unlock()
	if made == nil {
		return nil
	}
	_, err := p.placements(ctx, made, fleet.Snapshot{})
	return err
}

// placements compares what is planned with what the clusters have.
func (p *plane) placements(ctx context.Context, made *view.Plan, clusters fleet.Snapshot) ([]placement.Placement, error) {
	want := placement.Environment{Name: made.Environment, GitOps: made.GitOps, Files: made.Before}
	return placement.Of(ctx, want, clusters, p.histories.of(made.Environment))
}

// state is a copy of what is known of an environment.
type state struct {
	name   string
	ref    model.Reference
	plan   *view.Plan
	commit string
	err    error
}

// states are those of all environments, by name, and false before they have been listed.
func (p *plane) states() ([]state, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []state
	for _, e := range p.environments {
		all = append(all, state{e.name, e.ref, e.plan, e.commit, e.err})
	}
	slices.SortFunc(all, func(a, b state) int { return cmp.Compare(a.name, b.name) })
	return all, p.read
}

// recorder notes what is read through it, by reference without its folder, and at which
// commit; "" for what is not there.
type recorder struct {
	controller.Repositories
	mu   sync.Mutex
	seen map[model.Reference]string
}

// Read implements model.Reader.
func (r *recorder) Read(ctx context.Context, ref model.Reference) (*model.Tree, error) {
	tree, err := r.Repositories.Read(ctx, ref)
	r.mu.Lock()
	defer r.mu.Unlock()
	ref.Path = ""
	switch {
	case err == nil && ref.Commit == "": // a commit does not change
		r.seen[ref] = tree.Commit
	case err != nil:
		r.seen[ref] = ""
	}
	return tree, err
}
