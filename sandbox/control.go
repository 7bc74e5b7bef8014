package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox/daemon"
	"github.com/kalypso-dev/kalypso/sandbox/snapshot"
	"github.com/kalypso-dev/kalypso/sandbox/state"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

// Restart ends a component of the running sandbox, starts it again, and returns
// it when it is ready; what needs it stays as it is. Other than of ctx's end
// the error is a *usage.Error for a name that does not exist, ErrNoSandbox or
// ErrDown without a sandbox, a *FailedError when the component fails for good,
// and a *TimeoutError when it is not ready in time. In the last case it goes on
// starting.
func Restart(ctx context.Context, h Home, component string, limit time.Duration, progress func(supervisor.Status)) (*supervisor.Status, error) {
	began := time.Now()
	client := daemon.NewClient(h)
	if err := checkComponent(ctx, client, component); err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var now []supervisor.Status
	err := client.Do(limited, daemon.PathRestart, url.Values{"component": {component}}, nil, nil)
	if err == nil {
		now, err = awaitReady(limited, client, selection{
			match: func(s supervisor.Status) bool { return s.Name == component },
			progress: func(all []supervisor.Status) {
				if progress != nil && len(all) > 0 {
					progress(all[0])
				}
			},
		})
	}
	if err := awaited(ctx, limited, began, component, now, err); err != nil {
		return nil, err
	}
	if now[0].Held {
		return nil, fmt.Errorf("%s has been stopped meanwhile: %s", component, now[0].Reason)
	}
	return &now[0], nil
}

// checkComponent returns nil for a component of the running sandbox.
func checkComponent(ctx context.Context, client *daemon.Client, component string) error {
	all, err := client.Components(ctx)
	if err != nil {
		return err
	}
	if component == "daemon" {
		return usage.Errorf("the daemon is restarted with all that it runs, by `kalypso down` and `kalypso up`")
	}
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = s.Name
	}
	return state.CheckName("component", component, names)
}

// ClusterChange is the result of StopCluster and StartCluster.
type ClusterChange = daemon.ClusterChange

// StopCluster ends all components of one cluster and keeps them stopped, also in
// later starts of the sandbox, until StartCluster. The other clusters go on.
//
// The error is a *usage.Error for a cluster that does not exist, and
// ErrNoSandbox without a sandbox. When ctx ends first, the cluster goes on
// ending.
func StopCluster(ctx context.Context, h Home, cluster string, progress func([]supervisor.Status)) (ClusterChange, error) {
	return changeCluster(ctx, h, cluster, daemon.PathClusterStop, progress)
}

// StartCluster starts a cluster that StopCluster has ended, and returns when all
// its components are ready. Errors are those of StopCluster and of Restart.
func StartCluster(ctx context.Context, h Home, cluster string, limit time.Duration, progress func([]supervisor.Status)) (ClusterChange, error) {
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c, err := changeCluster(limited, h, cluster, daemon.PathClusterStart, progress)
	var now []supervisor.Status
	if err == nil && c.Running {
		now, err = awaitReady(limited, daemon.NewClient(h), selection{match: ofCluster(cluster), progress: progress})
	}
	if err := awaited(ctx, limited, began, cluster, now, err); err != nil {
		return c, err
	}
	for _, s := range now {
		if s.Held {
			return c, errors.New(cluster + " has been stopped again meanwhile")
		}
	}
	return c, nil
}

func ofCluster(cluster string) func(supervisor.Status) bool {
	return func(s supervisor.Status) bool { return s.Group == cluster }
}

func changeCluster(ctx context.Context, h Home, cluster, path string, progress func([]supervisor.Status)) (c ClusterChange, err error) {
	s, err := h.Load()
	if err != nil {
		return c, err
	}
	if err := s.CheckCluster(cluster); err != nil {
		return c, err
	}
	err = daemon.NewClient(h).Do(ctx, path, url.Values{"cluster": {cluster}}, &c, func(all []supervisor.Status) {
		if progress == nil {
			return
		}
		var own []supervisor.Status
		for _, s := range all {
			if s.Group == cluster {
				own = append(own, s)
			}
		}
		progress(own)
	})
	if errors.Is(err, ErrDown) {
		err = h.WithDaemonStopped(ctx, func(*state.State) error {
			c.Changed, err = h.SetStopped(cluster, path == daemon.PathClusterStop)
			return err
		})
	}
	return c, err
}

