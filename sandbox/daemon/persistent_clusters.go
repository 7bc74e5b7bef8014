package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/cluster/kind"
	"github.com/kalypso-dev/kalypso/sandbox/state"
)

// PersistentClusters are a sandbox's clusters that outlive its daemon: those of
// kind, and attached ones.
type PersistentClusters struct {
	providers []cluster.Provider
	made      []string // the names of all clusters that the sandbox makes
}

// FindPersistentClusters returns those of the home's sandbox, none if there is
// no sandbox.
func FindPersistentClusters(h state.Home) (p PersistentClusters, err error) {
	s, err := h.Load()
	if errors.Is(err, state.ErrNoSandbox) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	p.made = s.Made()
	if len(s.Existing) > 0 {
		p.providers = append(p.providers, AttachedClusters(h, s))
	}
	if s.Engine != nil {
		p.providers = append(p.providers, kindClusters(h, s))
	}
	return p, s.UseEngine()
}

// Each stops or deletes all of them.
func (p PersistentClusters) Each(ctx context.Context, do func(cluster.Provider, context.Context, string) error) error {
	var all []error
	for _, provider := range p.providers {
		names, err := provider.List(ctx)
		if err != nil {
			all = append(all, fmt.Errorf("the sandbox's clusters: %w", err))
		}
		for _, name := range names {
			all = append(all, do(provider, ctx, name))
		}
	}
	return errors.Join(all...)
}

// Forget leaves out the clusters of an engine that does not answer, and those
// that a damaged state, which err is about, does not name. The note says how to
// remove what is left of them.
func (p PersistentClusters) Forget(ctx context.Context, err error) (rest PersistentClusters, note string, _ error) {
	var broken *state.BrokenError
	if errors.As(err, &broken) {
		return rest, fmt.Sprintf("%s: %v. Had the sandbox kind clusters, they are left: `docker ps --all --filter name=kalypso-`", broken.File, broken.Err), nil
	}
	for _, provider := range p.providers {
		k, ok := provider.(kind.Provider)
		if !ok {
			rest.providers = append(rest.providers, provider)
			continue
		}
		missing := k.Answers(ctx)
		if missing == nil {
			rest.providers = append(rest.providers, provider)
			continue
		}
		remove := []string{k.Engine.Program, "rm", "--force", "--volumes"}
		for _, name := range p.made {
			remove = append(remove, k.Container(name))
		}
		note = fmt.Sprintf("%v: its clusters are forgotten. Should it come back with them: `%s`", missing, strings.Join(remove, " "))
	}
	return rest, note, err
}
