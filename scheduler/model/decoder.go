package model

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/yamlpos"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// frame is what surrounds the spec of every document.
type frame struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   v1alpha1.Metadata `json:"metadata"`
}

// read decodes a document. It reports what is wrong with it and returns false
// when the object must not be used.
func read[Spec any](doc document, findings *findings) (Object[Spec], bool) {
	d := &Decoder{position: doc.position, kind: doc.kind, findings: findings}
	object := Object[Spec]{Position: doc.position, node: doc.node}
	if doc.kind == v1alpha1.KindSchedulingPolicy {
		object.content = doc.content
	}
	rest := d.frame(doc.node, &object.Metadata)
	d.value(rest, reflect.ValueOf(&object.Spec).Elem(), restPath(doc.kind))
	d.name(doc.node, object.Name)
	if key, _ := yamlpos.Field(doc.node, sopsField); key != nil {
		d.Errorf(InvalidYAML, key, "commit it decrypted, or name the file in "+ignoreFile, "the document is encrypted by sops")
	}
	return object, !d.failed
}

// readable says whether at least a document's name and labels can be read.
func readable(doc document) bool {
	d := &Decoder{position: doc.position, kind: doc.kind, findings: &findings{}}
	var metadata v1alpha1.Metadata
	d.frame(doc.node, &metadata)
	d.name(doc.node, metadata.Name)
	for _, value := range metadata.Labels {
		d.failed = d.failed || strings.HasPrefix(value, encryptedValue)
	}
	return !d.failed
}

// name reports a name that Kubernetes would refuse, unless something else is
// wrong already.
func (d *Decoder) name(node *yaml.Node, name string) {
	if d.failed {
		return
	}
	if messages := validation.IsDNS1123Subdomain(name); len(messages) > 0 {
		_, at := yamlpos.Closest(node, "metadata", "name")
		d.Errorf(InvalidName, at, Requirement(messages[0]), "metadata.name %q is not a name", name)
	}
}

// frame decodes what all documents have in common and returns the node of the
// rest: the spec, or for a ConfigMap the document without the frame.
func (d *Decoder) frame(node *yaml.Node, metadata *v1alpha1.Metadata) *yaml.Node {
	fields, _ := d.Fields(node, "document")
	known := []structField{{name: "apiVersion"}, {name: "kind"}, {name: "metadata"}, {name: "spec"}}
	rest := &yaml.Node{Kind: yaml.MappingNode, Line: node.Line, Column: node.Column}
	var specification *yaml.Node
	for _, f := range fields {
		switch name := f.Key.Value; {
		case name == "apiVersion" || name == "kind" || name == sopsField:
		case name == "metadata":
			d.metadata(f.Value, metadata)
		case d.kind == kindConfigMap:
			if name != "binaryData" && name != "immutable" {
				rest.Content = append(rest.Content, f.Key, f.Value)
			}
		case name == "spec":
			specification = f.Value
		case name == "status":
		default:
			d.unknownField(f.Key, reflect.TypeFor[frame](), known, "")
		}
	}
	if metadata.Name == "" && !d.failed {
		_, at := yamlpos.Closest(node, "metadata")
		d.Errorf(MissingField, at, "", "metadata.name is missing")
	}
	if specification != nil && !yamlpos.IsNull(yamlpos.Resolve(specification)) {
		return specification
	}
	return rest
}

func (d *Decoder) metadata(node *yaml.Node, metadata *v1alpha1.Metadata) {
	node = yamlpos.Resolve(node)
	if yamlpos.IsNull(node) {
		return
	}
	fields, ok := d.Fields(node, "metadata")
	if !ok {
		return
	}
	known := &yaml.Node{Kind: yaml.MappingNode, Line: node.Line, Column: node.Column}
	for _, f := range fields {
		if !ignoredMetadata[f.Key.Value] {
			known.Content = append(known.Content, f.Key, f.Value)
		}
	}
	d.structure(known, reflect.ValueOf(metadata).Elem(), "metadata")
}

var ignoredMetadata = func() map[string]bool {
	set := map[string]bool{}
	for _, name := range v1alpha1.IgnoredMetadata() {
		set[name] = true
	}
	return set
}()

func restPath(kind string) string {
	if kind == kindConfigMap {
		return ""
	}
	return "spec"
}

