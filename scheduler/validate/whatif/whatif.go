// Package whatif asks package plan what would be if something were different:
// where a deployment target would land that nobody has, whether a template
// parses that no cluster type names.
//
// Each answer comes from [plan.New] on a model that is made for the question,
// so that it cannot differ from what the scheduler does.
package whatif

import (
	"context"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
)

// Target describes a deployment target that need not exist.
type Target struct {
	Workload  string
	Name      string // within the workload
	Workspace string
	Labels    map[string]string
}

// object makes the Workload that has the target, in an environment.
func (t Target) object(environment string) model.Workload {
	var w model.Workload
	w.Name = t.Workload
	w.Registration.Name = t.Workload
	w.Registration.Spec.Workspace = t.Workspace
	w.Spec.DeploymentTargets = []v1alpha1.DeploymentTarget{{
		Name:        t.Name,
		Labels:      t.Labels,
		Environment: environment,
	}}
	return w
}

// Place plans a deployment target as if it were the only one of an
// environment. What is rendered for it does not matter here, so the plan has
// problems about missing templates; its target and assignments are what the
// scheduler would make of it.
func Place(ctx context.Context, env *model.Environment, t Target) (*plan.Plan, error) {
	world := &model.Environment{
		Name:         env.Name,
		ClusterTypes: env.ClusterTypes,
		Policies:     env.Policies,
		Configs:      env.Configs,
		Workloads:    []model.Workload{t.object(env.Name)},
	}
	return plan.New(ctx, world, nil)
}
