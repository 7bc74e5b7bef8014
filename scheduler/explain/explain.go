package explain

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
)

// Explain answers a question from an environment's model and the plan that was
// made from it. A question about what is not there is an [*InputError], which
// knows what there is; a plan of another environment is an error, too.
// Neither argument is changed.
func Explain(ctx context.Context, env *model.Environment, p *plan.Plan, q Query) (*Explanation, error) {
	if p.Environment != env.Name {
		return nil, fmt.Errorf("explaining environment %s: the plan is of %s", env.Name, p.Environment)
	}
	w := newWorld(env, p)
	t, err := w.target(q.Target)
	if err != nil {
		return nil, err
	}
	e := &Explanation{
		Environment:  env.Name,
		ControlPlane: Place{Repo: env.ControlPlane.Repo, Branch: env.ControlPlane.Branch},
		GitOps:       Place{Repo: env.GitOps.Repo, Branch: env.GitOps.Branch},
		ClusterTypes: len(env.ClusterTypes),
		Target:       t.explained(),
		LeftOut:      w.leftOut(),
	}
	if q.ClusterType == "" {
		e.judged(w, t, env.ClusterTypes)
		e.Problems = w.problems(t, "")
		return e, nil
	}
	c, err := w.clusterType(q.ClusterType)
	if err != nil {
		return nil, err
	}
	e.ClusterType = &ClusterType{Name: c.Name, Labels: labelsOf(c.Labels), Place: c.Position}
	e.judged(w, t, []model.ClusterType{c})
	e.Problems = w.problems(t, c.Name)
	if e.Pair, err = w.pair(ctx, t, c, len(e.Assigned) > 0); err != nil {
		return nil, err
	}
	return e, nil
}

// judged adds what the policies make of the target, and what follows from that.
func (e *Explanation) judged(w *world, t *target, clusterTypes []model.ClusterType) {
	e.Policies = w.policies(t, clusterTypes, e.ClusterType != nil)
	e.Assigned = assigned(e.Policies)
	if len(e.Assigned) == 0 {
		e.Nearest = w.nearest(t, clusterTypes)
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
func (w *world) problems(t *target, clusterType string) []Problem {
	problems := []Problem{}
	for _, p := range w.plan.Problems {
		var concerns bool
		switch {
		case p.Reason == plan.InvalidModel:
		case p.Reason == plan.Held:
			concerns = w.holds(p, t, clusterType)
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

// holds says whether a problem keeps the files of a target as they are, which
// its message alone tells.
func (w *world) holds(p plan.Problem, t *target, clusterType string) bool {
	words := strings.FieldsFunc(p.Message, func(r rune) bool { return r == ' ' || r == ',' || r == ':' })
	return slices.ContainsFunc(words, func(word string) bool {
		c, name, _ := strings.Cut(word, "/")
		return name == t.Name && (clusterType == "" || c == clusterType)
	})
}

func (w *world) leftOut() []Problem {
	errors := []Problem{}
	for _, d := range w.unread() {
		errors = append(errors, diagnostic(d))
	}
	return errors
}

func diagnostic(d model.Diagnostic) Problem {
	return Problem{
		Severity: string(d.Severity),
		Reason:   string(plan.InvalidModel),
		Place:    d.Position,
		Message:  d.Message,
		Hint:     d.Hint,
	}
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
