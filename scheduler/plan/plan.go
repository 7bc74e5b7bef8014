package plan

import (
	"context"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// New plans an environment against the present content of its GitOps branch.
// A nil gitops, or one without files, is an empty branch. Neither argument is
// changed, and the plan's content must not be either.
//
// New decides and does nothing else: it reads no clock, no file and no
// network, and the same input gives the same plan, byte for byte. One
// assignment's trouble never stops another: it becomes a Problem, and that
// assignment's files stay as they are on the branch. The only error is that ctx
// has ended: then there is no plan.
func New(ctx context.Context, env *model.Environment, gitops *model.Tree) (*Plan, error) {
	return new(Planner).New(ctx, env, gitops)
}

// plan puts a plan together.
func (s *state) plan() *Plan {
	p := &Plan{
		Environment: s.env.Name,
		GitOps:      s.env.GitOps,
		Promoted:    s.env.Promoted,
		Incomplete:  s.env.Incomplete,
	}
	if s.branch.tree != nil {
		p.GitOpsHead = s.branch.tree.Commit
	}
	if all := s.targets.sorted; len(all) > 0 {
		p.Targets = make([]Target, len(all))
		inParallel(len(all), func(i int) { p.Targets[i] = all[i].Target })
	}
	p.Problems = append(p.Problems, unassignedProblems(s)...)
	p.Problems = append(p.Problems, namespaceTwins(s)...)
	outputs := s.outputs()
	var kept []string
	held := false
	for _, o := range outputs {
		p.Problems = append(p.Problems, o.problems...)
		kept = append(kept, o.kept...)
		held = held || o.held
	}
	p.Problems = append(p.Problems, environmentProblems(s.env, held || len(kept) > 0)...)
	if len(kept) > 0 {
		p.Problems = append(p.Problems, keptProblem(s.branch, kept))
	}
	slices.SortFunc(p.Problems, compareProblems)
	p.Problems = slices.Compact(p.Problems)
	if s.env.GitOps.Repo != "" {
		p.Changes = concat(outputs, func(o *output) []Change { return o.changes })
		p.files = func() map[string][]byte { return filesOf(outputs) }
	}
	byName := slices.SortedFunc(slices.Values(outputs), func(a, b *output) int { return strings.Compare(a.name, b.name) })
	p.Assignments = concat(byName, func(o *output) []Assignment { return o.assignments })
	return p
}

// concat puts lists together, of which a fleet has long ones.
func concat[T any](outputs []*output, list func(*output) []T) []T {
	ends := make([]int, len(outputs))
	n := 0
	for i, o := range outputs {
		n += len(list(o))
		ends[i] = n
	}
	if n == 0 {
		return nil
	}
	all := make([]T, n)
	inParallel(len(outputs), func(i int) {
		part := list(outputs[i])
		copy(all[ends[i]-len(part):], part)
	})
	return all
}

// outputs returns all folders that are wanted or were written before, in the
// order of their paths.
func (s *state) outputs() []*output {
	outputs := make([]*output, 0, len(s.rows)+1)
	for _, r := range s.rows {
		outputs = append(outputs, &r.output)
	}
	for name, f := range s.branch.folders {
		if s.rows[name] == nil {
			outputs = append(outputs, unplanned(s.branch, name, f))
		}
	}
	if s.env.Promoted != "" {
		outputs = append(outputs, promotion(s.branch, s.env.Promoted))
	}
	slices.SortFunc(outputs, func(a, b *output) int { return strings.Compare(a.path, b.path) })
	return outputs
}
