package plan

import (
	"slices"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// New plans an environment against the present content of its GitOps branch.
// A nil gitops, or one without files, is an empty branch. Neither argument is
// changed, and the plan's content must not be either.
//
// New decides and does nothing else: it reads no clock, no file and no
// network, and the same input gives the same plan, byte for byte. One
// assignment's trouble never stops another: it becomes a Problem, and that
// assignment's files stay as they are on the branch.
func New(env *model.Environment, gitops *model.Tree) *Plan {
	return new(Planner).New(env, gitops)
}

// build puts a plan together from what produce makes of each assignment.
func build(env *model.Environment, gitops *model.Tree, targets []*target, pairs []pair, results []result) *Plan {
	p := &Plan{
		Environment: env.Name,
		GitOps:      env.GitOps,
		Promoted:    env.Promoted,
		Incomplete:  env.Incomplete,
	}
	branch := map[string][]byte{}
	if gitops != nil {
		p.GitOpsHead = gitops.Commit
		branch = gitops.Files
	}
	for _, t := range targets {
		p.Targets = append(p.Targets, t.Target)
	}
	p.report(modelProblems(env.Diagnostics)...)
	p.report(unassignedProblems(env, targets, pairs)...)
	out := newOutput(env, branch)
	for i, pair := range pairs {
		p.report(results[i].problems...)
		files, warnings := out.assignment(pair, results[i])
		p.report(warnings...)
		p.Assignments = append(p.Assignments, Assignment{
			ClusterType: pair.clusterType.Name,
			Target:      pair.target.Name,
			Policies:    pair.policies,
			Config:      results[i].config,
			Files:       files,
		})
	}
	p.report(out.finish()...)
	if env.GitOps.Repo != "" {
		p.Files, p.Changes = out.files, out.changes()
	}
	slices.SortFunc(p.Problems, compareProblems)
	p.Problems = slices.Compact(p.Problems)
	return p
}

func (p *Plan) report(problems ...Problem) {
	p.Problems = append(p.Problems, problems...)
}

// result is what one assignment needs on the branch, or why it cannot have it.
type result struct {
	config   []ConfigValue
	files    map[string][]byte // by name in the assignment's folder
	problems []Problem         // errors; then files count for nothing
}

// failed says whether the assignment must stay as it is.
func (r result) failed() bool {
	return len(r.problems) > 0
}

// produce works out one assignment. What it depends on is what [inputs.key]
// covers, so that an assignment whose key is known need not be produced again.
func produce(env *model.Environment, pair pair, renderer *renderer) result {
	var r result
	subject := pair.subject()
	composed := compose(env.Configs, subject)
	r.config = composed.values
	r.problems = append(r.problems, nameProblems(pair)...)
	r.problems = append(r.problems, validate(composed.data, schemasFor(env, pair))...)
	files, problems := renderer.files(env, pair, composed.data)
	r.problems = append(r.problems, problems...)
	for i := range r.problems {
		r.problems[i].ClusterType = pair.clusterType.Name
		r.problems[i].Target = pair.target.Name
	}
	if !r.failed() {
		r.files = files
	}
	return r
}
