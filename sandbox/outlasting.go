package sandbox

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/cluster/kind"
)

// outlasting are a sandbox's clusters that outlive its daemon.
type outlasting struct {
	providers []cluster.Provider
	made      []string // the names of all clusters that the sandbox makes
}

// outlasting are those of this home's sandbox, none if there is none.
func (h Home) outlasting() (outlasting, error) {
	s, err := h.LoadState()
	if errors.Is(err, ErrNoSandbox) {
		return outlasting{}, nil
	}
	if err != nil {
		return outlasting{}, err
	}
	w, err := findWorkshop(s.Workshop)
	if err != nil {
		return outlasting{}, err
	}
	o := outlasting{made: w.made(s)}
	if len(s.Existing) > 0 {
		o.providers = append(o.providers, h.existingClusters(s, w))
	}
	if s.Engine != nil {
		o.providers = append(o.providers, h.kindClusters(s, w))
	}
	return o, s.useEngine()
}

// each does something to every cluster.
func (o outlasting) each(ctx context.Context, do func(cluster.Provider, string) error) error {
	var all []error
	for _, p := range o.providers {
		names, err := p.List(ctx)
		if err != nil {
			all = append(all, fmt.Errorf("the sandbox's clusters: %w", err))
		}
		for _, name := range names {
			all = append(all, do(p, name))
		}
	}
	return errors.Join(all...)
}

func (o outlasting) stop(ctx context.Context) error {
	return o.each(ctx, func(p cluster.Provider, name string) error { return p.Stop(ctx, name) })
}

func (o outlasting) delete(ctx context.Context) error {
	return o.each(ctx, func(p cluster.Provider, name string) error { return p.Delete(ctx, name) })
}

// forget leaves out the clusters of an engine that does not answer, and takes
// for none those that a damaged state does not tell of. The note says what
// there may be of them.
func (o outlasting) forget(ctx context.Context, err error) (rest outlasting, note string, _ error) {
	var broken *BrokenError
	if errors.As(err, &broken) {
		return outlasting{}, fmt.Sprintf("%s: %v. Had the sandbox kind clusters, they are left: `docker ps --all --filter name=kalypso-`", broken.File, broken.Err), nil
	}
	for _, p := range o.providers {
		k, ok := p.(kind.Provider)
		if !ok {
			rest.providers = append(rest.providers, p)
			continue
		}
		away := k.Away(ctx)
		if away == nil {
			rest.providers = append(rest.providers, p)
			continue
		}
		remove := []string{k.Engine.Program, "rm", "--force", "--volumes"}
		for _, name := range o.made {
			remove = append(remove, k.Container(name))
		}
		note = fmt.Sprintf("%v: its clusters are forgotten. Should it come back with them: `%s`", away, strings.Join(remove, " "))
	}
	return rest, note, err
}
