package sandbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/cluster/attached"
	"github.com/kalypso-dev/kalypso/sandbox/cluster/kind"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

// The ways to get clusters.
const (
	ProviderEmbedded = "embedded" // processes of this machine; needs nothing
	ProviderKind     = "kind"     // containers of an engine such as Docker
)

// Providers returns the ways to get clusters.
func Providers() []string { return []string{ProviderEmbedded, ProviderKind} }

// argoCDNodePort is where a kind node offers Argo CD's pages to the machine.
const argoCDNodePort = 30080

// Choice is how a new sandbox gets its clusters. One that is there keeps its
// own.
type Choice struct {
	Provider string // one of Providers; "" for ProviderEmbedded
	Image    string // of kind's nodes; "" for the one of this kalypso
	// Contexts are those of the person's kubeconfig that lead to clusters to be
	// used in place of new ones, by the workshop's name of the cluster.
	Contexts map[string]string
	// Kubeconfig has the files of the person's kubeconfig; none means those that
	// kubectl would take.
	Kubeconfig []string
}

// check returns a *UsageError for a choice that makes no sense.
func (c Choice) check() error {
	switch {
	case c.Provider != "" && !slices.Contains(Providers(), c.Provider):
		return &UsageError{fmt.Sprintf("there is no provider %q: choose one of %s", c.Provider, strings.Join(Providers(), ", "))}
	case c.Image != "" && c.Provider != ProviderKind:
		return &UsageError{"--image is of kind's nodes: give --provider kind, too"}
	}
	return nil
}

// checkSame returns a *UsageError when a sandbox gets its clusters another way
// than is wanted now.
func (c Choice) checkSame(h Home, s *State) error {
	var has string
	switch {
	case c.Provider != "" && c.Provider != s.Provider:
		has = s.Provider + " clusters"
	case c.Image != "" && c.Image != s.NodeImage:
		has = "nodes of the image " + s.NodeImage
	default:
		return c.checkSameContexts(h, s)
	}
	return otherSandbox(h, has)
}

// flags make a daemon get the choice.
func (c Choice) flags() []string {
	var flags []string
	if c.Provider != "" {
		flags = append(flags, "--provider", c.Provider)
	}
	if c.Image != "" {
		flags = append(flags, "--image", c.Image)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Contexts)) {
		flags = append(flags, "--cluster", name+"="+c.Contexts[name])
	}
	for _, file := range c.Kubeconfig {
		flags = append(flags, "--kubeconfig", file)
	}
	return flags
}

// newProvider gets the clusters of this world.
func (w *world) newProvider() providers {
	given := w.home.existingClusters(w.state, w.workshop)
	given.Renewed = w.forget
	if w.state.Provider == ProviderKind && w.state.Engine != nil {
		p := w.home.kindClusters(w.state, w.workshop)
		p.Relay = func() string { return filepath.Join(w.staged("relay")(), "relay") }
		return providers{p, given}
	}
	return providers{embeddedClusters{w}, given}
}

// providers are where the clusters of one sandbox come from.
type providers struct {
	made     cluster.Provider
	attached *attached.Provider
}

var _ cluster.Provider = providers{}

// of is the provider of one cluster.
func (p providers) of(name string) cluster.Provider {
	if p.attached.Has(name) {
		return p.attached
	}
	return p.made
}

// Units implements cluster.Provider.
func (p providers) Units(name string) []supervisor.Unit { return p.of(name).Units(name) }

// Kubeconfig implements cluster.Provider.
func (p providers) Kubeconfig(name string) string { return p.of(name).Kubeconfig(name) }

// List implements cluster.Provider.
func (p providers) List(ctx context.Context) ([]string, error) {
	made, err := p.made.List(ctx)
	given, givenErr := p.attached.List(ctx)
	made = slices.DeleteFunc(made, p.attached.Has)
	return append(made, given...), errors.Join(err, givenErr)
}

// Stop implements cluster.Provider.
func (p providers) Stop(ctx context.Context, name string) error { return p.of(name).Stop(ctx, name) }

// Delete implements cluster.Provider.
func (p providers) Delete(ctx context.Context, name string) error {
	return p.of(name).Delete(ctx, name)
}

// Logs implements cluster.Provider.
func (p providers) Logs(ctx context.Context, name, dir string) error {
	return p.of(name).Logs(ctx, name, dir)
}

// kindClusters are the clusters of a sandbox that has them of kind.
func (h Home) kindClusters(s *State, w workshop) kind.Provider {
	return kind.Provider{
		Engine: *s.Engine, ID: s.ID, Image: func() string { return s.NodeImage },
		Dir: h.Path("clusters"), Log: h.Log, Forge: s.Ports["gitea"],
		Port: func(name string) int { return s.Ports[name] },
		Publish: func(name string) map[int]int {
			if l := w.pagesListener(name); l != "" {
				return map[int]int{s.Ports[l]: argoCDNodePort}
			}
			return nil
		},
		PortsFree: func(name string) error {
			err := s.portFree(name)
			if l := w.pagesListener(name); l != "" {
				err = errors.Join(err, s.portFree(l))
			}
			return err
		},
	}
}

// pagesListener is the listener of a cluster's web pages, "" where it has none.
func (w workshop) pagesListener(name string) string {
	i := slices.IndexFunc(w.clusters, func(c clusterSpec) bool { return c.name == name && c.reconciler == argoCD })
	if i < 0 {
		return ""
	}
	return w.clusters[i].listener()
}

// providerUnits are what all clusters of a provider need.
func (w *world) providerUnits() []supervisor.Unit {
	if len(w.workshop.made(w.state)) == 0 {
		return nil
	}
	if w.state.Provider == ProviderKind {
		return []supervisor.Unit{w.unpack("relay")}
	}
	etcd := w.embedded.Etcd()
	etcd.Needs = []string{"unpack-kube"}
	return []supervisor.Unit{etcd, w.unpack(w.nodeProgram(), "unpack-kube")}
}
