package explain

import (
	"cmp"
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
)

// pair says what a target gets on a cluster type.
func (w *world) pair(ctx context.Context, t *target, c model.ClusterType, assigned bool) (*Pair, error) {
	o, err := w.outcome(ctx, t, c, assigned)
	if err != nil {
		return nil, err
	}
	p := &Pair{
		Assigned:  assigned,
		Config:    values(o.assignment.Config),
		Templates: w.templates(c),
		Files:     w.files(t, c, o),
		Problems:  []Problem{},
	}
	if !assigned || len(t.twins) > 0 {
		for _, found := range o.problems {
			p.Problems = append(p.Problems, problem(found))
		}
	}
	m := matcher{clusterType: c, target: t, sides: configSides(c, t), vocabulary: w.ofConfigs()}
	p.ConfigMaps = make([]Labelled, 0, len(w.env.Configs))
	for _, config := range w.env.Configs {
		p.ConfigMaps = append(p.ConfigMaps, m.configMap(config))
	}
	order(p.ConfigMaps)
	p.Schemas = t.schemas(o.problems)
	p.OtherSchemas = []Labelled{}
	for _, object := range w.env.ConfigSchemas {
		if l := labelled(m, object); !l.Matches {
			p.OtherSchemas = append(p.OtherSchemas, l)
			continue
		}
		p.Schemas = append(p.Schemas, schema(object.Name, object.At("spec", "schema"), o.problems))
	}
	order(p.OtherSchemas)
	return p, nil
}

// schemas returns the schemas that a target and its workload bring along.
func (t *target) schemas(problems []plan.Problem) []Schema {
	all := []Schema{}
	for n := range t.workload.Spec.DeploymentTargets[t.index].ConfigSchemas {
		all = append(all, schema("deployment target", t.field("configSchemas", number(n)), problems))
	}
	for n := range t.workload.Spec.ConfigSchemas {
		all = append(all, schema("workload", t.workload.At("spec", "configSchemas", number(n)), problems))
	}
	return all
}

// schema collects a schema's findings.
func schema(of string, position model.Position, problems []plan.Problem) Schema {
	s := Schema{Of: of, Place: position, Findings: []string{}}
	for _, p := range problems {
		if p.Reason == plan.InvalidConfig && p.Schema == position || p.Reason == plan.InvalidSchema && p.Position == position {
			s.Findings = append(s.Findings, p.Message)
		}
	}
	slices.Sort(s.Findings)
	return s
}

// templates returns the templates that a cluster type names.
func (w *world) templates(c model.ClusterType) []Template {
	use := func(file, field, name string) Template {
		t := Template{File: file, Name: name, NamedBy: c.At("spec", field)}
		for _, object := range w.env.Templates {
			if object.Name == name {
				t.Place = new(object.Position)
			}
		}
		return t
	}
	return []Template{
		use("namespace", "namespaceService", c.Spec.NamespaceService),
		use("platform-config", "configType", cmp.Or(c.Spec.ConfigType, v1alpha1.DefaultConfigType)),
		use("reconciler", "reconciler", c.Spec.Reconciler),
	}
}

// files returns the files of a pair and what happens to each.
func (w *world) files(t *target, c model.ClusterType, o outcome) []File {
	actions := map[string]string{}
	for _, file := range o.assignment.Files {
		actions[file] = "keep"
	}
	folder := path.Join("/", w.env.GitOps.Path, c.Name, t.Name)[1:] + "/"
	for _, change := range slices.Concat(o.changes, w.plan.Changes) {
		if strings.HasPrefix(change.Path, folder) {
			actions[change.Path] = string(change.Action)
		}
	}
	all := make([]File, 0, len(actions))
	for _, file := range slices.Sorted(maps.Keys(actions)) {
		all = append(all, File{Path: file, Action: actions[file]})
	}
	return all
}
