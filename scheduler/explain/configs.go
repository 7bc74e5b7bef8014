package explain

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
)

// matcher holds labels of ConfigMaps and ConfigSchemas against a pair.
type matcher struct {
	clusterType model.ClusterType
	target      *target
	subjects    []subject
	labelValues *labelValues
}

func (m matcher) fits(r requirement) bool {
	return plan.Fits(m.clusterType, m.target.Target, r.Key, r.Values[0])
}

// labelled reports whether an object's labels match the pair.
func labelled[Spec any](m matcher, object model.Object[Spec]) Labelled {
	counted, ignored := labelRequirements(object)
	l := Labelled{
		Name:    object.Name,
		Place:   object.Position,
		Clauses: check(counted, m.fits, m.labelValues, m.subjects...),
		Ignored: slices.DeleteFunc(ignored, func(key string) bool { return key == platformConfig }),
	}
	l.Matches = len(failing(l.Clauses)) == 0
	return l
}

// platformConfig is the label that makes a ConfigMap one of the platform. That
// it does not count otherwise goes without saying.
const platformConfig = "platform-config"

// configMap reports whether a ConfigMap matches the pair, and of one whose keys
// carry labels which keys do not apply.
func (m matcher) configMap(config model.PlatformConfig) Labelled {
	l := labelled(m, config)
	if !l.Matches || plan.IsOrdinary(config) {
		return l
	}
	for _, field := range slices.Sorted(maps.Keys(config.Spec.Data)) {
		position := config.At("data", field)
		labels, _, ok := plan.AppConfigKey(field)
		if !ok {
			l.Keys = append(l.Keys, Key{Field: field, Place: position, Miss: Miss{
				Reason: "is not of the form label.value.label.value.key",
			}})
			continue
		}
		for _, label := range labels {
			r := equals(label[0], label[1], position)
			if !m.fits(r) {
				l.Keys = append(l.Keys, Key{Field: field, Place: position, Miss: *r.miss(m.subjects, m.labelValues)})
				break
			}
		}
	}
	return l
}

// order puts what matches first, in order of merging, then the rest by how
// little is missing.
func order(all []Labelled) {
	slices.SortFunc(all, func(a, b Labelled) int {
		return cmp.Or(compareMisses(failing(a.Clauses), failing(b.Clauses)), cmp.Compare(late(a), late(b)), cmp.Compare(a.Name, b.Name))
	})
}

// late is 1 for what is merged after all others, whatever its name, else 0.
func late(l Labelled) int {
	if strings.HasPrefix(l.Name, model.AppConfigPrefix) {
		return 1
	}
	return 0
}

// pair says what a target gets on a cluster type.
func (x *explainer) pair(ctx context.Context, t *target, c model.ClusterType, assigned bool) (*Pair, error) {
	o, err := x.outcome(ctx, t, c, assigned)
	if err != nil {
		return nil, err
	}
	p := &Pair{
		Assigned:  assigned,
		Config:    values(o.assignment.Config),
		Templates: x.templates(c),
		Files:     x.files(t, c, o),
		Problems:  []Problem{},
	}
	if !assigned || len(t.twins) > 0 {
		for _, found := range o.problems {
			p.Problems = append(p.Problems, problem(found))
		}
	}
	m := matcher{clusterType: c, target: t, subjects: configSubjects(c, t), labelValues: x.ofConfigs()}
	p.ConfigMaps = make([]Labelled, 0, len(x.env.Configs))
	for _, config := range x.env.Configs {
		p.ConfigMaps = append(p.ConfigMaps, m.configMap(config))
	}
	order(p.ConfigMaps)
	p.Schemas = t.schemas(o.problems)
	p.OtherSchemas = []Labelled{}
	for _, object := range x.env.ConfigSchemas {
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

func (x *explainer) templates(c model.ClusterType) []Template {
	var all []Template
	for _, named := range plan.NamedTemplates(&c) {
		t := Template{File: named.File, Name: named.Name, NamedBy: c.At("spec", named.Field)}
		for _, object := range x.env.Templates {
			if object.Name == named.Name {
				t.Place = new(object.Position)
			}
		}
		all = append(all, t)
	}
	return all
}

func (x *explainer) files(t *target, c model.ClusterType, o outcome) []File {
	actions := map[string]string{}
	for _, file := range o.assignment.Files {
		actions[file] = "keep"
	}
	folder := path.Join("/", x.env.GitOps.Path, c.Name, t.Name)[1:] + "/"
	for _, change := range o.changes { // which may not know the branch
		if old, is := x.present[change.Path]; strings.HasPrefix(change.Path, folder) {
			switch {
			case !is:
				actions[change.Path] = string(change.Action)
			case !bytes.Equal(old, change.Content):
				actions[change.Path] = string(plan.Modify)
			}
		}
	}
	for _, change := range x.plan.Changes {
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

// values says where each key's value comes from and what has become of the
// values before.
func values(config []plan.ConfigValue) []Value {
	all := make([]Value, 0, len(config))
	for _, v := range config {
		value := Value{Key: v.Key, Value: v.Value, Sources: make([]Source, 0, len(v.Sources))}
		gone := lastOverridden(v)
		for i, s := range v.Sources {
			value.Sources = append(value.Sources, Source{
				ConfigMap: s.ConfigMap,
				Value:     s.Value,
				Place:     s.Position,
				Role:      role(s, i <= gone, i == len(v.Sources)-1),
			})
		}
		for _, o := range v.Overrides {
			if o.Path != "" {
				value.Parts = append(value.Parts, Part{Path: o.Path, Value: o.Value, ConfigMap: o.ConfigMap, Place: o.Position})
			}
		}
		all = append(all, value)
	}
	return all
}

func role(s plan.ConfigSource, gone, last bool) Role {
	switch {
	case gone:
		return Overridden
	case last:
		return Decides
	case plan.IsStructured(s.Value):
		return Merged
	}
	return Repeated
}

// lastOverridden returns the index of the last source whose value was replaced
// as a whole, -1 for none. What came before it is gone with it. An override of
// a part is no source.
func lastOverridden(v plan.ConfigValue) int {
	last := -1
	for _, o := range v.Overrides {
		last = max(last, slices.Index(v.Sources, o))
	}
	return last
}
