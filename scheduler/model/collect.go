package model

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/yamlpos"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
	"go.yaml.in/yaml/v3"
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
	d := &decoder{position: doc.position, kind: doc.kind, findings: findings}
	object := Object[Spec]{Position: doc.position, node: doc.node}
	rest := d.frame(doc.node, &object.Metadata)
	d.value(rest, reflect.ValueOf(&object.Spec).Elem(), restPath(doc.kind))
	d.name(doc.node, object.Name)
	if key, _ := yamlpos.Field(doc.node, sopsField); key != nil {
		d.errorf(key, "commit it decrypted, or name the file in "+ignoreFile, "the document is encrypted by sops")
	}
	return object, !d.failed
}

// readable says whether at least a document's name and labels can be read.
func readable(doc document) bool {
	d := &decoder{position: doc.position, kind: doc.kind, findings: &findings{}}
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
func (d *decoder) name(node *yaml.Node, name string) {
	if d.failed {
		return
	}
	if messages := validation.IsDNS1123Subdomain(name); len(messages) > 0 {
		_, at := yamlpos.Closest(node, "metadata", "name")
		d.errorf(at, messages[0], "metadata.name %q is not a name", name)
	}
}

// frame decodes what all documents have in common and returns the node of the
// rest: the spec, or for a ConfigMap the document without the frame.
func (d *decoder) frame(node *yaml.Node, metadata *v1alpha1.Metadata) *yaml.Node {
	fields, _ := d.fields(node, "document")
	known := []structField{{name: "apiVersion"}, {name: "kind"}, {name: "metadata"}, {name: "spec"}}
	rest := &yaml.Node{Kind: yaml.MappingNode, Line: node.Line, Column: node.Column}
	var specification *yaml.Node
	for _, f := range fields {
		switch name := f.key.Value; {
		case name == "apiVersion" || name == "kind" || name == sopsField:
		case name == "metadata":
			d.metadata(f.value, metadata)
		case d.kind == kindConfigMap:
			if name != "binaryData" && name != "immutable" {
				rest.Content = append(rest.Content, f.key, f.value)
			}
		case name == "spec":
			specification = f.value
		case name == "status":
		default:
			d.unknownField(f.key, reflect.TypeFor[frame](), known, "")
		}
	}
	if metadata.Name == "" && !d.failed {
		_, at := yamlpos.Closest(node, "metadata")
		d.errorf(at, "", "metadata.name is missing")
	}
	if specification != nil && !yamlpos.IsNull(yamlpos.Resolve(specification)) {
		return specification
	}
	return rest
}

func (d *decoder) metadata(node *yaml.Node, metadata *v1alpha1.Metadata) {
	node = yamlpos.Resolve(node)
	if yamlpos.IsNull(node) {
		return
	}
	fields, ok := d.fields(node, "metadata")
	if !ok {
		return
	}
	known := &yaml.Node{Kind: yaml.MappingNode, Line: node.Line, Column: node.Column}
	for _, f := range fields {
		if !ignoredMetadata[f.key.Value] {
			known.Content = append(known.Content, f.key, f.value)
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

// named is what collections need of an object.
type named interface {
	name() string
	position() Position
	unreadable() bool
}

func (o Object[Spec]) name() string       { return o.Name }
func (o Object[Spec]) position() Position { return o.Position }
func (o Object[Spec]) unreadable() bool   { return len(o.Unreadable) > 0 }

// unique drops every object whose name an earlier one has, and reports both
// places. The order of what it gets decides, so that must not depend on
// chance. Objects that cannot be read give way to others and are dropped too,
// except for kinds that concern whatever their labels match. What is kept stays in
// the array of objects, of which a fleet has a long one.
func unique[T named](kind string, objects []T, findings *findings) []T {
	labelled := kind == kindConfigMap || kind == v1alpha1.KindConfigSchema
	first := make(map[string]int, len(objects))
	kept := objects[:0]
	for _, object := range objects {
		i, found := first[object.name()]
		if !found {
			first[object.name()] = len(kept)
			kept = append(kept, object)
			continue
		}
		earlier := kept[i]
		counts := "the other one"
		if !labelled && earlier.unreadable() && !object.unreadable() {
			kept[i], counts = object, "this one"
		}
		findings.add(kind, alreadyDefined(kind, object, earlier, counts))
	}
	if labelled {
		return kept
	}
	return slices.DeleteFunc(kept, T.unreadable)
}

// alreadyDefined reports an object whose name an earlier one has.
func alreadyDefined(kind string, object, earlier named, counts string) Diagnostic {
	d := Diagnostic{
		Severity: Error,
		Position: object.position(),
		Message:  fmt.Sprintf("%s %s is already defined at %s", kind, object.name(), earlier.position()),
		Hint:     fmt.Sprintf("rename or remove one of them; until then only %s counts", counts),
	}
	switch {
	case object.position() == earlier.position():
		d.Hint = "a base reads the same folder at another commit: give it a folder or branch of its own"
	case object.unreadable() && earlier.unreadable():
		d.Hint = "rename or remove one of them"
	}
	return d
}
