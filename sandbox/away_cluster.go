package sandbox

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

// Turn tells what StopCluster or StartCluster has found and done.
type Turn struct {
	// Changed is false where the cluster was as it is wanted already.
	Changed bool `json:"changed"`
	// Running tells whether the sandbox is up. In one that is down the wish is
	// noted for the next up.
	Running bool `json:"running"`
}

// StopCluster ends all components of one cluster and keeps them away, also in
// later starts of the sandbox, until StartCluster. The other clusters go on.
//
// The error is a *UsageError for a cluster that there is not, and
// ErrNoSandbox without a sandbox. When ctx ends first, the cluster goes on
// ending.
func StopCluster(ctx context.Context, h Home, cluster string, progress func([]supervisor.Status)) (Turn, error) {
	return turn(ctx, h, cluster, pathClusterStop, progress)
}

// StartCluster brings back a cluster that StopCluster has ended, and returns
// when all its components are ready. Errors are those of StopCluster and of
// Restart.
func StartCluster(ctx context.Context, h Home, cluster string, limit time.Duration, progress func([]supervisor.Status)) (Turn, error) {
	began := time.Now()
	waiting, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	t, err := turn(waiting, h, cluster, pathClusterStart, progress)
	var last supervisor.Status
	if err == nil && t.Running {
		last, err = openDoor(h).settleCluster(waiting, h, cluster, progress)
	}
	switch {
	case ctx.Err() != nil:
		return t, ctx.Err()
	case waiting.Err() != nil:
		what := cluster
		if last.Name != "" {
			what = last.Name
		}
		return t, &TimeoutError{what, time.Since(began), last.Reason}
	}
	return t, err
}

func turn(ctx context.Context, h Home, cluster, path string, progress func([]supervisor.Status)) (Turn, error) {
	state, err := h.LoadState()
	if err != nil {
		return Turn{}, err
	}
	if err := checkCluster(state, cluster); err != nil {
		return Turn{}, err
	}
	t := Turn{Running: true}
	own := func(all []supervisor.Status) {
		if progress != nil {
			progress(ofCluster(all, cluster))
		}
	}
	err = openDoor(h).ask(ctx, h, path+"?cluster="+url.QueryEscape(cluster), &t, own)
	if !errors.Is(err, ErrDown) {
		return t, err
	}
	t.Running = false
	err = h.quietly(ctx, func(*State) error {
		t.Changed, err = h.setAway(cluster, path == pathClusterStop)
		return err
	})
	return t, err
}

func ofCluster(all []supervisor.Status, cluster string) []supervisor.Status {
	var own []supervisor.Status
	for _, s := range all {
		if s.Group == cluster {
			own = append(own, s)
		}
	}
	return own
}

// settleCluster returns when all components of a cluster are ready, or some
// have failed, which is a *FailedError. On any other error it returns one that
// is not ready.
func (d *door) settleCluster(ctx context.Context, h Home, cluster string, progress func([]supervisor.Status)) (last supervisor.Status, err error) {
	var failed []supervisor.Status
	held := false
	err = d.follow(ctx, func(all []supervisor.Status) bool {
		own := ofCluster(all, cluster)
		if progress != nil {
			progress(own)
		}
		done := true
		failed, last, held = nil, supervisor.Status{}, false
		for _, s := range own {
			switch {
			case s.Held:
				held = true
			case s.State == supervisor.Failed:
				failed = append(failed, s)
			case s.State != supervisor.Ready:
				done = false
				if last.Name == "" || s.Reason != "" {
					last = s
				}
			}
		}
		return !done && !held && len(failed) == 0
	})
	switch {
	case errors.Is(err, errNoDaemon):
		return last, daemonDied(h)
	case err != nil:
		return last, err
	case len(failed) > 0:
		return last, &FailedError{failed}
	case held:
		return last, errors.New(cluster + " has been stopped again meanwhile")
	}
	return last, nil
}

// stopCluster is the daemon's part of StopCluster. The wish is noted first: a
// daemon that is killed now leaves the cluster away.
func (c *control) stopCluster(ctx context.Context, cluster string) (Turn, error) {
	if err := checkCluster(c.state, cluster); err != nil {
		return Turn{}, err
	}
	changed, err := c.home.setAway(cluster, true)
	if err != nil {
		return Turn{}, err
	}
	s, _ := c.runs.current()
	return Turn{Changed: changed, Running: true}, s.Stop(ctx, cluster, awayReason(cluster))
}

func (c *control) startCluster(ctx context.Context, cluster string) (Turn, error) {
	if err := checkCluster(c.state, cluster); err != nil {
		return Turn{}, err
	}
	changed, err := c.home.setAway(cluster, false)
	if err != nil {
		return Turn{}, err
	}
	s, _ := c.runs.current()
	return Turn{Changed: changed, Running: true}, s.Start(ctx, cluster)
}
