// Package configvalue knows the values of platform configuration and the JSON
// schemas that they are checked against: it reads values from the texts of
// ConfigMaps, gives them the types that a schema asks for, and says what breaks it.
//
// It knows nothing of the plan. What both take is bounded, for application teams
// write them: no value and no schema takes more than a moment.
package configvalue

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	yaml2 "go.yaml.in/yaml/v2"
	"go.yaml.in/yaml/v3"
)

// maxValueNodes bounds how large a value may grow by its aliases.
const maxValueNodes = 10000

// Parse reads a ConfigMap's value: a map[any]any or a []any when the text
// is a YAML map or list, else the string that it is. A value in single quotes
// is the string between them.
//
// YAML is read in version 1.1, by the library and into the types of the original
// scheduler: templates print values, ask for their kinds and hash them, so that
// another type of the same value would change manifests.
func Parse(text string) any {
	if s := strings.TrimSpace(text); len(s) >= 2 && s[0] == '\'' && s[len(s)-1] == '\'' {
		return s[1 : len(s)-1]
	}
	if isPlain(text) {
		return text
	}
	var value, rest any
	decoder := yaml2.NewDecoder(strings.NewReader(text))
	if decoder.Decode(&value) != nil || !errors.Is(decoder.Decode(&rest), io.EOF) {
		return text
	}
	switch value.(type) {
	case map[any]any, []any:
		if nodes := 0; isBounded(value, &nodes) {
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

// isBounded says whether a value is small enough, and without a key that equals
// nothing, not even itself: a map with several of those has no order.
func isBounded(value any, nodes *int) bool {
	if *nodes++; *nodes > maxValueNodes {
		return false
	}
	switch v := value.(type) {
	case map[any]any:
		for key, element := range v {
			if key != key || !isBounded(element, nodes) { //nolint:staticcheck // not a number
				return false
			}
		}
	case []any:
		for _, element := range v {
			if !isBounded(element, nodes) {
				return false
			}
		}
	}
	return true
}

// Fields returns a map's elements by the texts of their keys, and false for what
// is no map. What it returns may be the map itself, so it is only to be read.
func Fields(value any) (map[string]any, bool) {
	switch v := value.(type) {
	case map[string]any:
		return v, true
	case map[any]any:
		m := make(map[string]any, len(v))
		for key, element := range v {
			m[fmt.Sprint(key)] = element
		}
		return m, true
	}
	return nil, false
}

// Find returns what a value of maps in each other holds at a path of keys, and
// false when there is nothing.
func Find(value any, path []string) (any, bool) {
	for _, key := range path {
		fields, _ := Fields(value)
		element, found := fields[key]
		if !found {
			return nil, false
		}
		value = element
	}
	return value, true
}

// IsStructured says whether a value is a map or a list.
func IsStructured(value any) bool {
	switch value.(type) {
	case map[string]any, map[any]any, []any:
		return true
	}
	return false
}

// templateIndent is how far the YAML that templates print is indented. It is
// that of the original scheduler, because such YAML can be part of a text.
const templateIndent = 4

// YAML writes a value as templates print it, with a newline at its end. The error
// is that of a value that YAML cannot hold.
func YAML(value any) (string, error) {
	return writeYAML(value, templateIndent)
}

func writeYAML(value any, indent int) (string, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(indent)
	if err := encoder.Encode(value); err != nil {
		return "", err
	}
	return out.String(), nil
}

// Text is a value as a text, as users see it: a string as it is, all else as YAML
// without a newline at its end, and nothing for what YAML cannot hold.
func Text(value any) string {
	if s, ok := value.(string); ok {
		return s
	}
	text, err := writeYAML(value, 2)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(text, "\n")
}