// Decoder turns one YAML document into Go values and reports, for everything that
// does not fit, its position. It is strict about types, because a guess about what
// `1.10` or `yes` means would end in a cluster, and lenient about unknown fields,
// because a newer version may know them.
type Decoder struct {
	position Position // of the file
	kind     string
	findings *findings
	failed   bool // an error was found, the value must not be used
	values   int  // decoded so far
}

// maxValues bounds the values of one document, for aliases make few nodes stand
// for many.
const maxValues = 200_000

// tooMany counts the values in a node, and reports where there are too many of
// them.
func (d *Decoder) tooMany(node *yaml.Node) bool {
	before := d.values
	d.values += 1 + len(node.Content)
	if before <= maxValues && d.values > maxValues {
		d.Errorf(TooLarge, node, "use fewer aliases", "the document is too large: it has more than %d values", maxValues)
	}
	return d.values > maxValues
}

// strictTypes are the types in which an unknown field is an error: a selector
// whose only field is misspelled would match everything, and so would a wave.
var strictTypes = []reflect.Type{
	reflect.TypeFor[v1alpha1.SchedulingPolicySpec](),
	reflect.TypeFor[v1alpha1.DeploymentTargetSelector](),
	reflect.TypeFor[v1alpha1.ClusterTypeSelector](),
	reflect.TypeFor[metav1.LabelSelector](),
	reflect.TypeFor[metav1.LabelSelectorRequirement](),
	reflect.TypeFor[v1alpha1.RolloutSpec](),
	reflect.TypeFor[v1alpha1.RolloutWave](),
	reflect.TypeFor[v1alpha1.RolloutWindow](),
}

// NewDecoder makes a decoder for a file of another kind than the model's.
func NewDecoder(file Position) *Decoder { return &Decoder{position: file, findings: new(findings)} }

// Found are the diagnostics.
func (d *Decoder) Found() []Diagnostic { return d.findings.diagnostics }

// At is where a node of the file stands.
func (d *Decoder) At(node *yaml.Node) Position {
	position := d.position
	position.Line, position.Column = node.Line, node.Column
	return position
}

func (d *Decoder) report(code string, severity Severity, node *yaml.Node, message, hint string) {
	d.failed = d.failed || severity == Error
	d.findings.add(d.kind, Diagnostic{Code: code, Severity: severity, Position: d.At(node), Message: message, Hint: hint})
}

// Errorf reports what must not be used.
func (d *Decoder) Errorf(code string, node *yaml.Node, hint, format string, args ...any) {
	d.report(code, Error, node, fmt.Sprintf(format, args...), hint)
}

