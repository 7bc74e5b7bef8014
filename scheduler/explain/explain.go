// Package explain answers why a deployment target is where it is, why it is
// not where somebody expected it, and where each value of its configuration
// comes from.
//
// [Explain] takes what was planned from, what was planned, and a question, and
// returns an [Explanation]: plain data, for programs as JSON and for users as
// [Explanation.Text]. It reads nothing else and decides nothing by itself:
// whether a clause holds and whether a label fits, package plan says, so that
// an explanation never differs from the plan.
//
// What an explanation adds is the reason. A policy selects a target when all
// of its clauses hold, so the reason why it does not is the first clause that
// fails, with three things beside it: where the clause stands, what the object
// has instead, and what was most likely meant. A misspelling is only suspected
// where no object of the environment has what the clause wants: a cluster type
// in east-us is not a misspelt one in west-us.
package explain

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
)

// Explain answers a question from an environment's model and the plan that was
// made from it. A question about what is not there is an [*InputError], which
// knows what there is; a plan of another environment is an error, too.
// Neither argument is changed.
func Explain(ctx context.Context, env *model.Environment, p *plan.Plan, q Query) (*Explanation, error) {
	if p.Environment != env.Name {
		return nil, fmt.Errorf("explaining environment %s: the plan is of %s", env.Name, p.Environment)
	}
	x := newExplainer(env, p)
	x.present = q.Present
	t, err := x.target(q.Target)
	if err != nil {
		return nil, err
	}
	e := &Explanation{
		Environment:  env.Name,
		ControlPlane: Position{Repo: redact.URL(env.ControlPlane.Repo), Branch: env.ControlPlane.Branch},
		GitOps:       Position{Repo: redact.URL(env.GitOps.Repo), Branch: env.GitOps.Branch},
		ClusterTypes: len(env.ClusterTypes),
		Target:       t.explained(),
		LeftOut:      problemsOf(model.Errors(env.Diagnostics)),
	}
	if q.ClusterType == "" {
		e.judged(x, t, env.ClusterTypes)
		e.Problems = x.problems(t, "")
		return e, nil
	}
	c, err := x.clusterType(q.ClusterType)
	if err != nil {
		return nil, err
	}
	e.ClusterType = &ClusterType{Name: c.Name, Labels: labelsOf(c.Labels), Place: c.Position}
	e.judged(x, t, []model.ClusterType{c})
	e.Problems = x.problems(t, c.Name)
	if e.Pair, err = x.pair(ctx, t, c, len(e.Assigned) > 0); err != nil {
		return nil, err
	}
	return e, nil
}

// judged adds what the policies make of the target, and what follows from that.
func (e *Explanation) judged(x *explainer, t *target, clusterTypes []model.ClusterType) {
	e.Policies = x.policies(t, clusterTypes, e.ClusterType != nil)
	e.Assigned = assigned(e.Policies)
	if len(e.Assigned) == 0 {
		e.Nearest = x.nearest(t, clusterTypes)
	}
}

func (t *target) explained() Target {
	explained := Target{
		Name:      t.Name,
		Workload:  t.Workload,
		Workspace: t.Workspace,
		Labels:    labelsOf(t.Labels),
		Place:     t.Position,
	}
	for _, twin := range t.twins {
		explained.Twins = append(explained.Twins, twin.Position)
	}
	return explained
}

// labelsOf copies labels; none are an empty map.
func labelsOf(labels map[string]string) map[string]string {
	all := make(map[string]string, len(labels))
	maps.Copy(all, labels)
	return all
}

// problems returns the plan's problems about a target on one cluster type or,
// with "", on all, and those about the target itself. What the plan has under
// the name of a target with twins may be another's, except for that.
func (x *explainer) problems(t *target, clusterType string) []Problem {
	problems := []Problem{}
	for _, p := range x.plan.Problems {
		var concerns bool
		switch {
		case p.Reason == plan.InvalidModel:
		case p.Reason == plan.Held:
			concerns = x.holds(p, t, clusterType)
		case p.Target == "":
			concerns = p.Position == t.Position
		default:
			concerns = p.Target == t.Name && (clusterType == "" || p.ClusterType == clusterType) &&
				(len(t.twins) == 0 || p.Reason == plan.InvalidName)
		}
		if concerns {
			problems = append(problems, problem(p))
		}
	}
	return problems
}

// holds reports whether a problem keeps the files of a target as they are, which
// its message alone says.
func (x *explainer) holds(p plan.Problem, t *target, clusterType string) bool {
	words := strings.FieldsFunc(p.Message, func(r rune) bool { return r == ' ' || r == ',' || r == ':' })
	return slices.ContainsFunc(words, func(word string) bool {
		c, name, _ := strings.Cut(word, "/")
		return name == t.Name && (clusterType == "" || c == clusterType)
	})
}

