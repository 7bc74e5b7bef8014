package plan

import "github.com/santhosh-tekuri/jsonschema/v6"

// maxSchemaSize bounds how large a schema may be with its references written
// out. Application teams write schemas, and a short one whose parts refer to
// each other twice and twice again takes years to validate.
const maxSchemaSize = 100000

// weigh counts the parts of a schema, those that are referred to as often as
// they are. A reference back to a part that is being counted adds nothing: how
// often validation follows it depends on the data. Beyond the limit the count
// need not be exact.
func weigh(s *jsonschema.Schema, known map[*jsonschema.Schema]int) int {
	if n, ok := known[s]; ok {
		return n
	}
	known[s] = 0
	n := 1
	for _, part := range parts(s) {
		if n <= maxSchemaSize {
			n += weigh(part, known)
		}
	}
	known[s] = n
	return n
}

// parts returns the schemas that a schema is made of.
func parts(s *jsonschema.Schema) []*jsonschema.Schema {
	all := []*jsonschema.Schema{
		s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else,
		s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems, s.ContentSchema,
	}
	if s.DynamicRef != nil {
		all = append(all, s.DynamicRef.Ref)
	}
	for _, list := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf, s.PrefixItems} {
		all = append(all, list...)
	}
	for _, part := range s.Properties {
		all = append(all, part)
	}
	for _, part := range s.PatternProperties {
		all = append(all, part)
	}
	for _, part := range s.DependentSchemas {
		all = append(all, part)
	}
	loose := []any{s.AdditionalProperties, s.Items, s.AdditionalItems}
	for _, part := range s.Dependencies {
		loose = append(loose, part)
	}
	for _, part := range loose {
		switch part := part.(type) {
		case *jsonschema.Schema:
			all = append(all, part)
		case []*jsonschema.Schema:
			all = append(all, part...)
		}
	}
	there := all[:0]
	for _, part := range all {
		if part != nil {
			there = append(there, part)
		}
	}
	return there
}
