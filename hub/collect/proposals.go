package collect

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/hub/propose"
	"github.com/kalypso-dev/kalypso/scheduler/controller"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

var _ propose.Platform = (*Collector)(nil)

// Environment implements propose.Platform. What is read is at the commits of the last plan.
func (c *Collector) Environment(ctx context.Context, name string, current bool) (propose.Environment, error) {
	if _, err := c.planOf(name); err != nil {
		return propose.Environment{}, err
	}
	for _, p := range c.planes {
		e, ok := p.pinned(name)
		if !ok {
			continue
		}
		own := e.ControlPlane
		own.Path = ""
		if !current {
			return e, nil
		}
		head, err := c.forge.Head(ctx, own)
		if err != nil {
			return propose.Environment{}, fmt.Errorf("the head of branch %s of environment %s: %w", own.Branch, name, err)
		}
		pins := maps.Clone(e.Reader.(pinned).pins)
		maps.DeleteFunc(pins, func(ref model.Reference, _ string) bool { return ref.Repo == own.Repo })
		pins[own] = head
		e.Head, e.Reader, e.Version = head, pinned{c.forge, pins}, ""
		return e, nil
	}
	return propose.Environment{}, fmt.Errorf("environment %s is gone", name)
}

// pinned is an environment as its last plan was made, false where there is none.
func (p *plane) pinned(name string) (propose.Environment, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.environments[name]
	if e == nil || e.plan == nil {
		return propose.Environment{}, false
	}
	own := e.ref
	own.Path = ""
	return propose.Environment{
		Name: name, Names: slices.Sorted(maps.Keys(p.environments)), ControlPlane: e.ref, Head: e.pins[own], Reader: pinned{p.forge, e.pins}, Version: version(e.pins),
	}, true
}

// version is the same for the same commits.
func version(pins map[model.Reference]string) string {
	var all []string
	for ref, commit := range pins {
		all = append(all, fmt.Sprintf("%q %q %s", ref.Repo, ref.Branch, commit))
	}
	slices.Sort(all)
	sum := sha256.Sum256([]byte(strings.Join(all, "\n")))
	return hex.EncodeToString(sum[:])
}

// pinned reads branches at the commits that are known of them, without asking the forge.
type pinned struct {
	controller.Repositories
	pins map[model.Reference]string // never changed; "" for what is not there
}

// Read implements model.Reader.
func (r pinned) Read(ctx context.Context, ref model.Reference) (*model.Tree, error) {
	ref.Path = ""
	commit, known := r.pins[ref]
	switch {
	case !known:
		return r.Repositories.Read(ctx, ref)
	case commit == "":
		return nil, fmt.Errorf("branch %s of %s: %w", ref.Branch, ref.Repo, forge.ErrNotFound)
	}
	ref.Commit = commit
	return r.Repositories.Read(ctx, ref)
}

// Ahead implements propose.Platform.
func (c *Collector) Ahead(ctx context.Context, branch model.Reference, head, commit string) int {
	return propose.Ahead(ctx, c.forge, branch, head, commit)
}

// Key is that of the hub's proposals.
func (c *Collector) Key() propose.Key { return propose.NewKey(c.secret) }

// Forge is the hub's account on the forge.
func (c *Collector) Forge() controller.Repositories { return c.forge }

// Repositories are the clone URLs of the control planes, and of what their environments take as a
// base: those that a proposal may go to.
func (c *Collector) Repositories() []string {
	all := map[string]bool{}
	for _, p := range c.planes {
		all[p.ref.Repo] = true
		states, _ := p.states()
		for _, e := range states {
			all[e.ref.Repo] = true
			if e.plan != nil {
				for _, base := range e.plan.Model.BaseRepos {
					all[base.Spec.Repo] = true
				}
			}
		}
	}
	var one []string // of each repository, however it is spelt
	names := map[string]bool{}
	for _, url := range slices.Sorted(maps.Keys(all)) {
		if name, ok := c.forge.Repo(url); ok && !names[name] {
			names[name] = true
			one = append(one, url)
		}
	}
	return one
}