// Reset brings the sandbox back to the workshop's beginning: the forge, the
// clusters' objects, the scheduler and the reconcilers are made anew. Ports,
// URLs, passwords, kubeconfigs and snapshots stay. It returns when all is
// ready. A sandbox that is down stays down, and ran is false: it is new when
// it comes up.
//
// Errors are those of Up, and ErrNoSandbox. When ctx ends first, the sandbox
// goes on.
func Reset(ctx context.Context, h Home, progress func([]supervisor.Status)) (ran bool, err error) {
	return replaceData(ctx, h, daemon.PathReset, nil, progress, func() error { return daemon.ResetData(h, false) })
}

// Renew is Reset to the beginning of the sandbox's workshop as it is now, where the
// choice names it. Trust is asked before anything is changed.
//
// Errors are those of Reset, and a *usage.Error for another workshop than that of
// the sandbox.
func Renew(ctx context.Context, o Options) (ran bool, err error) {
	scratch, err := os.MkdirTemp("", "kalypso-workshop-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(scratch)
	if err := o.Choice.Open(ctx, scratch); err != nil {
		return false, err
	}
	if err := o.Choice.CheckRenewal(o.Home); err != nil {
		return false, err
	}
	if err := o.Trust(o.Choice.Foreign()); err != nil {
		return false, err
	}
	if err := o.Home.CopyWorkshop(ctx, o.Choice); err != nil {
		return false, err
	}
	ran, err = replaceData(ctx, o.Home, daemon.PathRenew, nil, o.Progress, func() error { return daemon.ResetData(o.Home, true) })
	if err != nil || !ran {
		return ran, err
	}
	return ran, mergeAgain(o.Home) // the clusters may be others
}

// LoadSnapshot brings back the data of a snapshot in place of what there is,
// and returns when all is ready. A sandbox that is down stays down, and ran is
// false: it is as saved when it comes up.
//
// The error is a *usage.Error for a snapshot that does not exist or is another
// sandbox's, ErrNoSandbox without a sandbox, or one of Up's. When ctx ends
// first, the sandbox goes on.
func LoadSnapshot(ctx context.Context, h Home, name string, progress func([]supervisor.Status)) (ran bool, err error) {
	if _, err := snapshot.Find(h, name); err != nil {
		return false, err
	}
	return replaceData(ctx, h, daemon.PathSnapshotLoad, url.Values{"name": {name}}, progress, func() error {
		staged, err := snapshot.Unpack(ctx, h, name)
		if err != nil {
			return err
		}
		return snapshot.Load(h, name, staged)
	})
}

// replaceData lets the daemon replace data, or does it where none runs.
func replaceData(ctx context.Context, h Home, path string, query url.Values, progress func([]supervisor.Status), whenDown func() error) (ran bool, err error) {
	client := daemon.NewClient(h)
	err = client.Do(ctx, path, query, nil, progress)
	switch {
	case errors.Is(err, ErrDown):
		return false, h.WithDaemonStopped(ctx, func(*state.State) error { return whenDown() })
	case err != nil:
		return true, err
	}
	_, err = awaitReady(ctx, client, selection{progress: progress})
	return true, err
}

// SaveSnapshot keeps the data of this instant under a name. The sandbox goes
// on running; for how long it was stopped is in the result. Of a sandbox that is
// down it keeps what is on disk.
//
// The error is a *usage.Error for a name that is no name or is taken, and
// ErrNoSandbox without a sandbox.
func SaveSnapshot(ctx context.Context, h Home, name, version string) (saved *snapshot.Snapshot, err error) {
	s, err := h.Load()
	if err != nil {
		return nil, err
	}
	if err := snapshot.CheckSave(h, s, name); err != nil {
		return nil, err
	}
	err = daemon.NewClient(h).Do(ctx, daemon.PathSnapshotSave, url.Values{"name": {name}}, &saved, nil)
	if errors.Is(err, ErrDown) {
		err = h.WithDaemonStopped(ctx, func(s *state.State) error {
			saved, err = snapshot.Save(ctx, h, s, name, version, nil)
			return err
		})
	}
	return saved, err
}
