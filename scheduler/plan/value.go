package plan

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// literal is a scalar inside a structured value whose text says more than its
// type can hold: 1.10, 007, a date. It prints as it was written.
type literal string

// MarshalYAML writes the text plain, as it was.
func (l literal) MarshalYAML() (any, error) {
	return &yaml.Node{Kind: yaml.ScalarNode, Value: string(l)}, nil
}

// maxValueNodes bounds how large a value may grow by its aliases.
const maxValueNodes = 10000

// parseValue reads a ConfigMap's value: a map[string]any or a []any when the
// text is a YAML map or list, else the string that it is. A value in single
// quotes is the string between them.
func parseValue(text string) any {
	if n := len(text); n >= 2 && text[0] == '\'' && text[n-1] == '\'' {
		return text[1 : n-1]
	}
	if isPlain(text) {
		return text
	}
	decoder := yaml.NewDecoder(strings.NewReader(text))
	var root, rest yaml.Node
	if decoder.Decode(&root) != nil || !errors.Is(decoder.Decode(&rest), io.EOF) || len(root.Content) != 1 {
		return text
	}
	switch root.Content[0].Kind {
	case yaml.MappingNode, yaml.SequenceNode:
		nodes := 0
		if value, ok := structured(root.Content[0], &nodes); ok {
			return value
		}
	}
	return text
}

// isPlain says of most texts that are neither a map nor a list that they are
// not, without parsing them.
func isPlain(text string) bool {
	if strings.ContainsAny(text, "[{\n\r\t") || strings.HasSuffix(text, ":") {
		return false
	}
	for _, sign := range []string{": ", "- ", "? "} {
		if strings.Contains(text, sign) {
			return false
		}
	}
	return !strings.HasSuffix(text, "-") && !strings.HasSuffix(text, "?")
}

// structured turns a node into maps, lists and scalars. It fails on keys that
// are no scalars, which is what a template action looks like in YAML, and on
// values beyond all bounds.
func structured(node *yaml.Node, nodes *int) (any, bool) {
	if *nodes++; *nodes > maxValueNodes {
		return nil, false
	}
	switch node.Kind {
	case yaml.AliasNode:
		return structured(node.Alias, nodes)
	case yaml.MappingNode:
		return structuredMap(node, nodes)
	case yaml.SequenceNode:
		list := make([]any, len(node.Content))
		for i, element := range node.Content {
			value, ok := structured(element, nodes)
			if !ok {
				return nil, false
			}
			list[i] = value
		}
		return list, true
	}
	return scalarValue(node), true
}

// structuredMap turns a mapping into a map. What a merge key brings in counts
// where the mapping has no such key of its own.
func structuredMap(node *yaml.Node, nodes *int) (any, bool) {
	m := make(map[string]any, len(node.Content)/2)
	var sources []any
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		value, ok := structured(node.Content[i+1], nodes)
		if !ok || key.Kind != yaml.ScalarNode {
			return nil, false
		}
		if key.ShortTag() == "!!merge" {
			if list, ok := value.([]any); ok {
				sources = append(sources, list...)
			} else {
				sources = append(sources, value)
			}
			continue
		}
		if _, twice := m[key.Value]; twice {
			return nil, false
		}
		m[key.Value] = value
	}
	for _, source := range sources {
		merged, ok := source.(map[string]any)
		if !ok {
			return nil, false
		}
		for key, value := range merged {
			if _, own := m[key]; !own {
				m[key] = value
			}
		}
	}
	return m, true
}

// scalarValue gives a scalar the type that YAML gives it, unless writing that
// type would not give the same text again.
func scalarValue(node *yaml.Node) any {
	text := node.Value
	switch node.ShortTag() {
	case "!!str":
		return text
	case "!!null":
		return nil
	case "!!bool":
		if b := strings.ToLower(text); b == "true" || b == "false" {
			return b == "true"
		}
	case "!!int":
		if n, err := strconv.Atoi(text); err == nil && strconv.Itoa(n) == text {
			return n
		}
	case "!!float":
		if f, err := strconv.ParseFloat(text, 64); err == nil && strconv.FormatFloat(f, 'g', -1, 64) == text && !strings.ContainsAny(text, "NnI") {
			return f
		}
	}
	// A tag that is written down, !!int or one of somebody's own, is left out
	// when the value is written. A text stands for itself then, unless it alone
	// means what the tag says.
	plain := yaml.Node{Kind: yaml.ScalarNode, Value: text}
	if !strings.HasPrefix(node.ShortTag(), "!!") || plain.ShortTag() == "!!str" || plain.ShortTag() == "!!null" {
		return text
	}
	return literal(text)
}

// toYAML writes a value as YAML with two spaces and without a newline at its
// end, as Helm's function of that name does.
func toYAML(value any) (string, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(value); err != nil {
		return "", err
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}

// valueText is a value for people: a string as it is, all else as YAML.
func valueText(value any) string {
	if s, ok := value.(string); ok {
		return s
	}
	text, err := toYAML(value)
	if err != nil {
		return ""
	}
	return text
}
