package validate

import (
	"bytes"
	"strings"

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
		decoder := yaml.NewDecoder(bytes.NewReader(s.Tree.Files[file]))
		for {
			var root yaml.Node
			if decoder.Decode(&root) != nil {
				break // the end, or no YAML, which the model reports
			}
			if len(root.Content) != 1 || root.Content[0].Kind != yaml.MappingNode {
				continue
			}
			node := root.Content[0]
			apiVersion, kind := scalar(node, "apiVersion"), scalar(node, "kind")
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
	node, place := d.node, d.node
	for _, field := range fields {
		key, value := child(node, field)
		if key == nil {
			break
		}
		node, place = value, key
	}
	return d.position(place)
}

func child(node *yaml.Node, name string) (key, value *yaml.Node) {
	if node.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == name {
			return node.Content[i], node.Content[i+1]
		}
	}
	return nil, nil
}

// scalar returns the text at a path of fields, or "".
func scalar(node *yaml.Node, fields ...string) string {
	for _, field := range fields {
		if _, node = child(node, field); node == nil {
			return ""
		}
	}
	return strings.TrimSpace(node.Value)
}
