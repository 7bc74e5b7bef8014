package sandbox

import (
	"context"
	"slices"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/daemon"
	"github.com/kalypso-dev/kalypso/sandbox/doctor"
	"github.com/kalypso-dev/kalypso/sandbox/stack"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"github.com/kalypso-dev/kalypso/scheduler/ci"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/endpoint"
	"github.com/kalypso-dev/kalypso/workshop"
)

// Cluster is a cluster of a sandbox, real or virtual.
type Cluster = stack.Cluster

// Clusters are those of the running sandbox: the real ones in the workshop's order,
// then the virtual ones by name. The error is ErrNoSandbox or ErrDown without one.
func Clusters(ctx context.Context, h Home) ([]Cluster, error) {
	return daemon.NewClient(h).Clusters(ctx)
}

// AddClusters adds clusters, each of one name, to the running sandbox, and returns
// when the real ones are ready, with how many virtual ones there are then. A real
// cluster that is not ready within the limit goes on starting, and so does it when
// ctx ends. warn gets what may go wrong since there is little memory.
//
// The error is a *usage.Error for a name that is taken, and for a cluster that cannot
// come to this sandbox, and a *PreflightError where there is no memory for it; else it
// is one of Clusters and of Restart.
func AddClusters(ctx context.Context, h Home, added []workshop.Cluster, limit time.Duration, warn func(doctor.Finding), progress func([]supervisor.Status)) (virtual int, err error) {
	began := time.Now()
	client := daemon.NewClient(h)
	if err := checkMemory(h, added, doctor.Machine(), warn); err != nil {
		return 0, err
	}
	answer, err := client.ChangeClusters(ctx, stack.ClusterRequest{Add: added}, nil)
	if err != nil || len(answer.Components) == 0 {
		return answer.Virtual, err
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	now, err := awaitReady(limited, client, selection{
		match:    func(s supervisor.Status) bool { return slices.Contains(answer.Components, s.Name) },
		progress: progress,
	})
	if err := awaited(ctx, limited, began, "the cluster", now, err); err != nil {
		return answer.Virtual, err
	}
	return answer.Virtual, mergeAgain(h)
}

// checkMemory returns a *PreflightError where there is no memory for the real ones of
// clusters that are to be added.
func checkMemory(h Home, added []workshop.Cluster, machine *doctor.System, warn func(doctor.Finding)) error {
	n := len(slices.DeleteFunc(slices.Clone(added), func(c workshop.Cluster) bool { return c.Kind == workshop.VirtualCluster }))
	if n == 0 {
		return nil
	}
	s, err := h.Load()
	if err != nil {
		return err
	}
	switch f := doctor.MemoryFor(machine, subjectOf(h, s), n); f.Severity {
	case doctor.Fatal:
		return &PreflightError{[]doctor.Finding{f}}
	case doctor.Warning:
		warn(f)
	}
	return nil
}

// RemoveClusters removes clusters from the running sandbox, with all that is on the
// real ones, and returns how many virtual ones it has then. When ctx ends first they
// go on being removed. The error is a *usage.Error for one that there is not, and
// else one of Clusters.
func RemoveClusters(ctx context.Context, h Home, names []string, progress func([]supervisor.Status)) (virtual int, err error) {
	answer, err := daemon.NewClient(h).ChangeClusters(ctx, stack.ClusterRequest{Remove: names}, progress)
	if err != nil {
		return answer.Virtual, err
	}
	return answer.Virtual, mergeAgain(h)
}

// Fleet is the sandbox's clusters, also those that are stopped, and the virtual ones. It
// makes no request yet.
func Fleet(h Home) (fleet.Reader, error) {
	s, err := h.Load()
	if err != nil {
		return nil, err
	}
	return ci.Environment{
		Kubeconfig: h.Kubeconfig(),
		Fleet:      endpoint.Client{URL: s.FleetURL(), Token: s.ArmToken()},
	}.Observer()
}
