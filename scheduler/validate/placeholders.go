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

// placeholderTexts visits the values with the placeholder in the documents of a source
// that the model reads, in order of file and line.
func placeholderTexts(s Source, visit func(o object, at model.Position, text string)) {
	for _, file := range model.Files(s.Tree, s.Reference.Path) {
		if !bytes.Contains(s.Tree.Files[file], []byte(model.Placeholder)) {
			continue
		}
		read, _ := yamlpos.Documents(bytes.NewReader(s.Tree.Files[file])) // the model reports what is no YAML
		for _, root := range read {
			node := root.Content[0]
			apiVersion, kind := yamlpos.Text(node, "apiVersion"), yamlpos.Text(node, "kind")
			if apiVersion != v1alpha1.APIVersion && (apiVersion != "v1" || kind != kindConfigMap) {
				continue
			}
			at := model.Position{Repo: s.Reference.Repo, Branch: s.Reference.Branch, File: file}
			o := object{kind: kind, name: yamlpos.Text(node, "metadata", "name"), repo: at.Repo, branch: at.Branch, file: file}
			for _, node := range withPlaceholder(node, nil) {
				at.Line, at.Column = node.Line, node.Column
				visit(o, at, node.Value)
			}
		}
	}
}

// placeholders reports texts of the platform team that still hold it, and
// addresses of manifests in workloads.
func (e *examination) placeholders() {
	for _, s := range e.Trees {
		placeholderTexts(s, e.placeholder)
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
