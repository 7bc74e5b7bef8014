package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	yaml2 "go.yaml.in/yaml/v2"
	"go.yaml.in/yaml/v3"
)

// maxValueNodes bounds how large a value may grow by its aliases.
const maxValueNodes = 10000

// parseValue reads a ConfigMap's value: a map[any]any or a []any when the text
// is a YAML map or list, else the string that it is. A value in single quotes
// is the string between them.
//
// YAML is read in version 1.1, by the library and into the types of the original
// scheduler: templates print values, ask for their kinds and hash them, so that
// another type of the same value would change manifests.
func parseValue(text string) any {
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

// fieldsOf returns a map's elements by the texts of their keys, and false for
// what is no map.
func fieldsOf(value any) (map[string]any, bool) {
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

func isStructured(value any) bool {
	switch value.(type) {
	case map[string]any, map[any]any, []any:
		return true
	}
	return false
}

// templateIndent is how far the YAML that templates print is indented. It is
// that of the original scheduler, because such YAML can be part of a text.
const templateIndent = 4

// toYAML writes a value as YAML without a newline at its end.
func toYAML(value any) (string, error) {
	text, err := writeYAML(value, templateIndent)
	return strings.TrimSuffix(text, "\n"), err
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

// valueText is a value as a text: a string as it is, all else as YAML.
func valueText(value any) string {
	if s, ok := value.(string); ok {
		return s
	}
	text, err := writeYAML(value, 2)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(text, "\n")
}

// A ConfigMap can hold nothing but strings. coerce gives each value the type
// that its schema asks for, where the text allows it: never the type that the
// text looks like, so "1.10" and "007" stay what they are for a schema that
// asks for a string, or for nothing.
func coerce(value any, s *jsonschema.Schema, b *validationBudget) any {
	return coerceWith(value, []*jsonschema.Schema{s}, b)
}

// coerceWith coerces by the schemas that all apply to one value.
func coerceWith(value any, schemas []*jsonschema.Schema, b *validationBudget) any {
	schemas = alternatives(schemas, b)
	types := allowedTypes(schemas, b)
	switch v := value.(type) {
	case map[string]any, map[any]any:
		if types["string"] && !types["object"] {
			return valueText(v)
		}
		fields, _ := fieldsOf(v)
		object := make(map[string]any, len(fields))
		for key, element := range fields {
			object[key] = coerceWith(element, propertySchemas(schemas, key, b), b)
		}
		return object
	case []any:
		if types["string"] && !types["array"] {
			return valueText(v)
		}
		list := make([]any, len(v))
		for i, element := range v {
			list[i] = coerceWith(element, itemSchemas(schemas, i, b), b)
		}
		return list
	}
	return coerceScalar(value, types)
}

// alternatives returns some schemas and every schema that they put upon the
// same value, each once.
func alternatives(schemas []*jsonschema.Schema, b *validationBudget) []*jsonschema.Schema {
	var all []*jsonschema.Schema
	seen := map[*jsonschema.Schema]bool{nil: true}
	var visit func(schemas ...*jsonschema.Schema)
	visit = func(schemas ...*jsonschema.Schema) {
		for _, s := range schemas {
			b.charge(coerceCost)
			if seen[s] {
				continue
			}
			seen[s] = true
			all = append(all, s)
			visit(s.Ref, s.If, s.Then, s.Else)
			visit(s.AllOf...)
			visit(s.AnyOf...)
			visit(s.OneOf...)
		}
	}
	visit(schemas...)
	return all
}

func propertySchemas(schemas []*jsonschema.Schema, key string, b *validationBudget) []*jsonschema.Schema {
	var found []*jsonschema.Schema
	for _, s := range schemas {
		b.charge(coerceCost)
		matched := false
		if property := s.Properties[key]; property != nil {
			found, matched = append(found, property), true
		}
		for pattern, property := range s.PatternProperties {
			b.charge(textCost(key, sizeOf(pattern)))
			if pattern.MatchString(key) {
				found, matched = append(found, property), true
			}
		}
		if additional, ok := s.AdditionalProperties.(*jsonschema.Schema); ok && !matched {
			found = append(found, additional)
		}
	}
	return found
}

func itemSchemas(schemas []*jsonschema.Schema, i int, b *validationBudget) []*jsonschema.Schema {
	var found []*jsonschema.Schema
	for _, s := range schemas {
		b.charge(coerceCost)
		if i < len(s.PrefixItems) {
			found = append(found, s.PrefixItems[i])
			continue
		}
		if s.Items2020 != nil {
			found = append(found, s.Items2020)
		}
		switch items := s.Items.(type) {
		case *jsonschema.Schema:
			found = append(found, items)
		case []*jsonschema.Schema:
			if i < len(items) {
				found = append(found, items[i])
			} else if more, ok := s.AdditionalItems.(*jsonschema.Schema); ok {
				found = append(found, more)
			}
		}
	}
	return found
}

// allowedTypes returns the types that the schemas name: by type, or where that
// is missing by the values of enum and const.
func allowedTypes(schemas []*jsonschema.Schema, b *validationBudget) map[string]bool {
	types := map[string]bool{}
	for _, s := range schemas {
		if s.Types != nil && !s.Types.IsEmpty() {
			for _, name := range s.Types.ToStrings() {
				types[name] = true
			}
			continue
		}
		var values []any
		if s.Enum != nil {
			b.charge(elementCost * len(s.Enum.Values))
			values = append(values, s.Enum.Values...)
		}
		if s.Const != nil {
			values = append(values, *s.Const)
		}
		for _, value := range values {
			types[typeName(value)] = true
		}
	}
	return types
}

func typeName(value any) string {
	switch value.(type) {
	case string:
		return "string"
	case bool:
		return "boolean"
	case nil:
		return "null"
	case json.Number, float64, int, uint64:
		return "number"
	}
	return "object"
}

var (
	integerText = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)
	numberText  = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
)

// coerceScalar turns a value's text into the first of the types that it can
// be. Where a string is allowed the text stays.
func coerceScalar(value any, types map[string]bool) any {
	var text string
	switch v := value.(type) {
	case string:
		text = v
	case int, uint64:
		if types["string"] && !types["integer"] && !types["number"] {
			return fmt.Sprint(v)
		}
		return v
	case float64:
		if types["string"] && !types["number"] {
			return strconv.FormatFloat(v, 'g', -1, 64)
		}
		return v
	case bool:
		if types["string"] && !types["boolean"] {
			return strconv.FormatBool(v)
		}
		return v
	default:
		return value
	}
	switch {
	case types["string"]:
		return text
	case types["integer"] && boundedNumber(text) && integerText.MatchString(text):
		return json.Number(text)
	case types["number"] && boundedNumber(text) && numberText.MatchString(text):
		return json.Number(text)
	case types["boolean"] && (text == "true" || text == "false"):
		return text == "true"
	case types["null"] && text == "null":
		return nil
	}
	return text
}
