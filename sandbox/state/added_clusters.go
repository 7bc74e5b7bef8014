package state

import (
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

// SetClusterChanges writes them.
func (h Home) SetClusterChanges(c ClusterChanges) error {
	b, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return WriteFile(h.Path(changesFile), append(b, '\n'))
}

// Of returns the virtual clusters of a sandbox whose workshop has these entries,
// by name.
func (c ClusterChanges) Of(entries []workshop.Cluster) ([]workshop.Cluster, error) {
	all, err := workshop.Expand(slices.DeleteFunc(slices.Clone(entries), func(e workshop.Cluster) bool { return e.Kind != workshop.VirtualCluster }))
	if err != nil {
		return nil, err
	}
	removed := map[string]bool{}
	for _, name := range c.Removed {
		removed[name] = true
	}
	all = slices.DeleteFunc(all, func(one workshop.Cluster) bool { return removed[one.Name] })
	return append(all, c.Added...), nil
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

// Remove removes virtual clusters of a sandbox, which has these. The error is a
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
			return usage.Errorf("there is no virtual cluster %q, nor any other: `kalypso cluster list` has all clusters", name)
		}
		if !known[name] {
			return CheckName("virtual cluster", name, all[:min(len(all), 20)])
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
