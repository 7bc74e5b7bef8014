package validate

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
)

// schemaTexts reports ConfigSchemas whose schema is none, whether or not they
// are used.
func (e *examination) schemaTexts(ctx context.Context) {
	for _, s := range e.Model.ConfigSchemas {
		e.schema(ctx, s.Spec.Schema, s.At("spec", "schema"), Finding{object: objectOf(v1alpha1.KindConfigSchema, s)})
	}
}

// schemas reports workloads' schemas that are none, and ConfigSchemas that ask
// nothing of anybody.
func (e *examination) schemas(ctx context.Context) {
	for _, s := range e.Model.ConfigSchemas {
		like := Finding{object: objectOf(v1alpha1.KindConfigSchema, s)}
		if why, bad := e.unmatched(s.Labels); bad {
			like.Rule, like.Severity, like.unused = UnmatchedSchema, Warning, true
			like.Position = s.At(append([]string{"metadata", "labels"}, why.path...)...)
			like.Message = fmt.Sprintf("ConfigSchema %s applies to nothing: %s", s.Name, why.message)
			like.Hint = why.hint
			e.report(like)
		}
	}
	for _, w := range e.Model.Workloads {
		like := Finding{object: objectOf(v1alpha1.KindWorkload, w.Object)}
		for i, text := range w.Spec.ConfigSchemas {
			e.schema(ctx, text, w.At("spec", "configSchemas", strconv.Itoa(i)), like)
		}
		for n, t := range w.Spec.DeploymentTargets {
			if t.Environment != e.Model.Name {
				continue
			}
			for i, text := range t.ConfigSchemas {
				e.schema(ctx, text, w.At("spec", "deploymentTargets", strconv.Itoa(n), "configSchemas", strconv.Itoa(i)), like)
			}
		}
	}
}

// schema reports what is wrong with one JSON schema. An empty one stands for
// a schema that could not be read, which the model has reported.
func (e *examination) schema(ctx context.Context, text string, position model.Position, like Finding) {
	if text == "" {
		return
	}
	problems, err := schemaProblems(ctx, text, position)
	if err != nil {
		return
	}
	for _, p := range problems {
		e.report(e.fromProblem(p))
	}
	if len(problems) > 0 {
		return
	}
	for _, m := range misspelledKeywords(text) {
		f := like
		f.Rule, f.Severity, f.Position = SchemaKeyword, Warning, position
		f.Message = fmt.Sprintf("%s is no keyword of JSON schema, so it asks for nothing", m.path)
		f.Hint = fmt.Sprintf("did you mean %s?", m.near)
		e.report(f)
	}
}

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

// misspelledKeywords finds fields of a JSON schema that look like a
// misspelling, sorted by path. Other unknown fields are extensions.
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
