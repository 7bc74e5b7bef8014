package policytest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/yamlpos"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"go.yaml.in/yaml/v3"
)

// decoder takes YAML nodes apart and keeps what is wrong with them. It is
// strict: a misspelled expectation would be one that always holds.
type decoder struct {
	file  model.Position
	found []model.Diagnostic
}

func (d *decoder) at(node *yaml.Node) model.Position {
	p := d.file
	p.Line, p.Column = node.Line, node.Column
	return p
}

func (d *decoder) errorf(node *yaml.Node, hint, format string, args ...any) {
	d.found = append(d.found, model.Diagnostic{Severity: model.Error, Position: d.at(node), Message: fmt.Sprintf(format, args...), Hint: hint})
}

type field struct {
	key, value *yaml.Node
}

// fields returns a mapping's fields as they stand. It reports what is no
// mapping, keys that are no names, and keys that stand twice.
func (d *decoder) fields(node *yaml.Node, what string) []field {
	node = yamlpos.Resolve(node)
	if node.Kind != yaml.MappingNode {
		d.errorf(node, "", "%s must be an object", what)
		return nil
	}
	var all []field
	seen := map[string]bool{}
	for key, value := range yamlpos.Fields(node) {
		switch {
		case key.Kind != yaml.ScalarNode:
			d.errorf(key, "", "%s has a key that is no string", what)
		case seen[key.Value]:
			d.errorf(key, "", "%s.%s stands twice", what, key.Value)
		default:
			seen[key.Value] = true
			all = append(all, field{key, yamlpos.Resolve(value)})
		}
	}
	return all
}

// known is fields for an object of which all fields are known.
func (d *decoder) known(node *yaml.Node, what string, names ...string) map[string]*yaml.Node {
	values := map[string]*yaml.Node{}
	for _, f := range d.fields(node, what) {
		if slices.Contains(names, f.key.Value) {
			values[f.key.Value] = f.value
			continue
		}
		hint := model.Suggest(f.key.Value, names, "known fields are "+strings.Join(names, ", "))
		d.errorf(f.key, hint, "unknown field %s of %s", f.key.Value, what)
	}
	return values
}

// text reads a string that is not empty. A nil node is an empty one.
func (d *decoder) text(node *yaml.Node, what string) Name {
	if node == nil {
		return Name{}
	}
	switch {
	case node.Kind != yaml.ScalarNode:
		d.errorf(node, "", "%s must be a string", what)
	case node.ShortTag() == "!!null" || node.Value == "":
		d.errorf(node, "", "%s is empty", what)
	case node.ShortTag() != "!!str":
		d.errorf(node, fmt.Sprintf("put it in quotes: %q", node.Value), "%s must be a string", what)
	default:
		return Name{node.Value, d.at(node)}
	}
	return Name{}
}

// names reads a list of strings. Each may stand once.
func (d *decoder) names(node *yaml.Node, what string) []Name {
	if node == nil {
		return nil
	}
	if node.Kind != yaml.SequenceNode {
		d.errorf(node, fmt.Sprintf("put it in brackets: [%s]", node.Value), "%s must be a list", what)
		return nil
	}
	var names []Name
	for i, element := range node.Content {
		element = yamlpos.Resolve(element)
		name := d.text(element, fmt.Sprintf("%s[%d]", what, i))
		if slices.ContainsFunc(names, func(n Name) bool { return n.Text == name.Text }) {
			d.errorf(element, "", "%s stands twice in %s", name.Text, what)
		} else if name.Text != "" {
			names = append(names, name)
		}
	}
	return names
}
