package whatif

import (
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
)

// SchemaProblems returns why a JSON schema cannot be used, whether or not an
// assignment has to satisfy it.
func SchemaProblems(schema string, position model.Position) []plan.Problem {
	world := onePair()
	world.Workloads[0].Position = position
	world.Workloads[0].Spec.ConfigSchemas = []string{schema}
	return withReason(plan.New(world, nil), plan.InvalidSchema)
}

// stop is what a template that parses says when it is executed.
const stop = "kalypso: this template parses"

// TemplateProblems returns why a template does not parse, whether or not a
// cluster type names it. What goes wrong only when it is executed depends on
// the assignment and is not found here.
func TemplateProblems(t model.Template) []plan.Problem {
	manifests := make([]v1alpha1.Manifest, len(t.Spec.Manifests))
	for i, m := range t.Spec.Manifests {
		manifests[i] = v1alpha1.Manifest{Text: `{{ fail "` + stop + `" }}` + m.Text, Line: m.Line}
	}
	t.Spec.Manifests = manifests
	world := onePair()
	world.ClusterTypes[0].Spec.Reconciler = t.Name
	world.Templates = []model.Template{t}
	var found []plan.Problem
	for _, p := range withReason(plan.New(world, nil), plan.TemplateFailed) {
		if !strings.Contains(p.Message, stop) {
			found = append(found, p)
		}
	}
	return found
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

// withReason returns a plan's problems of one reason, without the pair that
// was made up for them.
func withReason(p *plan.Plan, reason plan.Reason) []plan.Problem {
	var found []plan.Problem
	for _, problem := range p.Problems {
		if problem.Reason == reason {
			problem.ClusterType, problem.Target = "", ""
			found = append(found, problem)
		}
	}
	return found
}
