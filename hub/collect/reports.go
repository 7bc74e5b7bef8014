package collect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
)

const (
	// ReportsInterval is how often the reports of agents are looked at: another hub on the same
	// database may have received them, and silence wakes nobody.
	ReportsInterval = 2 * time.Second
	// silentIntervals is how many of its intervals an agent may be silent.
	silentIntervals = 3
)

// reported is the part of the fleet whose clusters report of themselves, by the agents in them.
type reported struct {
	store *store.Store
	// expected are the clusters that have a token, whether they have reported or not.
	expected func(context.Context) ([]string, error)
	reports  *store.Reports
}

// Reported is a fleet.Reader of what the agents of clusters have reported last. Those that expected
// names have a token; what others have reported before they lost theirs is not shown.
func Reported(s *store.Store, expected func(context.Context) ([]string, error)) fleet.Reader {
	return &reported{s, expected, s.Reports()}
}

// Inventory implements fleet.Reader. A cluster whose agent is silent is Unknown.
func (r *reported) Inventory(ctx context.Context) (fleet.Snapshot, error) {
	names, err := r.expected(ctx)
	if err != nil {
		return fleet.Snapshot{}, err
	}
	all, err := r.reports.Read(ctx)
	if err != nil {
		return fleet.Snapshot{}, err
	}
	now := time.Now().UTC()
	snapshot := fleet.Snapshot{At: now, Clusters: []fleet.Cluster{}}
	for _, name := range names {
		one, ok := all[name]
		if !ok {
			snapshot.Clusters = append(snapshot.Clusters, fleet.UnknownCluster(name, errNoReport))
			continue
		}
		one.LastSeen = one.Received
		one.Subscriptions = slices.Clone(one.Subscriptions)
		if silent := now.Sub(one.Received); silent > silentIntervals*one.Interval {
			one.Forget(fmt.Sprintf("its agent has not reported since %s", one.Received.Format(time.RFC3339)))
		}
		snapshot.Clusters = append(snapshot.Clusters, one.Cluster)
	}
	slices.SortFunc(snapshot.Clusters, func(a, b fleet.Cluster) int { return cmp.Compare(a.Name, b.Name) })
	return snapshot, nil
}

// errNoReport is why a cluster is unknown whose token was never used.
var errNoReport = errors.New("its agent has not reported yet")

// Wake has a part of the fleet looked at now.
func (c *Collector) Wake(part string) {
	for _, f := range c.fleet {
		if f.Name == part {
			notify(f.source.wake)
		}
	}
}
