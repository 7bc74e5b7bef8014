package propose

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kalypso-dev/kalypso/scheduler/edit"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
)

// Schema is a JSON schema, draft 2020-12, of one kind of objects. It refers to nothing elsewhere.
type Schema json.RawMessage

// MarshalJSON implements json.Marshaler.
func (s Schema) MarshalJSON() ([]byte, error) { return s, nil }

// UnmarshalJSON implements json.Unmarshaler.
func (s *Schema) UnmarshalJSON(text []byte) error {
	*s = slices.Clone(text)
	return nil
}

// Schema implements huma.SchemaProvider.
func (Schema) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true, Description: "A JSON schema, draft 2020-12, which refers to nothing elsewhere."}
}

// specs are the kinds' types; what is beside metadata is named as the object has it.
var specs = map[string]struct {
	field string
	spec  reflect.Type
}{
	v1alpha1.KindBaseRepo:             {"spec", reflect.TypeFor[v1alpha1.BaseRepoSpec]()},
	v1alpha1.KindClusterType:          {"spec", reflect.TypeFor[v1alpha1.ClusterTypeSpec]()},
	v1alpha1.KindConfigSchema:         {"spec", reflect.TypeFor[v1alpha1.ConfigSchemaSpec]()},
	v1alpha1.KindEnvironment:          {"spec", reflect.TypeFor[v1alpha1.EnvironmentSpec]()},
	v1alpha1.KindGitOpsRepo:           {"spec", reflect.TypeFor[v1alpha1.GitOpsRepoSpec]()},
	v1alpha1.KindRollout:              {"spec", reflect.TypeFor[v1alpha1.RolloutSpec]()},
	v1alpha1.KindSchedulingPolicy:     {"spec", reflect.TypeFor[v1alpha1.SchedulingPolicySpec]()},
	v1alpha1.KindTemplate:             {"spec", reflect.TypeFor[v1alpha1.TemplateSpec]()},
	v1alpha1.KindWorkloadRegistration: {"spec", reflect.TypeFor[v1alpha1.WorkloadRegistrationSpec]()},
	"ConfigMap":                       {"data", reflect.TypeFor[model.ConfigMap]()},
}

// written are the types that files have otherwise than their values are in memory.
var written = map[reflect.Type]reflect.Type{
	reflect.TypeFor[v1alpha1.Amount]():    reflect.TypeFor[amount](),
	reflect.TypeFor[v1alpha1.Duration]():  reflect.TypeFor[duration](),
	reflect.TypeFor[v1alpha1.TimeOfDay](): reflect.TypeFor[timeOfDay](),
	reflect.TypeFor[v1alpha1.Weekday]():   reflect.TypeFor[weekday](),
}

type (
	amount    struct{}
	duration  struct{}
	timeOfDay struct{}
	weekday   struct{}
)

// Schema implements huma.SchemaProvider.
func (amount) Schema(huma.Registry) *huma.Schema {
	none := 0.0
	return &huma.Schema{
		AnyOf:       []*huma.Schema{{Type: huma.TypeInteger, Minimum: &none}, {Type: huma.TypeString, Pattern: `^([0-9]+|([0-9]{1,2}|100)%)$`}},
		Description: "A number of clusters, or a share of them, as in 10%.",
	}
}

// Schema implements huma.SchemaProvider.
func (duration) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Pattern: `^([0-9.]+(ns|us|µs|ms|s|m|h))+$`, Description: "A time, as in 90s, 30m or 48h."}
}

// Schema implements huma.SchemaProvider.
func (timeOfDay) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Pattern: `^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$`, Description: "Hours and minutes, as in 09:30."}
}

// Schema implements huma.SchemaProvider.
func (weekday) Schema(huma.Registry) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString}
	for _, day := range v1alpha1.Weekdays() {
		s.Enum = append(s.Enum, day)
	}
	return s
}

