package view

import (
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
)

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
		Environment string            `json:"environment"`
		Name        string            `json:"name"`
		Workload    string            `json:"workload"`
		Workspace   string            `json:"workspace"`
		Labels      map[string]string `json:"labels"`
		Position    model.Position    `json:"position"`
	}
	AssignmentDocument struct {
		Environment string           `json:"environment"`
		ClusterType string           `json:"clusterType"`
		Target      string           `json:"target"`
		Policies    []string         `json:"policies"`
		Config      []ConfigDocument `json:"config"`
		Files       []string         `json:"files"` // that it has on the GitOps branch, or will have
	}
	ConfigDocument struct {
		Key     string           `json:"key"`
		Value   string           `json:"value"`
		Sources []SourceDocument `json:"sources"` // in order of merging, the last one wins
	}
	SourceDocument struct {
		ConfigMap string         `json:"configMap"`
		Value     string         `json:"value"`
		Position  model.Position `json:"position"`
	}
)

func targetsOf(p Plan) []TargetDocument {
	list := []TargetDocument{}
	for _, t := range p.Targets {
		list = append(list, TargetDocument{
			Environment: p.Environment, Name: t.Name, Workload: t.Workload, Workspace: t.Workspace,
			Labels: t.Labels, Position: t.Position,
		})
	}
	return list
}

func assignmentsOf(p Plan) []AssignmentDocument {
	list := []AssignmentDocument{}
	for _, a := range p.Assignments {
		d := AssignmentDocument{
			Environment: p.Environment, ClusterType: a.ClusterType, Target: a.Target,
			Policies: a.Policies, Config: []ConfigDocument{}, Files: append([]string{}, a.Files...),
		}
		for _, c := range a.Config {
			d.Config = append(d.Config, configOf(c))
		}
		list = append(list, d)
	}
	return list
}

func configOf(c plan.ConfigValue) ConfigDocument {
	d := ConfigDocument{Key: c.Key, Value: c.Value, Sources: []SourceDocument{}}
	for _, s := range c.Sources {
		d.Sources = append(d.Sources, SourceDocument{ConfigMap: s.ConfigMap, Value: s.Value, Position: s.Position})
	}
	return d
}
