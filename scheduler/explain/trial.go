package explain

import (
	"context"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
)

// outcome is what the plan has for a pair.
type outcome struct {
	assignment plan.Assignment
	problems   []plan.Problem
	changes    []plan.Change
}

// outcome returns what comes of a pair. A pair that no policy assigns is
// planned by itself as if one did. So is a target with twins: what the plan has
// under their name may be another's.
func (w *world) outcome(ctx context.Context, t *target, c model.ClusterType, assigned bool) (outcome, error) {
	p := w.plan
	if !assigned || len(t.twins) > 0 {
		var err error
		if p, err = w.trial(ctx, t, c); err != nil {
			return outcome{}, err
		}
	}
	found := outcome{changes: p.Changes}
	for _, a := range p.Assignments {
		if a.ClusterType == c.Name && a.Target == t.Name {
			found.assignment = a
		}
	}
	for _, problem := range p.Problems {
		if problem.ClusterType == c.Name && problem.Target == t.Name {
			found.problems = append(found.problems, problem)
		}
	}
	return found, nil
}

// trial plans an environment in which there are only this target's workload,
// this cluster type, and one policy that selects all.
func (w *world) trial(ctx context.Context, t *target, c model.ClusterType) (*plan.Plan, error) {
	env := *w.env
	env.ClusterTypes = []model.ClusterType{c}
	env.Policies = []model.SchedulingPolicy{{Metadata: v1alpha1.Metadata{Name: "trial"}}}
	env.Workloads = []model.Workload{t.workload}
	return plan.New(ctx, &env, nil)
}
