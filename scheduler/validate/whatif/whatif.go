// Package whatif asks package plan what would be if something were different:
// where a deployment target would land that nobody has, whether a template
// parses that no cluster type names.
//
// Each answer comes from [plan.New] on a model that is made for the question,
// so that it cannot differ from what the scheduler does.
package whatif

import (
	"context"
	"strings"

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

// SchemaProblems returns why a JSON schema cannot be used, whether or not an
// assignment has to satisfy it.
func SchemaProblems(ctx context.Context, schema string, position model.Position) ([]plan.Problem, error) {
	world := onePair()
	world.Workloads[0].Position = position
	world.Workloads[0].Spec.ConfigSchemas = []string{schema}
	return withReason(ctx, world, plan.InvalidSchema)
}

// stop is what a template that parses says when it is executed.
const stop = "kalypso: this template parses"

// TemplateProblems returns why a template does not parse, whether or not a
// cluster type names it. What goes wrong only when it is executed depends on
// the assignment and is not found here.
func TemplateProblems(ctx context.Context, t model.Template) ([]plan.Problem, error) {
	manifests := make([]v1alpha1.Manifest, len(t.Spec.Manifests))
	for i, m := range t.Spec.Manifests {
		manifests[i] = v1alpha1.Manifest{Text: `{{ fail "` + stop + `" }}` + m.Text, Line: m.Line}
	}
	t.Spec.Manifests = manifests
	world := onePair()
	world.ClusterTypes[0].Spec.Reconciler = t.Name
	world.Templates = []model.Template{t}
	var found []plan.Problem
	problems, err := withReason(ctx, world, plan.TemplateFailed)
	for _, p := range problems {
		if !strings.Contains(p.Message, stop) {
			found = append(found, p)
		}
	}
	return found, err
}

// onePair is an environment with one assignment and nothing else.
func onePair() *model.Environment {
	const name = "what-if"
	env := &model.Environment{
		Name:         name,
		ClusterTypes: make([]model.ClusterType, 1),
		Policies:     make([]model.SchedulingPolicy, 1),
		Workloads:    []model.Workload{Target{Workload: name, Name: name}.object(name)},
	}
	env.ClusterTypes[0].Name, env.Policies[0].Name = name, name
	return env
}

// withReason plans an environment and returns the problems of one reason,
// without the pair that was made up for them.
func withReason(ctx context.Context, world *model.Environment, reason plan.Reason) ([]plan.Problem, error) {
	p, err := plan.New(ctx, world, nil)
	if err != nil {
		return nil, err
	}
	var found []plan.Problem
	for _, problem := range p.Problems {
		if problem.Reason == reason {
			problem.ClusterType, problem.Target = "", ""
			found = append(found, problem)
		}
	}
	return found, nil
}
