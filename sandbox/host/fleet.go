package host

import (
	"context"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/fleet"
)

// Fleet are the hosts of a sandbox.
type Fleet []*Reconciler

var _ fleet.Fleet = Fleet(nil)

// Inventory implements [fleet.Reader].
func (f Fleet) Inventory(context.Context) (fleet.Snapshot, error) {
	all := fleet.Snapshot{At: time.Now().UTC(), Clusters: []fleet.Cluster{}}
	for _, r := range f {
		all.Clusters = append(all.Clusters, r.Report().Cluster())
	}
	return all, nil
}

// Observe implements [fleet.Observer]. A host that does not run is Unknown.
func (f Fleet) Observe(ctx context.Context, s fleet.Source) ([]fleet.Configuration, error) {
	return fleet.Observe(ctx, f, s)
}

// Notify has the hosts look now that follow the branch of the repository OWNER/NAME.
func (f Fleet) Notify(repository, branch string) {
	for _, r := range f {
		r.Notify(repository, branch)
	}
}
