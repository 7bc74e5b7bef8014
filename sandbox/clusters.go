package sandbox

import (
	"context"

	"github.com/kalypso-dev/kalypso/sandbox/daemon"
	"github.com/kalypso-dev/kalypso/sandbox/stack"
	"github.com/kalypso-dev/kalypso/workshop"
)

// Cluster is a cluster of a sandbox, real or virtual.
type Cluster = stack.Cluster

// Clusters are those of the running sandbox: the real ones in the workshop's order,
// then the virtual ones by name. The error is ErrNoSandbox or ErrDown without one.
func Clusters(ctx context.Context, h Home) ([]Cluster, error) {
	return daemon.NewClient(h).Clusters(ctx)
}

// AddClusters adds virtual clusters, each of one name, to the running sandbox, and
// returns how many it has then. The error is a *usage.Error for a name that is
// taken, and else one of Clusters.
func AddClusters(ctx context.Context, h Home, added []workshop.Cluster) (int, error) {
	answer, err := daemon.NewClient(h).ChangeClusters(ctx, stack.ClusterRequest{Add: added})
	return answer.Virtual, err
}

// RemoveClusters removes virtual clusters from the running sandbox, and returns how
// many it has then. The error is a *usage.Error for one that there is not, and else
// one of Clusters.
func RemoveClusters(ctx context.Context, h Home, names []string) (int, error) {
	answer, err := daemon.NewClient(h).ChangeClusters(ctx, stack.ClusterRequest{Remove: names})
	return answer.Virtual, err
}
