package model

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/yamlpos"
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
// findings, except for what is wrong with ConfigMaps, which not every
// reader reads: that goes to configs. In a Helm chart only what is written like
// the platform model's is taken for it.
func documentsOf(position Position, content []byte, chart bool, findings, configs *findings) []document {
	if beyond := unparsed(content); beyond != nil {
		findings.beyond(position, content, beyond)
		return nil
	}
	if message, hint := unreadableContent(content); message != "" && !chart {
		position.Line = 1
		findings.add("", Diagnostic{Severity: Error, Position: position, Message: message, Hint: hint})
		return nil
	}
	nodes, err := parse(content)
	if err != nil {
		findings.unparsable(position, content, chart, err)
		return nil
	}
	if len(nodes) == 0 && !chart {
		findings.noObject(position)
		return nil
	}
	r := &recognition{chart: chart, findings: findings, configs: configs}
	for _, node := range nodes {
		r.add(node, position)
	}
	return r.documents
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

// parse returns what the documents of a YAML stream hold, without those that are
// empty. It takes the stream whole or not at all: what follows an error cannot
// be trusted, and what precedes it may be cut short.
func parse(content []byte) ([]*yaml.Node, error) {
	documents, err := yamlpos.Documents(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	var nodes []*yaml.Node
	for _, document := range documents {
		for _, node := range document.Content {
			if !yamlpos.IsNull(node) && (node.Kind != yaml.MappingNode || len(node.Content) > 0) {
				nodes = append(nodes, node)
			}
		}
	}
	return nodes, nil
}

// recognition finds a file's documents.
type recognition struct {
	chart             bool // the file is part of a Helm chart
	findings, configs *findings
	documents         []document
	seen              map[*yaml.Node]bool // items of lists; an alias can repeat one, and a list that holds it
}

// add takes a document, or what is in it when it is a list.
func (r *recognition) add(node *yaml.Node, position Position) {
	position.Line, position.Column = node.Line, node.Column
	switch node.Kind {
	case yaml.SequenceNode:
		return // a patch, or data
	case yaml.MappingNode:
	default:
		if !r.chart {
			r.findings.add("", Diagnostic{Severity: Error, Position: position, Message: "this is a text and no object", Hint: "is the file cut off? name it in " + ignoreFile + " if it is no part of the platform model"})
		}
		return
	}
	apiVersion, kind := yamlpos.Text(node, "apiVersion"), yamlpos.Text(node, "kind")
	if (apiVersion == "v1" || apiVersion == v1alpha1.APIVersion) && isList(kind) {
		r.items(node, position)
		return
	}
	doc, ok := r.classify(node, apiVersion, kind, position)
	if !ok {
		return
	}
	if field := emptyField(node, kind); field != "" && !r.chart {
		r.of(kind).nothing(position, kind+" without "+field)
	}
	doc.outcome = new(any)
	r.documents = append(r.documents, doc)
}

// items takes the objects of a list, as Flux does.
func (r *recognition) items(list *yaml.Node, position Position) {
	items := yamlpos.Value(list, "items")
	if yamlpos.IsNull(items) {
		r.findings.nothing(position, "List without items")
		return
	}
	if items.Kind != yaml.SequenceNode {
		r.findings.add("", Diagnostic{Severity: Error, Position: positionAt(list, position, []string{"items"}), Message: "items must be a list"})
		return
	}
	if r.seen == nil {
		r.seen = map[*yaml.Node]bool{}
	}
	for _, item := range items.Content {
		if item = yamlpos.Resolve(item); r.seen[item] {
			continue
		}
		r.seen[item] = true
		if item.Kind != yaml.MappingNode {
			position.Line, position.Column = item.Line, item.Column
			r.findings.add("", Diagnostic{Severity: Error, Position: position, Message: "an item of a list must be an object", Hint: "is the file cut off?"})
			continue
		}
		r.add(item, position)
	}
}

// of returns where findings about a kind go.
func (r *recognition) of(kind string) *findings {
	if kind == kindConfigMap {
		return r.configs
	}
	return r.findings
}

// classify says whether a document belongs to the platform model, and reports
// one that almost does.
func (r *recognition) classify(node *yaml.Node, apiVersion, kind string, position Position) (document, bool) {
	group, version, _ := strings.Cut(apiVersion, "/")
	switch {
	case apiVersion == "v1" && kind == kindConfigMap && isPlatformConfig(node):
	case group != v1alpha1.Group:
		if !r.chart {
			r.foreign(node, apiVersion, kind, position)
		}
		return document{}, false
	case version != v1alpha1.Version:
		r.findings.add(meantKind(kind), Diagnostic{
			Severity: Error,
			Position: positionAt(node, position, []string{"apiVersion"}),
			Message:  fmt.Sprintf("apiVersion %s is not known", apiVersion),
			Hint:     "write " + v1alpha1.APIVersion,
		})
		return document{}, false
	case !isKind(kind):
		d := unknownKind(kind, positionAt(node, position, []string{"kind"}))
		if near := meantKind(kind); near != "" {
			kind = near
		} else if near := Nearest(kind, v1alpha1.Kinds()); near != "" {
			kind = near
		}
		r.findings.add(kind, d)
		return document{}, false
	}
	return document{kind: kind, node: node, position: position}, true
}

// foreign reports a document that is not the platform model's and may be meant
// to be.
func (r *recognition) foreign(node *yaml.Node, apiVersion, kind string, position Position) {
	if m := nearMiss(node, apiVersion, kind); m != nil {
		r.of(m.kind).add(m.kind, m.diagnostic(node, position))
		return
	}
	if apiVersion == "v1" && kind == kindConfigMap && emptyField(node, kind) != "" {
		r.configs.nothing(position, "ConfigMap without data")
	}
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