// value decodes node into v. The path is for messages.
func (d *Decoder) value(node *yaml.Node, v reflect.Value, path string) {
	node = yamlpos.Resolve(node)
	if yamlpos.IsNull(node) || d.tooMany(node) {
		return
	}
	if u, ok := v.Addr().Interface().(yaml.Unmarshaler); ok {
		if err := u.UnmarshalYAML(node); err != nil {
			d.Errorf(InvalidField, node, "", "%s: %s", path, err)
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.structure(node, v, path)
	case reflect.Map:
		d.stringMap(node, v, path)
	case reflect.Slice:
		if node.Kind != yaml.SequenceNode {
			d.Errorf(InvalidField, node, "", "%s must be a list", path)
			return
		}
		list := reflect.MakeSlice(v.Type(), len(node.Content), len(node.Content))
		for i, element := range node.Content {
			d.value(element, list.Index(i), fmt.Sprintf("%s[%d]", path, i))
		}
		v.Set(list)
	case reflect.String:
		v.SetString(d.Text(node, path))
	default:
		panic(fmt.Sprintf("model: no decoding into %s", v.Type()))
	}
}

// Text decodes a string, "" for what is none.
func (d *Decoder) Text(node *yaml.Node, path string) string {
	switch {
	case node.Kind != yaml.ScalarNode:
		d.Errorf(InvalidField, node, "", "%s must be a string", path)
	case node.ShortTag() != "!!str":
		d.Errorf(InvalidField, node, fmt.Sprintf("put it in quotes: %q", node.Value), "%s must be a string", path)
	default:
		return node.Value
	}
	return ""
}

func (d *Decoder) stringMap(node *yaml.Node, v reflect.Value, path string) {
	fields, ok := d.Fields(node, path)
	if !ok {
		return
	}
	m := reflect.MakeMapWithSize(v.Type(), len(fields))
	for _, f := range fields {
		value := reflect.New(v.Type().Elem()).Elem()
		d.value(f.Value, value, join(path, f.Key.Value))
		m.SetMapIndex(reflect.ValueOf(f.Key.Value), value)
	}
	v.Set(m)
}

func (d *Decoder) structure(node *yaml.Node, v reflect.Value, path string) {
	fields, ok := d.Fields(node, path)
	if !ok {
		return
	}
	known := structFields(v.Type())
	for _, f := range fields {
		i := slices.IndexFunc(known, func(k structField) bool { return k.name == f.Key.Value })
		if i < 0 {
			d.unknownField(f.Key, v.Type(), known, path)
			continue
		}
		d.value(f.Value, v.FieldByIndex(known[i].index), join(path, f.Key.Value))
	}
	for _, k := range known {
		if k.required && !d.failed && v.FieldByIndex(k.index).IsZero() {
			d.Errorf(MissingField, node, "", "%s is missing", join(path, k.name))
		}
	}
}

func (d *Decoder) unknownField(key *yaml.Node, t reflect.Type, known []structField, path string) {
	names := make([]string, len(known))
	for i, k := range known {
		names[i] = k.name
	}
	severity := Warning
	if slices.Contains(strictTypes, t) || strings.HasPrefix(key.Value, "labels") || misspelt(key.Value, "labels") {
		severity = Error // without its labels, what selected an object does not select it any more
	}
	if path == "" || path == "metadata" {
		// it may have slipped out of labels, spec or data, which lacks it then;
		// Flux, which applies by the schema, refuses such an object as well
		severity = Error
	}
	hint := Suggest(key.Value, names, "known fields are "+strings.Join(names, ", "))
	d.report(UnknownField, severity, key, fmt.Sprintf("unknown field %s", join(path, key.Value)), hint)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// Field is a field of a mapping.
type Field struct{ Key, Value *yaml.Node }

// Fields returns the fields of a mapping, those that a merge key brings in
// after its own. It reports what is no mapping, and keys that stand twice.
func (d *Decoder) Fields(node *yaml.Node, path string) ([]Field, bool) {
	if node.Kind != yaml.MappingNode {
		d.Errorf(InvalidField, node, "", "%s must be an object", path)
		return nil, false
	}
	var all []Field
	seen := map[string]bool{}
	merges := 0
	var collect func(node *yaml.Node)
	collect = func(node *yaml.Node) {
		if d.tooMany(node) {
			return
		}
		var merged []*yaml.Node
		own := map[string]bool{}
		for i := 0; i+1 < len(node.Content); i += 2 {
			key, value := node.Content[i], node.Content[i+1]
			switch {
			case key.ShortTag() == "!!merge":
				merged = append(merged, yamlpos.MergeSources(value)...)
			case key.Kind != yaml.ScalarNode:
				d.Errorf(InvalidField, key, "", "%s has a key that is no string", path)
			case own[key.Value]:
				d.Errorf(InvalidField, key, "", "%s stands twice", join(path, key.Value))
			default:
				own[key.Value] = true
				if !seen[key.Value] {
					seen[key.Value] = true
					all = append(all, Field{key, value})
				}
			}
		}
		for _, source := range merged {
			merges++
			if source.Kind != yaml.MappingNode || merges > yamlpos.MaxMerges {
				if merges <= yamlpos.MaxMerges+1 {
					d.Errorf(InvalidField, node, "", "%s has a merge key that cannot be followed", path)
				}
				return
			}
			collect(source)
		}
	}
	collect(node)
	return all, true
}

type structField struct {
	name     string
	index    []int
	required bool
}

// structFields lists the fields of a struct by their json tags, those of
// inlined structs included. A field without omitempty is required.
func structFields(t reflect.Type) []structField {
	var fields []structField
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			for _, inner := range structFields(f.Type) {
				inner.index = append(slices.Clone(f.Index), inner.index...)
				fields = append(fields, inner)
			}
			continue
		}
		fields = append(fields, structField{name: name, index: f.Index, required: !strings.Contains(options, "omitempty")})
	}
	return fields
}
