package policytest

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/clause"
	"github.com/kalypso-dev/kalypso/scheduler/expression"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
	"go.yaml.in/yaml/v3"
)

// Result is a test that was run in an environment.
type Result struct {
	Name        string         `json:"name"`
	Environment string         `json:"environment"`
	Position    model.Position `json:"position"`
	Passed      bool           `json:"passed"`
	Failures    []Failure      `json:"failures,omitempty"` // none: it passed
}

// Failure is one expectation that does not hold.
type Failure struct {
	Position model.Position `json:"position"` // of the expectation
	Message  string         `json:"message"`
	Reason   string         `json:"reason,omitempty"` // why it is not as expected, "" when there is no more to say
}

// Run runs the tests that are for an environment, in their order. The plan is
// that of the environment.
func Run(ctx context.Context, tests []Test, env *model.Environment, p *plan.Plan) ([]Result, error) {
	var results []Result
	for _, t := range tests {
		if t.Environment.Text != "" && t.Environment.Text != env.Name {
			continue
		}
		r := &run{test: t, env: env}
		found, err := r.resolve(ctx, p)
		if err != nil {
			return nil, err
		}
		if found {
			r.check()
		}
		results = append(results, Result{
			Name: t.Name, Environment: env.Name, Position: t.Position,
			Passed: len(r.failures) == 0, Failures: r.failures,
		})
	}
	return results, nil
}

type run struct {
	test     Test
	env      *model.Environment
	failures []Failure

	target   plan.Target
	assigned map[string]plan.Assignment // by cluster type
}

func (r *run) fail(at model.Position, reason, format string, args ...any) {
	r.failures = append(r.failures, Failure{Position: at, Message: fmt.Sprintf(format, args...), Reason: reason})
}

// resolve finds the target and its assignments. It returns false when there is no
// such target.
func (r *run) resolve(ctx context.Context, p *plan.Plan) (bool, error) {
	name := r.test.Target.Text
	if name == "" {
		var err error
		if p, err = dryRun(ctx, r.env, r.test.Hypothetical); err != nil {
			return false, err
		}
		name = p.Targets[0].Name
	}
	var names []string
	found := false
	for _, t := range p.Targets {
		names = append(names, t.Name)
		if t.Name == name {
			r.target, found = t, true
		}
	}
	if !found {
		r.fail(r.test.Target.Position, clause.Suggest([]string{name}, "deployment targets are", names),
			"there is no deployment target %s", name)
		return false, nil
	}
	r.assigned = map[string]plan.Assignment{}
	for _, a := range p.Assignments {
		if a.Target == name {
			r.assigned[a.ClusterType] = a
		}
	}
	return true, nil
}

func (r *run) check() {
	for _, n := range r.test.On {
		r.on(n)
	}
	for _, n := range r.test.NotOn {
		if r.clusterType(n.Text, n.Position) != nil {
			r.notOn(n.Text, n.Position)
		}
	}
	if r.test.OnlyOnAt.Line > 0 {
		r.onlyOn()
	}
	for _, c := range r.test.Config {
		r.config(c)
	}
}

// clusterType returns the cluster type of that name. One that does not exist
// is a failure even of notOn: the expectation would hold for ever.
func (r *run) clusterType(name string, at model.Position) *model.ClusterType {
	var names []string
	for i := range r.env.ClusterTypes {
		if r.env.ClusterTypes[i].Name == name {
			return &r.env.ClusterTypes[i]
		}
		names = append(names, r.env.ClusterTypes[i].Name)
	}
	r.fail(at, clause.Suggest([]string{name}, "cluster types are", names), "there is no cluster type %s", name)
	return nil
}

func (r *run) on(n Name) {
	c := r.clusterType(n.Text, n.Position)
	if c == nil {
		return
	}
	if _, on := r.assigned[n.Text]; !on {
		r.fail(n.Position, nearestPolicy(r.env, r.target, *c), "%s is not on %s", r.test.target(), n.Text)
	}
}

func (r *run) notOn(clusterType string, at model.Position) {
	if a, on := r.assigned[clusterType]; on {
		r.fail(at, r.policies(a), "%s is on %s", r.test.target(), clusterType)
	}
}

// policies says which policies made an assignment, and where they stand.
func (r *run) policies(a plan.Assignment) string {
	var list []string
	for _, p := range r.env.Policies {
		if slices.Contains(a.Policies, p.Name) {
			list = append(list, fmt.Sprintf("%s (%s)", p.Name, p.Position))
		}
	}
	if len(list) == 1 {
		return "policy " + list[0] + " selects both"
	}
	return "policies " + strings.Join(list, " and ") + " select both"
}

