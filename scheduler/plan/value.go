package plan

import (
	"bytes"
	"errors"
	"io"
	"reflect"
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
		m := make(map[string]any, len(node.Content)/2)
		for i := 0; i+1 < len(node.Content); i += 2 {
			key := node.Content[i]
			if key.Kind != yaml.ScalarNode {
				return nil, false
			}
			if _, twice := m[key.Value]; twice {
				return nil, false
			}
			value, ok := structured(node.Content[i+1], nodes)
			if !ok {
				return nil, false
			}
			m[key.Value] = value
		}
		return m, true
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
	return literal(text)
}

// merge combines the value a key has with one that comes later. Maps merge key
// by key and lists element by element, all else is replaced. replaced says
// that an earlier, different value is gone as a whole.
func merge(earlier, later any) (value any, replaced bool) {
	switch b := later.(type) {
	case map[string]any:
		if a, ok := earlier.(map[string]any); ok {
			return mergeMaps(a, b), false
		}
	case []any:
		if a, ok := earlier.([]any); ok {
			return mergeLists(a, b), false
		}
	}
	return later, !reflect.DeepEqual(earlier, later)
}

func mergeMaps(a, b map[string]any) map[string]any {
	m := make(map[string]any, len(a)+len(b))
	for key, value := range a {
		m[key] = value
	}
	for key, value := range b {
		if old, ok := m[key]; ok {
			value, _ = merge(old, value)
		}
		m[key] = value
	}
	return m
}

// mergeLists merges the elements that have the same name and appends the
// others.
func mergeLists(a, b []any) []any {
	list := make([]any, len(a), len(a)+len(b))
	copy(list, a)
	for _, element := range b {
		if i := indexByName(list, element); i >= 0 {
			list[i], _ = merge(list[i], element)
		} else {
			list = append(list, element)
		}
	}
	return list
}

func indexByName(list []any, element any) int {
	name := elementName(element)
	if name == nil {
		return -1
	}
	for i, other := range list {
		if elementName(other) == name {
			return i
		}
	}
	return -1
}

// elementName returns what a list's element calls itself, nil for nothing.
func elementName(element any) any {
	m, _ := element.(map[string]any)
	switch name := m["name"].(type) {
	case string, literal, int, float64, bool:
		return name
	}
	return nil
}

// clone copies maps and lists, so that a template that changes its data
// changes its own copy only.
func clone(value any) any {
	switch v := value.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, element := range v {
			m[key] = clone(element)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, element := range v {
			list[i] = clone(element)
		}
		return list
	}
	return value
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