// descriptions help to fill in a form, by the name of a field.
var descriptions = map[string]string{
	"labels": "What selectors and platform configuration match.", "reconciler": "The Template of type reconciler: how clusters of this type get what is assigned to them.",
	"namespaceService": "The Template of type namespace.", "configType": "The Template of type config; configmap when absent.",
	"deploymentTargetSelector": "Which deployment targets; all when it is empty.", "clusterTypeSelector": "On which cluster types; all when it is empty.",
	"workspace": "Of an application's team.", "schema": "A JSON schema, which the platform configuration of all that the labels match has to satisfy.",
	"repo": "Clone URL of a repository.", "branch": "A branch of it.", "path": "A folder in it; the root when absent.", "commit": "The commit that is promoted; the branch's head when absent.",
	"manifests": "The files that it makes, each a Go template.", "type": "What the template makes.", "data": "Keys and values of the platform configuration.",
	"clusterType": "Whose clusters.", "waves": "In their order; the last one holds all clusters that are in no other.", "soak": "How long the wave has to be well before the next one begins.",
	"maxFailures": "How many clusters of a wave may fail; none when absent.", "windows": "When a wave may begin; always when absent.", "timeZone": "As in Europe/Berlin; UTC when absent.",
	"matchLabels": "Labels that an object must have.", "matchExpressions": "Conditions on labels, all of which must hold.",
}

// enums are the values that a field can have, by its name.
var enums = map[string][]any{
	"operator":    {"In", "NotIn", "Exists", "DoesNotExist"},
	"type":        {string(v1alpha1.ReconcilerTemplate), string(v1alpha1.NamespaceTemplate), string(v1alpha1.ConfigTemplate)},
	"contentType": {string(v1alpha1.YAMLContent), string(v1alpha1.ShellContent)},
}

// SchemaOf is the schema of a kind, made from its type.
func SchemaOf(kind string) Schema {
	known := specs[kind]
	registry := huma.NewMapRegistry("#/$defs/", huma.DefaultSchemaNamer)
	for value, text := range written {
		registry.RegisterTypeAlias(value, text)
	}
	version := v1alpha1.APIVersion
	content := registry.Schema(known.spec, false, "")
	metadata := registry.Schema(reflect.TypeFor[v1alpha1.Metadata](), false, "")
	metadata.AdditionalProperties = true // Kubernetes has more of it
	properties := map[string]*huma.Schema{
		"apiVersion": {Type: huma.TypeString, Enum: []any{version}}, "kind": {Type: huma.TypeString, Enum: []any{kind}}, "metadata": metadata, known.field: content,
	}
	required := []string{"apiVersion", "kind", "metadata", known.field}
	if known.field == "data" {
		properties["apiVersion"].Enum = []any{"v1"}
		properties["data"] = &huma.Schema{Type: huma.TypeObject, AdditionalProperties: &huma.Schema{Type: huma.TypeString}}
	}
	for _, one := range registry.Map() {
		if one.Properties["manifests"] != nil && kind == v1alpha1.KindTemplate {
			one.Properties["manifests"] = &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString}} // which is how files have them
		}
	}
	root := &huma.Schema{Type: huma.TypeObject, Properties: properties, Required: required}
	describe(root)
	for _, s := range registry.Map() {
		describe(s)
	}
	document := map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": kind, "type": "object", "properties": properties, "required": required,
	}
	if len(registry.Map()) > 0 {
		document["$defs"] = registry.Map()
	}
	text, err := json.Marshal(document)
	if err != nil {
		panic(err) // types that are known always can be written
	}
	return text
}

// describe adds what types do not say: what fields are for, and the values that they can have.
func describe(s *huma.Schema) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		field := s.Properties[name]
		if field.Ref == "" && field.Description == "" {
			field.Description = descriptions[name]
		}
		if values := enums[name]; values != nil && field.Type == huma.TypeString {
			field.Enum = values
		}
		describe(field)
	}
	if s.Items != nil {
		describe(s.Items)
	}
}

// Described is a kind with its schema.
type Described struct {
	Kind   string `json:"kind"`
	Plural string `json:"plural" doc:"As paths of the API name it."`
	Schema Schema `json:"schema"`
}

// Schemas are those of all kinds that can be edited.
func Schemas() []Described {
	var all []Described
	for _, k := range Kinds() {
		all = append(all, Described{k.Name, k.Plural, SchemaOf(k.Name)})
	}
	return all
}

// FindKind is the kind of a name, in the singular or the plural of the API; false for none.
func FindKind(name string) (edit.Kind, bool) {
	all := Kinds()
	i := slices.IndexFunc(all, func(k edit.Kind) bool { return strings.EqualFold(k.Name, name) || strings.EqualFold(k.Plural, name) })
	if i < 0 {
		return edit.Kind{}, false
	}
	return all[i], true
}
