package validate

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/yamlpos"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
	"go.yaml.in/yaml/v3"
)

// document is a YAML document of the platform model as it was written, for
// rules about what the model does not keep.
type document struct {
	kind string
	node *yaml.Node // a mapping
	file model.Position
}

// documents returns the documents that the model reads of those files of a
// source that hold a text, in order of file and line.
func documents(s Source, text string) []document {
	var all []document
	for _, file := range model.Files(s.Tree, s.Reference.Path) {
		if !bytes.Contains(s.Tree.Files[file], []byte(text)) {
			continue
		}
		read, _ := yamlpos.Documents(bytes.NewReader(s.Tree.Files[file])) // the model reports what is no YAML
		for _, root := range read {
			node := root.Content[0]
			apiVersion, kind := yamlpos.Text(node, "apiVersion"), yamlpos.Text(node, "kind")
			if apiVersion != v1alpha1.APIVersion && (apiVersion != "v1" || kind != kindConfigMap) {
				continue
			}
			all = append(all, document{kind: kind, node: node, file: model.Position{Repo: s.Reference.Repo, Branch: s.Reference.Branch, File: file}})
		}
	}
	return all
}

func (d document) position(node *yaml.Node) model.Position {
	p := d.file
	p.Line, p.Column = node.Line, node.Column
	return p
}

// at returns where a field stands, or the document where there is none.
func (d document) at(fields ...string) model.Position {
	key, _ := yamlpos.Closest(d.node, fields...)
	return d.position(key)
}

// placeholders reports texts of the platform team that still hold it, and
// addresses of manifests in workloads.
func (e *examination) placeholders() {
	for _, s := range e.Trees {
		for _, d := range documents(s, model.Placeholder) {
			o := object{kind: d.kind, name: yamlpos.Text(d.node, "metadata", "name"), repo: d.file.Repo, branch: d.file.Branch, file: d.file.File}
			for _, node := range withPlaceholder(d.node, nil) {
				e.placeholder(o, d.position(node), node.Value)
			}
		}
	}
	for _, w := range e.Model.Workloads {
		for i, t := range w.Spec.DeploymentTargets {
			for _, key := range slices.Sorted(maps.Keys(t.Manifests)) {
				if t.Environment == e.Model.Name && strings.Contains(t.Manifests[key], model.Placeholder) {
					at := w.At("spec", "deploymentTargets", strconv.Itoa(i), "manifests", key)
					e.placeholder(objectOf(v1alpha1.KindWorkload, w.Object), at, t.Manifests[key])
				}
			}
		}
	}
}

func (e *examination) placeholder(o object, at model.Position, text string) {
	for line := range strings.Lines(text) {
		if strings.Contains(line, model.Placeholder) {
			text = strings.TrimSpace(line)
			break
		}
	}
	e.report(Finding{
		Rule: Placeholder, Severity: Warning, Position: at, object: o,
		Message: fmt.Sprintf("%s still holds the placeholder %s", text, model.Placeholder),
		Hint:    "replace it by your organisation's name",
	})
}

// withPlaceholder returns the values below a node that hold the placeholder.
// Aliases are not followed: what they stand for stands elsewhere.
func withPlaceholder(node *yaml.Node, found []*yaml.Node) []*yaml.Node {
	if node.Kind == yaml.ScalarNode && strings.Contains(node.Value, model.Placeholder) {
		return append(found, node)
	}
	for _, child := range node.Content {
		found = withPlaceholder(child, found)
	}
	return found
}
