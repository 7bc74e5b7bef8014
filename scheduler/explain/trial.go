package explain

import (
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
func (w *world) outcome(t *target, c model.ClusterType, assigned bool) outcome {
	p := w.plan
	if !assigned || len(t.twins) > 0 {
		p = w.trial(t, c)
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
	return found
}

// trial plans an environment in which there are only this target's workload,
// this cluster type, and one policy that selects all.
func (w *world) trial(t *target, c model.ClusterType) *plan.Plan {
	env := *w.env
	env.ClusterTypes = []model.ClusterType{c}
	env.Policies = []model.SchedulingPolicy{{Metadata: v1alpha1.Metadata{Name: "trial"}}}
	env.Workloads = []model.Workload{t.workload}
	return plan.New(&env, nil)
}
