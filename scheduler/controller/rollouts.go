package controller

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/rollout"
	"github.com/kalypso-dev/kalypso/scheduler/rollout/driver"
)

// rolloutPrefix begins the tasks about an environment's rollouts. They are apart from the
// environment's own runs: they wait for clusters, and need no plan.
const rolloutPrefix = "/rollout/"

func rolloutTask(environment string) task { return task(rolloutPrefix + environment) }

// setRollouts notes what an environment's model says of rollouts, and has them looked at.
func (c *Controller) setRollouts(e *environment, now driver.Environment) {
	c.mu.Lock()
	defer c.mu.Unlock()
	had := len(e.rollouts.Rollouts) > 0
	if e.rollouts = now; had || len(now.Rollouts) > 0 {
		c.wake(rolloutTask(e.name))
	}
}

// rollOut does what can be done about an environment's rollouts now, and returns when it
// is to be done again, zero for when something happens.
func (c *Controller) rollOut(ctx context.Context, name string) (again time.Duration, err error) {
	c.mu.Lock()
	e := c.environments[name]
	if e == nil || e.removed {
		c.mu.Unlock()
		return 0, nil
	}
	env := e.rollouts
	c.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(ctx, runTimeout, fmt.Errorf("the rollouts of environment %s did not finish within %s", name, runTimeout))
	defer cancel()
	out, err := c.driver.Run(ctx, env)
	if ctx.Err() != nil && err != nil {
		return 0, err
	}
	for _, decision := range out.Decisions {
		c.log.Info("rollout", "environment", e.name, "decision", decision)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &e.status
	if s.Rollouts = nil; len(out.Statuses) > 0 {
		for _, one := range out.Statuses {
			s.Rollouts = append(s.Rollouts, one.Short())
		}
	}
	e.rolloutWrites = out.Writes
	failed := ""
	if err != nil {
		err = redact.Error(err)
		failed = err.Error()
	}
	if failed != "" && failed != s.RolloutError {
		c.log.Error("rollout", "environment", e.name, "error", failed)
	}
	s.RolloutError = failed
	if err != nil {
		return 0, err
	}
	for _, one := range out.Statuses {
		if one.Phase != rollout.Complete {
			again = c.options.Poll // a user's command whose webhook was lost
		}
	}
	if out.Active {
		again = c.options.Interval
	}
	if left := time.Until(out.Again); !out.Again.IsZero() && (again == 0 || left < again) {
		again = max(left, time.Second)
	}
	return again, nil
}

// rollsOut is whether an event is about the branches of an environment's rollouts.
func (e *environment) rollsOut(ev event, same func(a, b string) bool) bool {
	environment, ok := rollout.EnvironmentOf(ev.branch)
	return ok && ev.kind == branchEvent && environment == e.name && same(e.gitOps.Repo, ev.repo)
}

// rolloutOf is the environment that a task about rollouts is of.
func (t task) rolloutOf() (environment string, ok bool) {
	return strings.CutPrefix(string(t), rolloutPrefix)
}
