package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Application teams write schemas, and reading one takes time and memory that
// its length says little of: the library looks for each part among all the
// others, numbers are exact however large, and a short schema whose parts refer
// to each other twice and twice again takes years to validate. Real schemas are
// far below these limits. How long validating may take is the [meter]'s.
const (
	maxSchemaText   = 256 << 10 // bytes
	maxSchemaDepth  = 100       // JSON values in each other, of which a subschema takes two
	maxSchemaValues = 20000     // JSON values
	maxSchemaParts  = 3000      // objects and booleans, which subschemas are
	maxSchemaPaths  = 512 << 10 // bytes of the paths to all parts, which the library keeps
	maxSchemaSize   = 100000    // parts with the references written out
	maxSchemaChain  = 200       // subschemas for one value that lead to each other
	maxPatterns     = 20000     // size of all regular expressions, see patternSize
)

// What is beyond the largest float is no number of a configuration.
const (
	maxNumberLength = 400 // characters
	maxExponent     = 400
)

// boundedNumber says whether a number in JSON's notation can be calculated with
// in no time.
func boundedNumber(text string) bool {
	if len(text) > maxNumberLength {
		return false
	}
	i := strings.IndexAny(text, "eE")
	if i < 0 {
		return true
	}
	exponent, err := strconv.Atoi(text[i+1:])
	return err == nil && -maxExponent <= exponent && exponent <= maxExponent
}

// counts are the keywords whose values the library cuts off to an int.
var counts = map[string]bool{
	"minLength": true, "maxLength": true, "minItems": true, "maxItems": true, "minContains": true, "maxContains": true,
	"minProperties": true, "maxProperties": true,
}

// plain are the keywords whose values are no schemas.
var plain = map[string]bool{"const": true, "enum": true, "default": true, "examples": true}

// extent is how much of a schema has been looked at before it is compiled.
type extent struct{ values, parts, paths int }

// add looks at a value of a schema's JSON, which stands at a path.
func (e *extent) add(value any, path []string, isData bool) error {
	e.values++
	isPart := func() {
		e.parts++
		for _, name := range path {
			e.paths += len(name) + 1
		}
	}
	at := func(format string, args ...any) error {
		return fmt.Errorf("at /%s: %s", cutShort(strings.Join(path, "/"), maxFindingText), fmt.Sprintf(format, args...))
	}
	switch {
	case len(path) > maxSchemaDepth:
		return fmt.Errorf("it is too deep: it has more than %d values in each other", maxSchemaDepth)
	case e.values > maxSchemaValues:
		return fmt.Errorf("it is too large: it has more than %d values", maxSchemaValues)
	}
	switch v := value.(type) {
	case map[string]any:
		isPart()
		for key, element := range v {
			if err := e.add(element, append(path, key), isData || plain[key]); err != nil {
				return err
			}
		}
	case []any:
		for i, element := range v {
			if err := e.add(element, append(path, strconv.Itoa(i)), isData); err != nil {
				return err
			}
		}
	case bool:
		isPart()
	case json.Number:
		if !boundedNumber(v.String()) {
			return at("the number is too large: %d digits and an exponent of %d are the limits", maxNumberLength, maxExponent)
		}
		if n, ok := new(big.Rat).SetString(v.String()); ok && !isData && len(path) > 0 && counts[path[len(path)-1]] && n.IsInt() && !n.Num().IsInt64() {
			return at("the number is too large")
		}
	}
	switch {
	case e.parts > maxSchemaParts:
		return fmt.Errorf("it is too large: it has more than %d parts", maxSchemaParts)
	case e.paths > maxSchemaPaths:
		return fmt.Errorf("it is too large: the paths to its parts have more than %d bytes", maxSchemaPaths)
	}
	return nil
}

// inspect looks at a compiled schema with its references. Those that are
// resolved while validating, by what has led there, cannot be looked at.
func inspect(s *jsonschema.Schema) error {
	if weigh(s, map[*jsonschema.Schema]int{}) > maxSchemaSize {
		return fmt.Errorf("it is too large: written out, without references, it has more than %d parts", maxSchemaSize)
	}
	chains := map[*jsonschema.Schema]int{}
	for part := range reachable(s) {
		switch {
		case part.DynamicRef != nil, part.RecursiveRef != nil:
			return errors.New("$dynamicRef and $recursiveRef cannot be used; use $ref")
		case chain(part, chains) == endlessChain:
			return errEndless
		case chain(part, chains) > maxSchemaChain:
			return fmt.Errorf("it is too deep: more than %d of its parts lead to each other", maxSchemaChain)
		}
	}
	return nil
}

var errEndless = errors.New("it refers to itself without end")

// endlessChain is the length of a chain that leads back to itself.
const endlessChain = 1 << 30

// chain returns how many parts there are on the longest way from a part to
// others that are for the same value.
func chain(s *jsonschema.Schema, known map[*jsonschema.Schema]int) int {
	if n, ok := known[s]; ok {
		return n
	}
	known[s] = endlessChain // until it is known
	n := 1
	for _, part := range sameValueParts(s) {
		n = max(n, min(1+chain(part, known), endlessChain))
	}
	known[s] = n
	return n
}

// reachable returns all parts of a schema, itself among them.
func reachable(s *jsonschema.Schema) map[*jsonschema.Schema]bool {
	found := map[*jsonschema.Schema]bool{s: true}
	for todo := []*jsonschema.Schema{s}; len(todo) > 0; {
		last := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, part := range parts(last) {
			if !found[part] {
				found[part] = true
				todo = append(todo, part)
			}
		}
	}
	return found
}

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
	return append(sameValueParts(s), elementParts(s)...)
}

// sameValueParts returns those parts of a schema that are for the value that it
// is for itself.
func sameValueParts(s *jsonschema.Schema) []*jsonschema.Schema {
	all := []*jsonschema.Schema{s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else}
	if s.DynamicRef != nil {
		all = append(all, s.DynamicRef.Ref)
	}
	for _, list := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf} {
		all = append(all, list...)
	}
	for _, part := range s.DependentSchemas {
		all = append(all, part)
	}
	for _, part := range s.Dependencies {
		if part, ok := part.(*jsonschema.Schema); ok {
			all = append(all, part)
		}
	}
	return withoutNil(all)
}

// elementParts returns those parts of a schema that are for the elements of its
// value, for their names or for its content.
func elementParts(s *jsonschema.Schema) []*jsonschema.Schema {
	all := []*jsonschema.Schema{s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems, s.ContentSchema}
	all = append(all, s.PrefixItems...)
	for _, part := range s.Properties {
		all = append(all, part)
	}
	for _, part := range s.PatternProperties {
		all = append(all, part)
	}
	for _, part := range []any{s.AdditionalProperties, s.Items, s.AdditionalItems} {
		switch part := part.(type) {
		case *jsonschema.Schema:
			all = append(all, part)
		case []*jsonschema.Schema:
			all = append(all, part...)
		}
	}
	return withoutNil(all)
}

func withoutNil(all []*jsonschema.Schema) []*jsonschema.Schema {
	return slices.DeleteFunc(all, func(s *jsonschema.Schema) bool { return s == nil })
}
