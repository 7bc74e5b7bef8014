package view

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/rollout"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
	"github.com/rogpeppe/go-internal/diff"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
		Sources     []model.Reference    `json:"sources"` // without a commit what was not all committed
		Targets     []TargetDocument     `json:"targets"`
		Assignments []AssignmentDocument `json:"assignments"`
		Changes     []ChangeDocument     `json:"changes"`
		Problems    []plan.Problem       `json:"problems"`
		Summary     Summary              `json:"summary"`
		Rollouts    []RolloutDocument    `json:"rollouts,omitempty"`
	}
	// RolloutDocument is in which waves the clusters of a type get the changes.
	RolloutDocument struct {
		Name        string         `json:"name"`
		ClusterType string         `json:"clusterType"`
		Position    model.Position `json:"position"`
		Waves       []WaveDocument `json:"waves"`
	}
	WaveDocument struct {
		v1alpha1.RolloutWave
		Branch string `json:"branch"` // that the wave's clusters follow
	}
	GitOpsDocument struct {
		model.Reference
		Head string `json:"head,omitempty"` // absent when there is no branch yet
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

// Document is the JSON of plans.
func (p *Plans) Document() PlansDocument {
	document := PlansDocument{Problems: plan.ModelProblems(p.Problems), Environments: []PlanDocument{}}
	for _, one := range p.Environments {
		document.Environments = append(document.Environments, one.Document())
	}
	return document
}

func (p Plan) Document() PlanDocument {
	d := PlanDocument{
		Environment: p.Environment,
		GitOps:      GitOpsDocument{model.Reference{Repo: p.GitOps.Repo, Branch: p.GitOps.Branch, Path: p.root()}, p.GitOpsHead},
		Promoted:    p.Promoted,
		Incomplete:  p.Incomplete,
		Sources:     append([]model.Reference{}, p.Model.Sources...),
		Targets:     targetsOf(p),
		Assignments: assignmentsOf(p),
		Changes:     []ChangeDocument{},
		Problems:    append([]plan.Problem{}, p.Problems...),
		Summary:     p.Summary(),
		Rollouts:    p.Rollouts(),
	}
	for _, c := range p.Changes {
		change := ChangeDocument{Path: c.Path, Action: c.Action, Diff: Patch(c, p.Before[c.Path])}
		change.ClusterType, change.Target = p.Owner(c.Path)
		if c.Action != plan.Remove {
			change.Content = new(string(c.Content))
		}
		d.Changes = append(d.Changes, change)
	}
	return d
}

// Rollouts are those of the environment, by name; of cluster types that it does not have
// none.
func (p Plan) Rollouts() []RolloutDocument {
	var all []RolloutDocument
	for _, r := range p.Model.Rollouts {
		if !slices.ContainsFunc(p.Model.ClusterTypes, func(c model.ClusterType) bool { return c.Name == r.Spec.ClusterType }) {
			continue
		}
		d := RolloutDocument{Name: r.Name, ClusterType: r.Spec.ClusterType, Position: r.Position, Waves: []WaveDocument{}}
		for _, w := range r.Spec.Waves {
			d.Waves = append(d.Waves, WaveDocument{w, rollout.Branch(p.Environment, r.Spec.ClusterType, w.Name)})
		}
		all = append(all, d)
	}
	return all
}

// String is a rollout in one line.
func (d RolloutDocument) String() string {
	var waves []string
	for _, w := range d.Waves {
		text := w.Name
		switch {
		case w.Selects():
			text += " (clusters with " + metav1.FormatLabelSelector(&w.Selector)
		case w.Rest():
			text += " (all others"
		case w.Clusters.Percent || w.Clusters.Number != 1:
			text += " (" + w.Clusters.String() + " clusters"
		default:
			text += " (1 cluster"
		}
		if w.Soak > 0 {
			text += ", " + w.Soak.String()
		}
		waves = append(waves, text+")")
	}
	return fmt.Sprintf("Clusters of type %s get it in waves: %s. See `kalypso rollout status`.", d.ClusterType, strings.Join(waves, ", then "))
}

// The structures that get and plan print as JSON, which scripts rely on: fields
// are added, not changed. Lists are never null.
type (
	ObjectDocument struct {
		Environment  string            `json:"environment,omitempty"` // absent for environments themselves
		Name         string            `json:"name"`
		Labels       map[string]string `json:"labels,omitempty"`
		Annotations  map[string]string `json:"annotations,omitempty"`
		Workspace    string            `json:"workspace,omitempty"`    // of workloads
		Registration string            `json:"registration,omitempty"` // of workloads
		Position     model.Position    `json:"position"`
		Spec         any               `json:"spec"`
	}
	TargetDocument struct {
		Environment string `json:"environment"`
		plan.Target
	}
	AssignmentDocument struct {
		Environment string `json:"environment"`
		plan.Assignment
	}
)

func targetsOf(p Plan) []TargetDocument {
	list := []TargetDocument{}
	for _, t := range p.Targets {
		list = append(list, TargetDocument{p.Environment, t})
	}
	return list
}

func assignmentsOf(p Plan) []AssignmentDocument {
	list := []AssignmentDocument{}
	for _, a := range p.Assignments {
		a.Config, a.Files = append([]plan.ConfigValue{}, a.Config...), append([]string{}, a.Files...)
		list = append(list, AssignmentDocument{p.Environment, a})
	}
	return list
}

// Patch is a change as git writes it.
func Patch(c plan.Change, before []byte) string {
	var out strings.Builder
	from, to := "a/"+c.Path, "b/"+c.Path
	fmt.Fprintf(&out, "diff --git %s %s\n", quoted(from), quoted(to))
	switch c.Action {
	case plan.Add:
		out.WriteString("new file mode 100644\n")
		from = "/dev/null"
	case plan.Remove:
		out.WriteString("deleted file mode 100644\n")
		to = "/dev/null"
	}
	_, hunks, ok := bytes.Cut(diff.Diff("a", before, "b", c.Content), []byte("+++ b\n"))
	if ok {
		fmt.Fprintf(&out, "--- %s\n+++ %s\n%s", marked(from), marked(to), hunks)
	}
	return out.String()
}

// quoted is a path as git spells it in a patch.
func quoted(file string) string {
	if strings.ContainsFunc(file, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' }) {
		return strconv.Quote(file)
	}
	return file
}

// marked ends a path with spaces so that no tool takes what follows it for a
// date.
func marked(file string) string {
	if strings.Contains(file, " ") {
		return quoted(file) + "\t"
	}
	return quoted(file)
}
