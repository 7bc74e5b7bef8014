package model

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
	"go.yaml.in/yaml/v3"
)

// platformConfigLabel marks the ConfigMaps that belong to the platform model
// when its value is "true".
const platformConfigLabel = "platform-config"

// kindConfigMap is the one kind of another group that is read.
const kindConfigMap = "ConfigMap"

// A document is one YAML document that belongs to the platform model.
type document struct {
	kind     string
	node     *yaml.Node // a mapping
	position Position
	outcome  *any // of decoding it, an *outcome[Spec] once it has been
}

// documentsOf returns the documents of a file. Whatever is wrong goes to
// findings.
func documentsOf(position Position, content []byte, findings *findings) []document {
	if beyond := unparsed(content); beyond != nil {
		findings.beyond(position, content, beyond)
		return nil
	}
	nodes, err := parse(content)
	if err != nil {
		findings.unparsable(position, content, err)
		return nil
	}
	var all []document
	for _, node := range nodes {
		position.Line, position.Column = node.Line, node.Column
		if doc, ok := classify(node, position, findings); ok {
			doc.outcome = new(any)
			all = append(all, doc)
		}
	}
	return all
}

// unparsed says why a file is not even parsed, nil when it is.
func unparsed(content []byte) *LimitError {
	switch {
	case content == nil:
		return &LimitError{What: "bytes in it", Max: MaxFile}
	case marks(content) > maxMarks:
		return &LimitError{What: "fields, list elements and lines in it", Max: maxMarks}
	}
	return nil
}

// parse returns the mappings that the documents of a YAML stream are. It takes
// the stream whole or not at all: what follows an error cannot be trusted, and
// what precedes it may be cut short.
func parse(content []byte) ([]*yaml.Node, error) {
	var nodes []*yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	for {
		var root yaml.Node
		err := decoder.Decode(&root)
		if errors.Is(err, io.EOF) {
			return nodes, nil
		}
		if err != nil {
			return nil, err
		}
		if root.Kind == yaml.DocumentNode && len(root.Content) == 1 && root.Content[0].Kind == yaml.MappingNode {
			nodes = append(nodes, root.Content[0])
		}
	}
}

// classify says whether a document belongs to the platform model.
func classify(node *yaml.Node, position Position, findings *findings) (document, bool) {
	apiVersion, kind := scalar(node, "apiVersion"), scalar(node, "kind")
	group, version, _ := strings.Cut(apiVersion, "/")
	switch {
	case apiVersion == "v1" && kind == kindConfigMap:
		isPlatform := scalar(node, "metadata", "labels", platformConfigLabel) == "true"
		if !isPlatform && !strings.HasPrefix(scalar(node, "metadata", "name"), AppConfigPrefix) {
			return document{}, false
		}
	case group != v1alpha1.Group:
		return document{}, false
	case version != v1alpha1.Version:
		findings.add(kind, Diagnostic{
			Severity: Error,
			Position: positionAt(node, position, []string{"apiVersion"}),
			Message:  fmt.Sprintf("apiVersion %s is not known", apiVersion),
			Hint:     "write " + v1alpha1.APIVersion,
		})
		return document{}, false
	case !isKind(kind):
		d := unknownKind(kind, positionAt(node, position, []string{"kind"}))
		if near := Nearest(kind, v1alpha1.Kinds()); near != "" {
			kind = near
		}
		findings.add(kind, d)
		return document{}, false
	}
	return document{kind: kind, node: node, position: position}, true
}

func isKind(kind string) bool {
	for _, known := range v1alpha1.Kinds() {
		if kind == known {
			return true
		}
	}
	return false
}

// unknownKind is an error unless the kind is one that the original scheduler
// keeps in its cluster as an intermediate result; those are harmless in git.
func unknownKind(kind string, position Position) Diagnostic {
	switch kind {
	case "Assignment", "AssignmentPackage", "DeploymentTarget":
		return Diagnostic{
			Severity: Warning,
			Position: position,
			Message:  fmt.Sprintf("kind %s is computed, not read", kind),
			Hint:     "remove the document",
		}
	}
	d := Diagnostic{Severity: Error, Position: position, Message: fmt.Sprintf("kind %q is not known", kind)}
	if near := Nearest(kind, v1alpha1.Kinds()); near != "" {
		d.Hint = fmt.Sprintf("did you mean %s?", near)
	} else {
		d.Hint = "known kinds are " + strings.Join(v1alpha1.Kinds(), ", ")
	}
	return d
}

// scalar returns the text of a scalar at a path of mappings, or "".
func scalar(node *yaml.Node, path ...string) string {
	for _, name := range path {
		node = resolve(node)
		if node == nil || node.Kind != yaml.MappingNode {
			return ""
		}
		steps := maxMerges
		node = merged(node, name, &steps)
	}
	if node = resolve(node); node == nil || node.Kind != yaml.ScalarNode {
		return ""
	}
	return node.Value
}

// merged returns the value of a mapping's field, its own or one that a merge
// key brings in. A deep or endless chain of merge keys ends after some steps.
func merged(node *yaml.Node, name string, steps *int) *yaml.Node {
	if _, value := child(node, name); value != nil {
		return value
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].ShortTag() != "!!merge" {
			continue
		}
		for _, source := range mergeSources(node.Content[i+1]) {
			if *steps--; *steps < 0 || source == nil || source.Kind != yaml.MappingNode {
				return nil
			}
			if value := merged(source, name, steps); value != nil {
				return value
			}
		}
	}
	return nil
}
