// Package view is what plans and the objects of a platform model look like: as
// tables, patches and trees for users, and as documents for scripts. It colours
// nothing, and [Load] alone reads something.
package view

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/clause"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/publish"
	"github.com/kalypso-dev/kalypso/scheduler/source"
)

// Plans are the plans of a control plane's environments.
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

// Load reads an environment, and plans it against its GitOps branch.
func Load(ctx context.Context, w *source.Platform, environment string) (p Plan, err error) {
	if p.Model, err = w.Load(ctx, environment); err != nil {
		return p, err
	}
	branch, err := w.GitOps(ctx, p.Model)
	if err != nil {
		return p, err
	}
	if branch != nil {
		p.Before = branch.Files
	}
	p.Plan, err = plan.New(ctx, p.Model, branch)
	return p, err
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
	for _, problem := range plan.ModelProblems(p.Problems) {
		if !shown[problem.Position.String()+problem.Message] {
			all = append(all, problem)
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

// Group is the changes of one folder of the GitOps branch, which users review
// together.
type Group struct {
	ClusterType string // "" for files that belong to none
	Target      string // "" for files of the cluster type itself
	Why         string
	Changes     []plan.Change
}

// Name is the group's heading.
func (g Group) Name() string {
	switch {
	case g.Target != "":
		return g.ClusterType + "/" + g.Target
	case g.ClusterType != "":
		return g.ClusterType
	}
	return g.Changes[0].Path
}

// Groups divides a plan's changes by assignment, in order of their paths.
func (p Plan) Groups() []Group {
	var all []Group
	for _, c := range p.Changes {
		clusterType, target := p.Owner(c.Path)
		last := len(all) - 1
		if last >= 0 && clusterType != "" && all[last].ClusterType == clusterType && all[last].Target == target {
			all[last].Changes = append(all[last].Changes, c)
			continue
		}
		all = append(all, Group{ClusterType: clusterType, Target: target, Why: p.why(clusterType, target), Changes: []plan.Change{c}})
	}
	return all
}

// Owner says which cluster type's and deployment target's folder a path is in.
func (p Plan) Owner(file string) (clusterType, target string) {
	parts := p.parts(file)
	switch {
	case strings.HasPrefix(parts[0], "."), len(parts) < 2:
		return "", ""
	case len(parts) == 2:
		return parts[0], ""
	}
	return parts[0], parts[1]
}

// root is the folder of the GitOps branch that the plan is about.
func (p Plan) root() string {
	return model.CleanFolder(p.GitOps.Path)
}

// why says what has led to a group's changes.
func (p Plan) why(clusterType, target string) string {
	if clusterType == "" {
		return "the commit of the base repository that is promoted to the environment"
	}
	known := slices.ContainsFunc(p.Model.ClusterTypes, func(c model.ClusterType) bool { return c.Name == clusterType })
	switch {
	case target == "" && known:
		return "the folder of a cluster type"
	case !known:
		return "there is no such cluster type any more"
	}
	for _, a := range p.Assignments {
		switch {
		case a.ClusterType != clusterType || a.Target != target:
		case len(a.Policies) == 1:
			return "assigned by policy " + a.Policies[0]
		default:
			return "assigned by policies " + strings.Join(a.Policies, ", ")
		}
	}
	if slices.ContainsFunc(p.Targets, func(t plan.Target) bool { return t.Name == target }) {
		return "no policy assigns it any more"
	}
	return "there is no such deployment target any more"
}

// Summary counts what a plan does.
type Summary struct {
	Add         int `json:"add"`
	Modify      int `json:"modify"`
	Remove      int `json:"remove"`
	Assignments int `json:"assignments"` // that have changes
	Problems    int `json:"problems"`
	// Held says that the pull request will be a draft, because the plan removes
	// most of the assignments that are there.
	Held bool `json:"held"`
}

func (p Plan) Summary() Summary {
	s := Summary{Problems: len(p.Problems)}
	_, _, s.Held = publish.Removals(p.Plan, p.Before)
	for _, c := range p.Changes {
		switch c.Action {
		case plan.Add:
			s.Add++
		case plan.Modify:
			s.Modify++
		case plan.Remove:
			s.Remove++
		}
	}
	for _, g := range p.Groups() {
		if g.Target != "" {
			s.Assignments++
		}
	}
	return s
}

// String is the summary in one line, such as "3 files to add, 1 to change in 2
// assignments; 1 problem".
func (s Summary) String() string {
	var parts []string
	count := func(n int, verb string) {
		switch {
		case n == 0:
		case len(parts) == 0:
			parts = append(parts, fmt.Sprintf("%s to %s", clause.Count(n, "file"), verb))
		default:
			parts = append(parts, fmt.Sprintf("%d to %s", n, verb))
		}
	}
	count(s.Add, "add")
	count(s.Modify, "change")
	count(s.Remove, "remove")
	line := "no changes"
	if len(parts) > 0 {
		line = strings.Join(parts, ", ")
	}
	if s.Assignments > 0 {
		line += " in " + clause.Count(s.Assignments, "assignment")
	}
	if s.Problems > 0 {
		line += "; " + clause.Count(s.Problems, "problem")
	}
	return line
}
