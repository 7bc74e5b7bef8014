package validate

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
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
	files := visible(s.Tree, s.Reference.Path, func(file string) bool {
		return bytes.Contains(s.Tree.Files[file], []byte(text))
	})
	for _, file := range files {
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

func isYAML(file string) bool { return path.Ext(file) == ".yaml" || path.Ext(file) == ".yml" }

// visible returns those of a tree's files at or below a folder that the model
// reads, sorted. Which files .sourceignore hides is asked of the model: each
// file is given one object to see whether it comes out again.
func visible(tree *model.Tree, folder string, wanted func(file string) bool) []string {
	probe := &model.Tree{Files: map[string][]byte{}}
	names := map[string]string{}
	for file, content := range tree.Files {
		switch {
		case path.Base(file) == ignoreFile:
			probe.Files[file] = content
		case isYAML(file) && wanted(file):
			name := fmt.Sprintf("probe-%d", len(names))
			names[name] = file
			probe.Files[file] = fmt.Appendf(nil, "apiVersion: %s\nkind: %s\nmetadata: {name: %s}\nspec: {controlPlane: {repo: r, branch: b}}\n",
				v1alpha1.APIVersion, v1alpha1.KindEnvironment, name)
		}
	}
	seen, _ := model.LoadEnvironments(probe, folder)
	files := map[string]bool{}
	for _, e := range seen {
		files[names[e.Name]] = true
	}
	return slices.Sorted(maps.Keys(files))
}

// ignoreFile names the files that are no part of the platform model.
const ignoreFile = ".sourceignore"

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
