package validate

import (
	"bytes"

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

// position returns where a node stands.
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