// onlyOn wants the target on these cluster types and on no other.
func (r *run) onlyOn() {
	for _, n := range r.test.OnlyOn {
		r.on(n)
	}
	for _, c := range r.env.ClusterTypes {
		if !slices.ContainsFunc(r.test.OnlyOn, func(n Name) bool { return n.Text == c.Name }) {
			r.notOn(c.Name, r.test.OnlyOnAt)
		}
	}
}

func (r *run) config(want Config) {
	c := r.clusterType(want.ClusterType, want.Position)
	if c == nil {
		return
	}
	assignment, on := r.assigned[want.ClusterType]
	if !on {
		r.fail(want.Position, nearestPolicy(r.env, r.target, *c), "%s is not on %s, so it has no %s there", r.test.target(), want.ClusterType, want.Key)
		return
	}
	var keys []string
	for _, got := range assignment.Config {
		keys = append(keys, got.Key)
		if got.Key != want.Key {
			continue
		}
		switch from := fmt.Sprintf("it comes from ConfigMap %s (%s)", got.Source.ConfigMap, got.Source.Position); {
		case want.Absent:
			r.fail(want.Position, from, "%s is %q on %s, and should not be set", want.Key, got.Value, want.ClusterType)
		case !equal(want, got):
			r.fail(want.Position, from, "%s is %q on %s, not %q", want.Key, got.Value, want.ClusterType, want.Value)
		}
		return
	}
	if !want.Absent {
		r.fail(want.Position, clause.Suggest([]string{want.Key}, "keys are", keys), "%s is not set on %s", want.Key, want.ClusterType)
	}
}

// equal compares texts as they are, and maps and lists by what they hold.
func equal(want Config, got plan.ConfigValue) bool {
	if !want.Structured {
		return want.Value == got.Value
	}
	var a, b any
	if yaml.Unmarshal([]byte(want.Value), &a) != nil || yaml.Unmarshal([]byte(got.Value), &b) != nil {
		return false
	}
	return reflect.DeepEqual(a, b)
}

// nearestPolicy says why a deployment target is not on a cluster type: it names
// the policy that comes nearest to selecting both, and what of it does not fit.
func nearestPolicy(env *model.Environment, target plan.Target, clusterType model.ClusterType) string {
	best, nearest := []string(nil), (*model.SchedulingPolicy)(nil)
	for i := range env.Policies {
		p := &env.Policies[i]
		unmet := unmetClauses(*p, plan.TargetObject(env.Name, &target), plan.ClusterTypeObject(env.Name, &clusterType))
		if len(unmet) > 0 && (nearest == nil || len(unmet) < len(best)) {
			best, nearest = unmet, p
		}
	}
	if nearest == nil {
		return "there are no policies"
	}
	return fmt.Sprintf("policy %s (%s) comes nearest, but %s", nearest.Name, nearest.Position, strings.Join(best, "; "))
}

// unmetClauses says what keeps a policy from selecting a pair.
func unmetClauses(p model.SchedulingPolicy, target, clusterType *expression.Object) []string {
	var unmet []string
	selector := p.Spec.DeploymentTargetSelector
	if selector.Workspace != "" && selector.Workspace != target.Workspace {
		has := "none"
		if target.Workspace != "" {
			has = target.Workspace
		}
		unmet = append(unmet, fmt.Sprintf("it wants workspace %s, and the target's is %s", selector.Workspace, has))
	}
	for _, c := range clause.Unmet(plan.TargetSelector(p), target) {
		unmet = append(unmet, fmt.Sprintf("it wants %s, and the target has %s", c, c.Has(target)))
	}
	for _, c := range clause.Unmet(plan.ClusterTypeSelector(p), clusterType) {
		unmet = append(unmet, fmt.Sprintf("it wants %s, and cluster type %s has %s", c, clusterType.Name, c.Has(clusterType)))
	}
	return unmet
}

// dryRun plans a deployment target as if it were the only one of an
// environment. What is rendered for it does not matter here, so the plan has
// problems about missing templates; its target and assignments are what the
// scheduler would make of it.
func dryRun(ctx context.Context, env *model.Environment, t HypotheticalTarget) (*plan.Plan, error) {
	var w model.Workload
	w.Name, w.Registration.Name = t.Workload, t.Workload
	w.Registration.Spec.Workspace = t.Workspace
	w.Spec.DeploymentTargets = []v1alpha1.DeploymentTarget{{Name: t.Name, Labels: t.Labels, Environment: env.Name}}
	return plan.New(ctx, &model.Environment{
		Name:         env.Name,
		ClusterTypes: env.ClusterTypes,
		Policies:     env.Policies,
		Configs:      env.Configs,
		Workloads:    []model.Workload{w},
	}, nil)
}
