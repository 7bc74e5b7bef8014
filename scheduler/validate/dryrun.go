package validate

import (
	"context"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
)

// schemaProblems returns why a JSON schema cannot be used, whether or not an
// assignment has to satisfy it.
func schemaProblems(ctx context.Context, schema string, position model.Position) ([]plan.Problem, error) {
	env := onePair()
	env.Workloads[0].Position = position
	env.Workloads[0].Spec.ConfigSchemas = []string{schema}
	return withReason(ctx, env, plan.InvalidSchema)
}

// stop is what a template that parses says when it is executed.
const stop = "kalypso: this template parses"

// templateProblems returns why a template does not parse, whether or not a
// cluster type names it. What goes wrong only when it is executed depends on
// the assignment and is not found here.
func templateProblems(ctx context.Context, t model.Template) ([]plan.Problem, error) {
	manifests := make([]v1alpha1.Manifest, len(t.Spec.Manifests))
	for i, m := range t.Spec.Manifests {
		manifests[i] = v1alpha1.Manifest{Text: `{{ fail "` + stop + `" }}` + m.Text, Line: m.Line}
	}
	t.Spec.Manifests = manifests
	env := onePair()
	env.ClusterTypes[0].Spec.Reconciler = t.Name
	env.Templates = []model.Template{t}
	var found []plan.Problem
	problems, err := withReason(ctx, env, plan.TemplateFailed)
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
		Workloads:    make([]model.Workload, 1),
	}
	env.Workloads[0].Name, env.Workloads[0].Registration.Name = name, name
	env.Workloads[0].Spec.DeploymentTargets = []v1alpha1.DeploymentTarget{{Name: name, Environment: name}}
	env.ClusterTypes[0].Name, env.Policies[0].Name = name, name
	return env
}

// withReason plans an environment and returns the problems of one reason,
// without the pair that was made up for them.
func withReason(ctx context.Context, env *model.Environment, reason plan.Reason) ([]plan.Problem, error) {
	p, err := plan.New(ctx, env, nil)
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
