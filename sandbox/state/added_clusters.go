package state

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/workshop"
)

// changesFile has the clusters that were added and removed at run time. It is part
// of the sandbox's data: a reset forgets it, and a snapshot remembers it.
const changesFile = "clusters/changes.json"

// ClusterChanges are the clusters that a sandbox has besides those of its workshop,
// and those of the workshop that it has no longer.
type ClusterChanges struct {
	Added   []workshop.Cluster `json:"added,omitempty"`
	Removed []string           `json:"removed,omitempty"`
}

// ClusterChanges returns what was added and removed.
func (h Home) ClusterChanges() (c ClusterChanges, err error) {
	b, err := os.ReadFile(h.Path(changesFile))
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return ClusterChanges{}, fmt.Errorf("%s: %w; remove the file, and the clusters are those of the workshop", h.Path(changesFile), err)
	}
	return c, nil
}

// ChangeClusters gives a sandbox the clusters of other changes than it has. They
// have ports before they are noted, and those that are removed keep theirs until
// Refresh.
func (h Home) ChangeClusters(s *State, c ClusterChanges) error {
	chosen, err := s.keepPorts(listeners(c.Real(s.workshop.Clusters)))
	if err == nil && chosen {
		err = h.Save(s)
	}
	if err != nil {
		return err
	}
	b, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if err := WriteFile(h.Path(changesFile), append(b, '\n')); err != nil {
		return err
	}
	s.setChanges(c)
	return nil
}

// Refresh reads anew what workshop and which clusters a sandbox has, as after its
// data was replaced, and keeps ports for these and for no others.
func (h Home) Refresh(s *State) error {
	c, err := h.ClusterChanges()
	if err != nil {
		return err
	}
	w, err := h.readWorkshop(s)
	if err != nil {
		return err
	}
	s.setChanges(c)
	s.mu.Lock()
	s.workshop, s.Workshop = w, w.Name
	s.mu.Unlock()
	if changed, err := s.complete(); err != nil || !changed {
		return err
	}
	return h.Save(s)
}

func (s *State) setChanges(c ClusterChanges) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes = c
}

// RemovedClusters are the embedded clusters of which something is left in the home,
// although the sandbox has them no longer.
func (h Home) RemovedClusters(s *State) ([]string, error) {
	if s.Provider != ProviderEmbedded {
		return nil, nil
	}
	entries, err := os.ReadDir(h.Path("clusters"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && e.Name() != "etcd" && !slices.Contains(s.Names(), e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Real are the real clusters of a sandbox whose workshop has these entries: those
// that are left of them, then the added ones.
func (c ClusterChanges) Real(entries []workshop.Cluster) []workshop.Cluster {
	left := slices.DeleteFunc(slices.Clone(entries), func(e workshop.Cluster) bool { return slices.Contains(c.Removed, e.Name) })
	return slices.DeleteFunc(append(left, c.Added...), func(e workshop.Cluster) bool { return !isReal(e) })
}

// isReal is whether an entry is a cluster with a Kubernetes control plane.
func isReal(e workshop.Cluster) bool {
	return cmp.Or(e.Kind, workshop.RealCluster) == workshop.RealCluster
}

// Virtual are the virtual clusters of a sandbox whose workshop has these entries,
// each of one name.
func (c ClusterChanges) Virtual(entries []workshop.Cluster) ([]workshop.Cluster, error) {
	isNot := func(e workshop.Cluster) bool { return e.Kind != workshop.VirtualCluster }
	all, err := workshop.Expand(slices.DeleteFunc(slices.Clone(entries), isNot))
	if err != nil {
		return nil, err
	}
	removed := map[string]bool{}
	for _, name := range c.Removed {
		removed[name] = true
	}
	all = slices.DeleteFunc(all, func(one workshop.Cluster) bool { return removed[one.Name] })
	return append(all, slices.DeleteFunc(slices.Clone(c.Added), isNot)...), nil
}

// Add adds clusters to those of a sandbox, which has the others. The error is a
// *usage.Error for a name that one of them has.
func (c *ClusterChanges) Add(added, others []workshop.Cluster) error {
	known := map[string]bool{}
	for _, o := range others {
		known[o.Name] = true
	}
	for _, a := range added {
		if known[a.Name] {
			return usage.Errorf("there is a cluster %s already: choose another name, or remove it with `kalypso cluster remove %[1]s`", a.Name)
		}
	}
	c.Added = append(c.Added, added...)
	return nil
}

// Remove removes clusters of a sandbox, which has these. The error is a
// *usage.Error for a name that none of them has.
func (c *ClusterChanges) Remove(names []string, has []workshop.Cluster) error {
	known := map[string]bool{}
	var all []string
	for _, o := range has {
		known[o.Name] = true
		all = append(all, o.Name)
	}
	gone := map[string]bool{}
	for _, name := range names {
		if len(all) == 0 {
			return usage.Errorf("there is no cluster %q, nor any other", name)
		}
		if !known[name] {
			return CheckName("cluster", name, all[:min(len(all), 20)])
		}
		gone[name] = true
	}
	c.Added = slices.DeleteFunc(c.Added, func(a workshop.Cluster) bool {
		is := gone[a.Name]
		delete(gone, a.Name)
		return is
	})
	for _, name := range names {
		if gone[name] { // one of the workshop's
			c.Removed = append(c.Removed, name)
		}
	}
	return nil
}
