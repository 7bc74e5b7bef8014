package view

import "github.com/kalypso-dev/kalypso/scheduler/plan"

// The structures of `kalypso plan -o json`, which scripts rely on: fields are
// added, not changed. Lists are never null.
type (
	PlansDocument struct {
		Problems     []plan.Problem `json:"problems"` // of the Environment objects
		Environments []PlanDocument `json:"environments"`
	}
	PlanDocument struct {
		Environment string               `json:"environment"`
		GitOps      GitOpsDocument       `json:"gitOps"`
		Promoted    string               `json:"promoted,omitempty"`
		Incomplete  bool                 `json:"incomplete"`
		Sources     []ReferenceDocument  `json:"sources"`
		Targets     []TargetDocument     `json:"targets"`
		Assignments []AssignmentDocument `json:"assignments"`
		Changes     []ChangeDocument     `json:"changes"`
		Problems    []plan.Problem       `json:"problems"`
		Summary     Summary              `json:"summary"`
	}
	ReferenceDocument struct {
		Repo   string `json:"repo"`
		Branch string `json:"branch"`
		Path   string `json:"path,omitempty"`
		Commit string `json:"commit,omitempty"` // absent when it was not all committed
	}
	GitOpsDocument struct {
		Repo   string `json:"repo"`
		Branch string `json:"branch"`
		Path   string `json:"path,omitempty"`
		Head   string `json:"head,omitempty"` // absent when there is no branch yet
	}
	ChangeDocument struct {
		Path        string      `json:"path"`
		Action      plan.Action `json:"action"`
		ClusterType string      `json:"clusterType,omitempty"`
		Target      string      `json:"target,omitempty"`
		Content     *string     `json:"content,omitempty"`
		Diff        string      `json:"diff"`
	}
)

func NewDocument(p *Plans) PlansDocument {
	document := PlansDocument{Problems: []plan.Problem{}, Environments: []PlanDocument{}}
	for _, d := range p.Problems {
		document.Problems = append(document.Problems, plan.Problem{
			Reason: plan.InvalidModel, Severity: d.Severity, Position: d.Position, Message: d.Message, Hint: d.Hint,
		})
	}
	for _, one := range p.Environments {
		document.Environments = append(document.Environments, one.Document())
	}
	return document
}

func (p Plan) Document() PlanDocument {
	d := PlanDocument{
		Environment: p.Environment,
		GitOps:      GitOpsDocument{Repo: p.GitOps.Repo, Branch: p.GitOps.Branch, Path: p.root(), Head: p.GitOpsHead},
		Promoted:    p.Promoted,
		Incomplete:  p.Incomplete,
		Sources:     []ReferenceDocument{},
		Targets:     targetsOf(p),
		Assignments: assignmentsOf(p),
		Changes:     []ChangeDocument{},
		Problems:    append([]plan.Problem{}, p.Problems...),
		Summary:     p.Summary(),
	}
	for _, s := range p.Model.Sources {
		d.Sources = append(d.Sources, ReferenceDocument{Repo: s.Repo, Branch: s.Branch, Path: s.Path, Commit: s.Commit})
	}
	for _, c := range p.Changes {
		change := ChangeDocument{Path: c.Path, Action: c.Action, Diff: Patch(c, p.Before[c.Path])}
		change.ClusterType, change.Target = p.owner(c.Path)
		if c.Action != plan.Remove {
			content := string(c.Content)
			change.Content = &content
		}
		d.Changes = append(d.Changes, change)
	}
	return d
}