// problemsOf are the diagnostics of the model as problems.
func problemsOf(diagnostics []model.Diagnostic) []Problem {
	all := []Problem{}
	for _, p := range plan.ModelProblems(diagnostics) {
		all = append(all, problem(p))
	}
	return all
}

func problem(p plan.Problem) Problem {
	return Problem{
		ClusterType: p.ClusterType,
		Severity:    string(p.Severity),
		Reason:      string(p.Reason),
		Place:       p.Position,
		Message:     p.Message,
		Hint:        p.Hint,
	}
}

type explainer struct {
	env     *model.Environment
	plan    *plan.Plan
	targets []*target         // as the plan has them
	present map[string][]byte // the files of the GitOps branch
	// What all objects of the environment say of themselves.
	ofTargets, ofClusterTypes *labelValues
}

// target is a deployment target with the workload that defines it.
type target struct {
	plan.Target
	workload model.Workload
	index    int // in the workload's deploymentTargets
	twins    []*target
}

func newExplainer(env *model.Environment, p *plan.Plan) *explainer {
	x := &explainer{env: env, plan: p}
	workloads := map[string]model.Workload{}
	for _, workload := range env.Workloads {
		workloads[workload.Name] = workload
	}
	byName := map[string][]*target{}
	for _, planned := range p.Targets {
		t := &target{Target: planned, workload: workloads[planned.Workload]}
		for i, spec := range t.workload.Spec.DeploymentTargets {
			if spec.Environment == env.Name && t.Workload+"-"+spec.Name == t.Name {
				t.index = i
			}
		}
		x.targets = append(x.targets, t)
		byName[t.Name] = append(byName[t.Name], t)
	}
	var targetSubjects, clusterTypeSubjects []subject
	for _, t := range x.targets {
		for _, other := range byName[t.Name] {
			if other != t {
				t.twins = append(t.twins, other)
			}
		}
		targetSubjects = append(targetSubjects, targetSubject(env.Name, t))
	}
	for _, c := range env.ClusterTypes {
		clusterTypeSubjects = append(clusterTypeSubjects, clusterTypeSubject(env.Name, c))
	}
	x.ofTargets, x.ofClusterTypes = labelValuesOf(targetSubjects), labelValuesOf(clusterTypeSubjects)
	return x
}

// ofConfigs holds what labels of ConfigMaps and ConfigSchemas can ask for.
func (x *explainer) ofConfigs() *labelValues {
	var subjects []subject
	for _, t := range x.targets {
		subjects = append(subjects, configSubjects(model.ClusterType{}, t)[1])
	}
	for _, c := range x.env.ClusterTypes {
		subjects = append(subjects, configSubjects(c, &target{})[0])
	}
	return labelValuesOf(subjects)
}

func (t *target) shortName() string {
	return t.Name[min(len(t.Workload)+1, len(t.Name)):]
}

func (t *target) field(path ...string) model.Position {
	return t.workload.At(append([]string{"spec", "deploymentTargets", strconv.Itoa(t.index)}, path...)...)
}

// labelAt returns where a label of the target comes from, or where one would
// be added. A workload's labels win over those of its targets, and those of
// the platform over both.
func (t *target) labelAt(key string) model.Position {
	switch key {
	case plan.WorkloadLabel:
		return t.workload.At("metadata", "name")
	case plan.WorkspaceLabel:
		return t.workload.Registration.At("spec", "workspace")
	}
	if _, ok := t.workload.Labels[key]; ok {
		return t.workload.At("metadata", "labels", key)
	}
	return t.field("labels", key)
}

// outcome is what the plan has for a pair.
type outcome struct {
	assignment plan.Assignment
	problems   []plan.Problem
	changes    []plan.Change
}

// outcome returns what comes of a pair. A pair that no policy assigns is
// planned by itself as if one did. So is a target with twins: what the plan has
// under their name may be another's.
func (x *explainer) outcome(ctx context.Context, t *target, c model.ClusterType, assigned bool) (outcome, error) {
	p := x.plan
	if !assigned || len(t.twins) > 0 {
		var err error
		if p, err = x.dryRun(ctx, t, c); err != nil {
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

// dryRun plans an environment in which there are only this target's workload,
// this cluster type, and one policy that selects all.
func (x *explainer) dryRun(ctx context.Context, t *target, c model.ClusterType) (*plan.Plan, error) {
	env := *x.env
	env.ClusterTypes = []model.ClusterType{c}
	env.Policies = []model.SchedulingPolicy{{Metadata: v1alpha1.Metadata{Name: "trial"}}}
	env.Workloads = []model.Workload{t.workload}
	return plan.New(ctx, &env, nil)
}
