package main

import (
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
)

// The structures that get and plan print as JSON, which scripts rely on: fields
// are added, not changed. Lists are never null.
type (
	objectDocument struct {
		Environment  string            `json:"environment,omitempty"` // absent for environments themselves
		Name         string            `json:"name"`
		Labels       map[string]string `json:"labels,omitempty"`
		Annotations  map[string]string `json:"annotations,omitempty"`
		Workspace    string            `json:"workspace,omitempty"`    // of workloads
		Registration string            `json:"registration,omitempty"` // of workloads
		Position     model.Position    `json:"position"`
		Spec         any               `json:"spec"`
	}
	targetDocument struct {
		Environment string            `json:"environment"`
		Name        string            `json:"name"`
		Workload    string            `json:"workload"`
		Workspace   string            `json:"workspace"`
		Labels      map[string]string `json:"labels"`
		Position    model.Position    `json:"position"`
	}
	assignmentDocument struct {
		Environment string           `json:"environment"`
		ClusterType string           `json:"clusterType"`
		Target      string           `json:"target"`
		Policies    []string         `json:"policies"`
		Config      []configDocument `json:"config"`
		Files       []string         `json:"files"` // that it has on the GitOps branch, or will have
	}
	configDocument struct {
		Key     string           `json:"key"`
		Value   string           `json:"value"`
		Sources []sourceDocument `json:"sources"` // in order of merging, the last one wins
	}
	sourceDocument struct {
		ConfigMap string         `json:"configMap"`
		Value     string         `json:"value"`
		Position  model.Position `json:"position"`
	}
)

func targetsOf(p planned) []targetDocument {
	list := []targetDocument{}
	for _, t := range p.Targets {
		list = append(list, targetDocument{
			Environment: p.Environment, Name: t.Name, Workload: t.Workload, Workspace: t.Workspace,
			Labels: t.Labels, Position: t.Position,
		})
	}
	return list
}

func assignmentsOf(p planned) []assignmentDocument {
	list := []assignmentDocument{}
	for _, a := range p.Assignments {
		d := assignmentDocument{
			Environment: p.Environment, ClusterType: a.ClusterType, Target: a.Target,
			Policies: a.Policies, Config: []configDocument{}, Files: append([]string{}, a.Files...),
		}
		for _, c := range a.Config {
			d.Config = append(d.Config, configOf(c))
		}
		list = append(list, d)
	}
	return list
}

func configOf(c plan.ConfigValue) configDocument {
	d := configDocument{Key: c.Key, Value: c.Value, Sources: []sourceDocument{}}
	for _, s := range c.Sources {
		d.Sources = append(d.Sources, sourceDocument{ConfigMap: s.ConfigMap, Value: s.Value, Position: s.Position})
	}
	return d
}
