// Package attached lets a sandbox use clusters that the person has already, in
// place of ones that it would make.
//
// Such a cluster is a guest room. It is looked at before anything is changed; a
// record of what is put there is written before it is put there, see [inventory];
// and [Remove] takes exactly that off again, with what the reconcilers have
// applied of git. What was there before is never changed. The record lies in
// the cluster's folder and holds all that it takes to clean up, so that it
// outlives a killed daemon.
//
// Nothing runs in the cluster but what git says: Flux and Argo CD work on it
// from this machine, where they reach the forge.
package attached

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

// Provider has the clusters that a person has given to a sandbox.
type Provider struct {
	ID      string            // of the sandbox
	Dir     string            // folder for the clusters' files
	Sources map[string]Source // by cluster
	// Requirements is what the sandbox wants of a cluster.
	Requirements func(cluster string) (Requirements, error)
	// Renewed is told that a cluster has a new kubeconfig; may be nil.
	Renewed func(cluster string)

	mu          sync.Mutex
	inventories map[string]*inventory
	facts       map[string]Facts
}

var _ cluster.Provider = (*Provider)(nil)

// Has tells whether a cluster is one of these.
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

// Inventory keeps the record of one cluster.
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

// Facts returns what was found when the cluster was looked at last, false when
// that has not been yet.
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
	delete(p.inventories, name) // it remembers what is gone
	return err
}

// Logs implements cluster.Provider. The cluster's logs are not the sandbox's to
// collect.
func (p *Provider) Logs(context.Context, string, string) error { return nil }

// replaceFile writes a file in one step, so that whoever comes after a power
// cut finds the old content or the new one.
func replaceFile(file string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*") // for its owner only
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.Rename(f.Name(), file)
}
