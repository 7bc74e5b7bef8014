package driver

import (
	"context"
	"errors"
	"fmt"

	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/rollout"
)

// attempts bounds how often a command is tried while the scheduler decides something else.
const attempts = 5

// Give carries out a user's command about one of an environment's rollouts, and brings the
// waves' branches to it. It needs no scheduler that runs. It returns what was decided.
func (d *Driver) Give(ctx context.Context, c rollout.Command, env Environment, of model.Rollout, order rollout.Order) (string, error) {
	repo, ok := d.options.Forge.Repo(env.GitOps.Repo)
	if !ok {
		return "", fmt.Errorf("GitOps repository %q is not on this forge", env.GitOps.Repo)
	}
	for range attempts {
		r := &run{Driver: d, env: env, repo: repo, rollout: of, out: new(Outcome)}
		if err := r.read(ctx); err != nil {
			return "", err
		}
		if r.state == nil {
			return "", usage.Errorf("rollout %s of environment %s has not begun: branch %s of %s is not there; the scheduler makes it", of.Name, env.Name, r.stateBranch(), repo)
		}
		next, subject, err := rollout.Give(c, of, r.state, order)
		if err != nil {
			return "", err
		}
		if err := r.save(ctx, next, subject); errors.Is(err, forge.ErrMoved) {
			continue
		} else if err != nil {
			return "", err
		}
		for wave := range next.Waves {
			// one that has moved was the scheduler's doing, which does this, too
			if _, err := r.bring(ctx, wave); err != nil && !errors.Is(err, forge.ErrMoved) {
				return subject, fmt.Errorf("%s, and the scheduler does the rest: %w", subject, err)
			}
		}
		return subject, nil
	}
	return "", fmt.Errorf("branch %s of %s moves on and on: %w", rollout.StateBranch(env.Name, of.Spec.ClusterType), repo, forge.ErrMoved)
}
