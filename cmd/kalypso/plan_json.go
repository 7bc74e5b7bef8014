package main

import "github.com/kalypso-dev/kalypso/scheduler/plan"

// The structures of `kalypso plan -o json`, which scripts rely on: fields are
// added, not changed. Lists are never null.
type (
	plansDocument struct {
		Problems     []plan.Problem `json:"problems"` // of the Environment objects
		Environments []planDocument `json:"environments"`
	}
	planDocument struct {
		Environment string               `json:"environment"`
		GitOps      gitOpsDocument       `json:"gitOps"`
		Promoted    string               `json:"promoted,omitempty"`
		Incomplete  bool                 `json:"incomplete"`
		Sources     []referenceDocument  `json:"sources"`
		Targets     []targetDocument     `json:"targets"`
		Assignments []assignmentDocument `json:"assignments"`
		Changes     []changeDocument     `json:"changes"`
		Problems    []plan.Problem       `json:"problems"`
		Summary     planSummary          `json:"summary"`
	}
	referenceDocument struct {
		Repo   string `json:"repo"`
		Branch string `json:"branch"`
		Path   string `json:"path,omitempty"`
		Commit string `json:"commit,omitempty"` // absent when it was not all committed
	}
	gitOpsDocument struct {
		Repo   string `json:"repo"`
		Branch string `json:"branch"`
		Path   string `json:"path,omitempty"`
		Head   string `json:"head,omitempty"` // absent when there is no branch yet
	}
	changeDocument struct {
		Path        string      `json:"path"`
		Action      plan.Action `json:"action"`
		ClusterType string      `json:"clusterType,omitempty"`
		Target      string      `json:"target,omitempty"`
		Content     *string     `json:"content,omitempty"`
		Diff        string      `json:"diff"`
	}
)

func plansJSON(p *plans) plansDocument {
	document := plansDocument{Problems: []plan.Problem{}, Environments: []planDocument{}}
	for _, d := range p.problems {
		document.Problems = append(document.Problems, plan.Problem{
			Reason: plan.InvalidModel, Severity: d.Severity, Position: d.Position, Message: d.Message, Hint: d.Hint,
		})
	}
	for _, one := range p.environments {
		document.Environments = append(document.Environments, one.document())
	}
	return document
}

func (p planned) document() planDocument {
	d := planDocument{
		Environment: p.Environment,
		GitOps:      gitOpsDocument{Repo: p.GitOps.Repo, Branch: p.GitOps.Branch, Path: p.root(), Head: p.GitOpsHead},
		Promoted:    p.Promoted,
		Incomplete:  p.Incomplete,
		Sources:     []referenceDocument{},
		Targets:     targetsOf(p),
		Assignments: assignmentsOf(p),
		Changes:     []changeDocument{},
		Problems:    append([]plan.Problem{}, p.Problems...),
		Summary:     p.summary(),
	}
	for _, s := range p.env.Sources {
		d.Sources = append(d.Sources, referenceDocument{Repo: s.Repo, Branch: s.Branch, Path: s.Path, Commit: s.Commit})
	}
	for _, c := range p.Changes {
		change := changeDocument{Path: c.Path, Action: c.Action, Diff: patch(c, p.before[c.Path])}
		change.ClusterType, change.Target = p.owner(c.Path)
		if c.Action != plan.Remove {
			content := string(c.Content)
			change.Content = &content
		}
		d.Changes = append(d.Changes, change)
	}
	return d
}
