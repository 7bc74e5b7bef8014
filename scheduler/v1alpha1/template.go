package v1alpha1

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// TemplateType says which file of an assignment a Template makes.
type TemplateType string

// The types of Template.
const (
	ReconcilerTemplate TemplateType = "reconciler"
	NamespaceTemplate  TemplateType = "namespace"
	ConfigTemplate     TemplateType = "config"
)

// ContentType says what a Template's output is, and so its file's extension.
type ContentType string

// The content types of a Template. An empty one means YAMLContent.
const (
	YAMLContent  ContentType = "yaml"
	ShellContent ContentType = "sh"
)

// TemplateSpec is a list of Go templates whose results, one after the other,
// make one file.
type TemplateSpec struct {
	Type        TemplateType `json:"type"`
	ContentType ContentType  `json:"contentType,omitempty"`
	Manifests   []Manifest   `json:"manifests"`
}

// Manifest is the text of one Go template. Documents hold it as a string, or,
// in older repositories, as an object whose strings hold template actions.
type Manifest struct {
	Text string `json:"text"`
	// Line is the line of the document's file that holds the first line of
	// Text; 0 when lines of Text and of the file do not go together.
	Line int `json:"line,omitempty"`
}

// UnmarshalYAML reads either form. It fails on a scalar that is not a string
// and on a list, because neither can be a manifest.
func (m *Manifest) UnmarshalYAML(node *yaml.Node) error {
	switch {
	case node.Kind == yaml.ScalarNode && node.ShortTag() == "!!str":
		m.Text, m.Line = node.Value, 0
		switch node.Style &^ yaml.TaggedStyle {
		case yaml.LiteralStyle:
			m.Line = node.Line + 1
		case yaml.FoldedStyle:
		default:
			m.Line = node.Line
		}
		return nil
	case node.Kind == yaml.MappingNode:
		text, err := objectText(node)
		if err != nil {
			return fmt.Errorf("reading manifest object: %w", err)
		}
		m.Text, m.Line = text, 0
		return nil
	}
	return fmt.Errorf("a manifest must be a string or an object")
}

// objectText writes an object as YAML. Aliases are written out, for their
// anchors may lie outside the object.
func objectText(node *yaml.Node) (string, error) {
	var value any = node
	if hasAlias(node) {
		var decoded any
		if err := node.Decode(&decoded); err != nil {
			return "", err
		}
		value = decoded
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(value); err != nil {
		return "", err
	}
	return out.String(), nil
}

func hasAlias(node *yaml.Node) bool {
	if node.Kind == yaml.AliasNode {
		return true
	}
	for _, child := range node.Content {
		if hasAlias(child) {
			return true
		}
	}
	return false
}
