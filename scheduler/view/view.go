package view

import (
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
)

// Plans is what the command has found out.
type Plans struct {
	Problems     []model.Diagnostic // of the Environment objects
	Environments []Plan
}

// Plan is the plan of one environment with what it was made of.
type Plan struct {
	*plan.Plan
	Model  *model.Environment
	Before map[string][]byte // what is on the GitOps branch
}

// Others are the problems of the Environment objects that no environment has
// shown: their branch often is its base repository too.
func (p *Plans) Others() []plan.Problem {
	shown := map[string]bool{}
	for _, one := range p.Environments {
		for _, problem := range one.Problems {
			shown[problem.Position.String()+problem.Message] = true
		}
	}
	var all []plan.Problem
	for _, d := range p.Problems {
		if !shown[d.Position.String()+d.Message] {
			all = append(all, plan.Problem{Severity: d.Severity, Position: d.Position, Message: d.Message, Hint: d.Hint})
		}
	}
	return all
}

// Title names an environment with the branch that its plan is for.
func (p Plan) Title() string {
	switch {
	case p.GitOps.Repo == "":
		return p.Environment
	case p.Before == nil:
		return p.Environment + " -> " + p.GitOps.String() + ", which is not there yet"
	}
	return p.Environment + " -> " + p.GitOps.String()
}
