package expression

import (
	"maps"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// Object is what an expression is held against: a deployment target or a cluster type.
// Fields that the other kind has are empty.
type Object struct {
	Name           string
	Labels         map[string]string // those that matchLabels sees
	Workload       string
	WorkloadLabels map[string]string
	Workspace      string
	Environment    string
}

// variable is what an expression can use of an object.
type variable struct {
	name string
	kind *cel.Type
	of   Selector // "" for both
	text func(*Object) string
	// labels is nil for a name.
	labels func(*Object) map[string]string
}

func (v variable) known(selector Selector) bool { return v.of == "" || v.of == selector }

var labelsType = cel.MapType(cel.StringType, cel.StringType)

var variables = []variable{
	{name: "labels", kind: labelsType, labels: func(o *Object) map[string]string { return o.Labels }},
	{name: "target.labels", kind: labelsType, of: OfTargets, labels: func(o *Object) map[string]string { return o.Labels }},
	{name: "target.name", kind: cel.StringType, of: OfTargets, text: func(o *Object) string { return o.Name }},
	{name: "workload.labels", kind: labelsType, of: OfTargets, labels: func(o *Object) map[string]string { return o.WorkloadLabels }},
	{name: "workload.name", kind: cel.StringType, of: OfTargets, text: func(o *Object) string { return o.Workload }},
	{name: "workspace.name", kind: cel.StringType, of: OfTargets, text: func(o *Object) string { return o.Workspace }},
	{name: "clusterType.labels", kind: labelsType, of: OfClusterTypes, labels: func(o *Object) map[string]string { return o.Labels }},
	{name: "clusterType.name", kind: cel.StringType, of: OfClusterTypes, text: func(o *Object) string { return o.Name }},
	{name: "environment.name", kind: cel.StringType, text: func(o *Object) string { return o.Environment }},
}

// Variables returns the names that the expressions of a selector can use.
func Variables(selector Selector) []string {
	var names []string
	for _, v := range variables {
		if v.known(selector) {
			names = append(names, v.name)
		}
	}
	return names
}

func variableNamed(name string) (variable, bool) {
	i := slices.IndexFunc(variables, func(v variable) bool { return v.name == name })
	if i < 0 {
		return variable{}, false
	}
	return variables[i], true
}

// activation gives an evaluation the values of an object.
type activation struct{ object *Object }

func (a activation) ResolveName(name string) (any, bool) {
	v, known := variableNamed(name)
	switch {
	case !known:
		return nil, false
	case v.labels != nil:
		return newLabelMap(v.labels(a.object)), true
	}
	return types.String(v.text(a.object)), true
}

func (a activation) Parent() interpreter.Activation { return nil }

// labelMap is labels in the order of their keys. CEL's own maps have that of Go's, so
// that labels.map(k, k)[0] would be another one each time.
type labelMap struct {
	traits.Mapper
	labels map[string]string
}

func newLabelMap(labels map[string]string) ref.Val {
	return labelMap{types.NewStringStringMap(types.DefaultTypeAdapter, labels), labels}
}

func (m labelMap) Iterator() traits.Iterator {
	return types.NewStringList(types.DefaultTypeAdapter, slices.Sorted(maps.Keys(m.labels))).Iterator()
}
