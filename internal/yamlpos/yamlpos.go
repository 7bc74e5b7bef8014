// Package yamlpos finds values in parsed YAML documents, and where they stand
// in their files.
//
// It works on the nodes of go.yaml.in/yaml/v3, whose lines and columns count
// from 1. A path names fields of mappings by their keys and elements of lists
// by their indexes, from 0.
package yamlpos

import (
	"errors"
	"io"
	"iter"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// MaxMerges bounds the merge keys that are followed for one mapping: they can
// merge themselves or each other without end.
const MaxMerges = 100

// Documents returns the documents of a YAML stream, each a DocumentNode with one
// node as its content. With an error come the documents before it; for the
// error's line see [ExplainError].
func Documents(stream io.Reader) ([]*yaml.Node, error) {
	var documents []*yaml.Node
	decoder := yaml.NewDecoder(stream)
	for {
		document := new(yaml.Node)
		err := decoder.Decode(document)
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			return documents, err
		}
		documents = append(documents, document)
	}
}

// Resolve follows aliases. A node never is its own alias, because YAML defines
// an anchor before its use.
func Resolve(node *yaml.Node) *yaml.Node {
	for node != nil && node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	return node
}

// IsNull says whether a value is missing, or null in one of YAML's spellings.
func IsNull(node *yaml.Node) bool {
	return node == nil || node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null"
}

// Fields iterates over the keys and values that a mapping itself has, merge keys
// as they are. Any other node has none.
func Fields(node *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(key, value *yaml.Node) bool) {
		if node == nil || node.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(node.Content); i += 2 {
			if !yield(node.Content[i], node.Content[i+1]) {
				return
			}
		}
	}
}

// Field returns the key and the value of a mapping's own field, or the element of
// a list, which stands for its key. Both are nil where there is none.
func Field(node *yaml.Node, name string) (key, value *yaml.Node) {
	switch {
	case node == nil:
	case node.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == name {
				return node.Content[i], node.Content[i+1]
			}
		}
	case node.Kind == yaml.SequenceNode:
		if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(node.Content) {
			return node.Content[i], node.Content[i]
		}
	}
	return nil, nil
}

// Has says whether a mapping itself has a field.
func Has(node *yaml.Node, name string) bool {
	key, _ := Field(node, name)
	return key != nil
}

// Closest returns the key and the value at a path, or those of the last step
// that exists. Where not even the first does, both are the node itself.
func Closest(node *yaml.Node, path ...string) (key, value *yaml.Node) {
	key, value = node, node
	for _, name := range path {
		k, v := Field(Resolve(value), name)
		if k == nil {
			break
		}
		key, value = k, v
	}
	return key, value
}

// Value returns the value at a path of mappings, nil when there is none. It
// follows aliases and merge keys.
func Value(node *yaml.Node, path ...string) *yaml.Node {
	for _, name := range path {
		node = Resolve(node)
		if node == nil || node.Kind != yaml.MappingNode {
			return nil
		}
		merges := MaxMerges
		node = mergedField(node, name, &merges)
	}
	return Resolve(node)
}

// Text returns the text of the scalar at a path of mappings, "" when there is
// none. It follows aliases and merge keys.
func Text(node *yaml.Node, path ...string) string {
	if node = Value(node, path...); node == nil || node.Kind != yaml.ScalarNode {
		return ""
	}
	return node.Value
}

// mergedField returns the value of a mapping's field, its own or a merged one.
func mergedField(node *yaml.Node, name string, merges *int) *yaml.Node {
	if _, value := Field(node, name); value != nil {
		return value
	}
	for key, value := range Fields(node) {
		if key.ShortTag() != "!!merge" {
			continue
		}
		for _, source := range MergeSources(value) {
			if *merges--; *merges < 0 || source == nil || source.Kind != yaml.MappingNode {
				return nil
			}
			if value := mergedField(source, name, merges); value != nil {
				return value
			}
		}
	}
	return nil
}

// MergeSources returns what the value of a merge key names: a mapping, or a list
// of them, whatever stands there.
func MergeSources(value *yaml.Node) []*yaml.Node {
	value = Resolve(value)
	if value.Kind != yaml.SequenceNode {
		return []*yaml.Node{value}
	}
	var sources []*yaml.Node
	for _, element := range value.Content {
		sources = append(sources, Resolve(element))
	}
	return sources
}
