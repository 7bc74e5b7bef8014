package configvalue

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

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
			return Text(v)
		}
		fields, _ := Fields(v)
		object := make(map[string]any, len(fields))
		for key, element := range fields {
			object[key] = coerceWith(element, propertySchemas(schemas, key, b), b)
		}
		return object
	case []any:
		if types["string"] && !types["array"] {
			return Text(v)
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
