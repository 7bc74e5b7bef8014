package validate

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// How the value of a JSON schema keyword holds further schemas.
const (
	plain  = iota // it does not
	single        // it is a schema, or a list of schemas
	named         // its fields are schemas
)

// keywords are those of JSON schema's drafts. Unknown ones are legal, and
// mean nothing.
var keywords = map[string]int{
	"$anchor": plain, "$comment": plain, "$defs": named, "$dynamicAnchor": plain, "$dynamicRef": plain, "$id": plain,
	"$recursiveAnchor": plain, "$recursiveRef": plain, "$ref": plain, "$schema": plain, "$vocabulary": plain,
	"additionalItems": single, "additionalProperties": single, "allOf": single, "anyOf": single, "const": plain,
	"contains": single, "contentEncoding": plain, "contentMediaType": plain, "contentSchema": single, "default": plain,
	"definitions": named, "dependencies": plain, "dependentRequired": plain, "dependentSchemas": named,
	"deprecated": plain, "description": plain, "else": single, "enum": plain, "examples": plain,
	"exclusiveMaximum": plain, "exclusiveMinimum": plain, "format": plain, "id": plain, "if": single, "items": single,
	"maxContains": plain, "maximum": plain, "maxItems": plain, "maxLength": plain, "maxProperties": plain,
	"minContains": plain, "minimum": plain, "minItems": plain, "minLength": plain, "minProperties": plain,
	"multipleOf": plain, "not": single, "oneOf": single, "pattern": plain, "patternProperties": named,
	"prefixItems": single, "properties": named, "propertyNames": single, "readOnly": plain, "required": plain,
	"then": single, "title": plain, "type": plain, "unevaluatedItems": single, "unevaluatedProperties": single,
	"uniqueItems": plain, "writeOnly": plain,
}

// misspelling is a field of a schema that is nearly a keyword.
type misspelling struct{ path, near string }

// misspelledKeywords finds fields of a JSON schema that look like a slip of
// the pen, sorted by path. Other unknown fields are somebody's own.
func misspelledKeywords(text string) []misspelling {
	var schema any
	if json.Unmarshal([]byte(text), &schema) != nil {
		return nil
	}
	return misspelled(schema, "", slices.Sorted(maps.Keys(keywords)))
}

func misspelled(schema any, path string, known []string) []misspelling {
	if list, ok := schema.([]any); ok {
		var found []misspelling
		for _, element := range list {
			found = append(found, misspelled(element, path, known)...)
		}
		return found
	}
	fields, _ := schema.(map[string]any)
	var found []misspelling
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		at := path + name
		holds, ok := keywords[name]
		switch {
		case !ok:
			if near := model.Nearest(name, known); near != "" {
				found = append(found, misspelling{at, near})
			}
		case holds == single:
			found = append(found, misspelled(fields[name], at+".", known)...)
		case holds == named:
			inner, _ := fields[name].(map[string]any)
			for _, key := range slices.Sorted(maps.Keys(inner)) {
				found = append(found, misspelled(inner[key], at+"."+key+".", known)...)
			}
		}
	}
	return found
}
