package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/clause"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func objectRow[Spec any](environment string, o model.Object[Spec], cells ...string) Row {
	return Row{
		Environment: environment, Name: o.Name, Cells: cells, Labels: o.Labels, Position: o.Position,
		Document: ObjectDocument{
			Environment: environment, Name: o.Name, Labels: o.Labels, Annotations: o.Annotations,
			Position: o.Position, Spec: o.Spec,
		},
	}
}

func EnvironmentRow(o model.EnvironmentObject) Row {
	c := o.Spec.ControlPlane
	return objectRow("", o, c.Repo, c.Branch, folderText(c.Path))
}

func clusterTypeRows(p Plan) []Row {
	targets := map[string]int{}
	for _, a := range p.Assignments {
		targets[a.ClusterType]++
	}
	var rows []Row
	for _, o := range p.Model.ClusterTypes {
		rows = append(rows, objectRow(p.Model.Name, o, o.Spec.Reconciler, o.Spec.NamespaceService, cmp.Or(o.Spec.ConfigType, v1alpha1.DefaultConfigType), fmt.Sprint(targets[o.Name])))
	}
	return rows
}

func workloadRows(p Plan) []Row {
	var rows []Row
	for _, o := range p.Model.Workloads {
		var targets []string
		for _, t := range o.Spec.DeploymentTargets {
			if t.Environment == p.Model.Name {
				targets = append(targets, t.Name)
			}
		}
		r := objectRow(p.Model.Name, o.Object, o.Registration.Spec.Workspace, orNone(strings.Join(targets, ",")))
		document := r.Document.(ObjectDocument)
		document.Workspace, document.Registration = o.Registration.Spec.Workspace, o.Registration.Name
		r.Document = document
		rows = append(rows, r)
	}
	return rows
}

func registrationRows(p Plan) []Row {
	var rows []Row
	for _, o := range p.Model.Registrations {
		w := o.Spec.Workload
		rows = append(rows, objectRow(p.Model.Name, o, o.Spec.Workspace, w.Repo, w.Branch, folderText(w.Path)))
	}
	return rows
}

func rolloutRows(p Plan) []Row {
	var rows []Row
	for _, o := range p.Model.Rollouts {
		var waves []string
		for _, w := range o.Spec.Waves {
			waves = append(waves, w.Name)
		}
		rows = append(rows, objectRow(p.Model.Name, o, o.Spec.ClusterType, strings.Join(waves, ", "), o.Spec.MaxFailures.String()))
	}
	return rows
}

func targetRows(p Plan) []Row {
	on := map[string][]string{}
	for _, a := range p.Assignments {
		on[a.Target] = append(on[a.Target], a.ClusterType)
	}
	var rows []Row
	documents := targetsOf(p)
	for i, t := range p.Targets {
		rows = append(rows, Row{
			Environment: p.Model.Name, Name: t.Name, Labels: t.Labels, Position: t.Position, Document: documents[i],
			Cells: []string{t.Workload, t.Workspace, orNone(strings.Join(on[t.Name], ","))},
		})
	}
	return rows
}

func policyRows(p Plan) []Row {
	assignments := map[string]int{}
	for _, a := range p.Assignments {
		for _, policy := range a.Policies {
			assignments[policy]++
		}
	}
	var rows []Row
	for _, o := range p.Model.Policies {
		rows = append(rows, objectRow(p.Model.Name, o, orAll(o.Spec.DeploymentTargetSelector.Workspace), selectorText(plan.TargetSelector(o)),
			selectorText(plan.ClusterTypeSelector(o)), fmt.Sprint(assignments[o.Name])))
	}
	return rows
}

func assignmentRows(p Plan) []Row {
	problems := map[string]int{}
	for _, problem := range p.Problems {
		problems[problem.ClusterType+"/"+problem.Target]++
	}
	var rows []Row
	documents := assignmentsOf(p)
	for i, a := range p.Assignments {
		target := p.Targets[slices.IndexFunc(p.Targets, func(t plan.Target) bool { return t.Name == a.Target })]
		name := a.ClusterType + "/" + a.Target
		rows = append(rows, Row{
			Environment: p.Model.Name, Name: name, Labels: target.Labels, Position: target.Position, Document: documents[i],
			Cells: []string{a.ClusterType, a.Target, strings.Join(a.Policies, ","), clause.Count(len(a.Config), "key"), fmt.Sprint(problems[name])},
		})
	}
	return rows
}

func configRows(p Plan) []Row {
	var rows []Row
	for _, o := range p.Model.Configs {
		keys := slices.Sorted(maps.Keys(o.Spec.Data))
		rows = append(rows, objectRow(p.Model.Name, o, appliesTo(o.Labels), orNone(strings.Join(keys, ","))))
	}
	return rows
}

func schemaRows(p Plan) []Row {
	var rows []Row
	for _, o := range p.Model.ConfigSchemas {
		rows = append(rows, objectRow(p.Model.Name, o, appliesTo(o.Labels)))
	}
	return rows
}

func templateRows(p Plan) []Row {
	var rows []Row
	for _, o := range p.Model.Templates {
		content := string(o.Spec.ContentType)
		if content == "" {
			content = "yaml"
		}
		rows = append(rows, objectRow(p.Model.Name, o, string(o.Spec.Type), content))
	}
	return rows
}

// appliesTo is which assignments an object with these labels is for.
func appliesTo(labels map[string]string) string {
	labels = maps.Clone(labels)
	maps.DeleteFunc(labels, func(key, _ string) bool { return plan.IgnoredLabel(key) })
	if len(labels) == 0 {
		return orAll("")
	}
	return labelText(labels)
}

// selectorText is a selector in one line: labels as kubectl writes them, then the
// expression.
func selectorText(s plan.Selector) string {
	var all []string
	if len(s.Labels.MatchLabels)+len(s.Labels.MatchExpressions) > 0 {
		all = append(all, metav1.FormatLabelSelector(&s.Labels))
	}
	if s.CEL != "" {
		all = append(all, "cel: "+strings.Join(strings.Fields(s.CEL), " "))
	}
	return orAll(strings.Join(all, "; "))
}

func orAll(s string) string {
	if s == "" {
		return "<all>"
	}
	return s
}

func folderText(folder string) string {
	if folder == "" {
		return "."
	}
	return folder
}
