package policytest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/validate/clause"
	"github.com/kalypso-dev/kalypso/scheduler/validate/whatif"
)

// Result is a test that was run in an environment.
type Result struct {
	Test        Test
	Environment string
	Failures    []Failure // none: it passed
}

// Failure is one expectation that does not hold.
type Failure struct {
	Position model.Position // of the expectation
	Message  string
	Reason   string // why it is not as expected, "" when there is no more to say
}

// Run runs the tests that are for an environment, in their order. The plan is
// that of the environment.
func Run(ctx context.Context, tests []Test, env *model.Environment, p *plan.Plan, explain Explainer) ([]Result, error) {
	if explain == nil {
		explain = NearestPolicy
	}
	var results []Result
	for _, t := range tests {
		if t.Environment.Text != "" && t.Environment.Text != env.Name {
			continue
		}
		r := &run{test: t, env: env, explain: explain}
		r.result = Result{Test: t, Environment: env.Name}
		found, err := r.place(ctx, p)
		if err != nil {
			return nil, err
		}
		if found {
			r.check()
		}
		results = append(results, r.result)
	}
	return results, nil
}

// run is one test while it is run.
type run struct {
	test    Test
	env     *model.Environment
	explain Explainer
	result  Result

	target plan.Target
	placed map[string]plan.Assignment // by cluster type
}

func (r *run) fail(at model.Position, reason, format string, args ...any) {
	r.result.Failures = append(r.result.Failures, Failure{Position: at, Message: fmt.Sprintf(format, args...), Reason: reason})
}

// place finds out where the target lands. It returns false when there is no
// such target.
func (r *run) place(ctx context.Context, p *plan.Plan) (bool, error) {
	name := r.test.Target.Text
	if name == "" {
		var err error
		if p, err = whatif.Place(ctx, r.env, r.test.Hypothetical); err != nil {
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
	r.placed = map[string]plan.Assignment{}
	for _, a := range p.Assignments {
		if a.Target == name {
			r.placed[a.ClusterType] = a
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
	if _, on := r.placed[n.Text]; !on {
		r.fail(n.Position, r.explain(r.env, r.target, *c), "%s is not on %s", r.test.target(), n.Text)
	}
}

func (r *run) notOn(clusterType string, at model.Position) {
	if a, on := r.placed[clusterType]; on {
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
