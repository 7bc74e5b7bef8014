// Package attached lets a sandbox use clusters that the user has already,
// instead of clusters that it creates.
//
// A preflight checks such a cluster before anything is changed. Each object is
// written to an inventory file before it is applied, see [inventory], and
// [Remove] deletes exactly these objects, and those that the reconcilers have
// applied from git. Foreign objects, which were there before, are never changed.
// The inventory file is in the cluster's folder and has all that a removal
// needs, so that it outlives a killed daemon.
//
// Only the workloads from git run in the cluster: Flux and Argo CD work on it
// from this machine, where they reach the forge.
package attached

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/kalypso-dev/kalypso/internal/atomicfile"
	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

// Provider has the attached clusters of a sandbox.
type Provider struct {
	ID      string            // of the sandbox
	Dir     string            // folder for the clusters' files
	Sources map[string]Source // by cluster
	// Requirements returns what the sandbox needs of a cluster.
	Requirements func(cluster string) (Requirements, error)
	// Renewed is called when a cluster has a new kubeconfig; may be nil.
	Renewed func(cluster string)

	mu          sync.Mutex
	inventories map[string]*inventory
	facts       map[string]Facts
}

var _ cluster.Provider = (*Provider)(nil)

// Has reports whether a cluster is attached.
func (p *Provider) Has(name string) bool {
	_, ok := p.Sources[name]
	return ok
}

// Units implements cluster.Provider.
func (p *Provider) Units(name string) []supervisor.Unit {
	v := attachment{p, name, p.Sources[name]}
	return []supervisor.Unit{{
		Name: name, Title: "existing Kubernetes cluster " + name, Deadline: attachDeadline,
		Component: &supervisor.Background{Run: v.run, Check: v.answers},
	}}
}

// Kubeconfig implements cluster.Provider.
func (p *Provider) Kubeconfig(name string) string {
	return filepath.Join(p.Dir, name, "admin.kubeconfig")
}

// Inventory is the inventory of one cluster.
func (p *Provider) Inventory(name string) cluster.Inventory { return p.inventory(name) }

func (p *Provider) inventory(name string) *inventory {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.inventories[name] == nil {
		if p.inventories == nil {
			p.inventories = map[string]*inventory{}
		}
		p.inventories[name] = &inventory{file: RecordFile(p.Dir, name), id: p.ID, source: p.Sources[name]}
	}
	return p.inventories[name]
}

// Facts returns what the last preflight of a cluster has found, false when there
// was none yet.
func (p *Provider) Facts(name string) (Facts, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f, ok := p.facts[name]
	return f, ok
}

func (p *Provider) setFacts(name string, f Facts) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.facts == nil {
		p.facts = map[string]Facts{}
	}
	p.facts[name] = f
}

// List implements cluster.Provider.
func (p *Provider) List(context.Context) ([]string, error) {
	var all []string
	for name := range p.Sources {
		if _, err := os.Stat(filepath.Join(p.Dir, name)); err == nil {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all, nil
}

// Stop implements cluster.Provider. The cluster goes on, as it did before, and
// what was put there stays until it is deleted.
func (p *Provider) Stop(context.Context, string) error { return nil }

// Delete implements cluster.Provider: it removes what was put on the cluster,
// and lets the cluster be.
func (p *Provider) Delete(ctx context.Context, name string) error {
	_, err := Remove(ctx, RecordFile(p.Dir, name), nil)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.inventories, name) // its objects are gone
	return err
}

// Logs implements cluster.Provider. The cluster's logs are not the sandbox's to
// collect.
func (p *Provider) Logs(context.Context, string, string) error { return nil }

// replaceFile writes a file atomically: after a power cut it has the old content
// or the new one.
func replaceFile(file string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return atomicfile.Write(file, content, 0o600)
}
