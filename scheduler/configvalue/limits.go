package configvalue

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Application teams write schemas, and a short one can take much time and memory:
// the library looks for each part among all the others, numbers are exact however
// large, and parts that refer to each other several times multiply. Real schemas are
// far below these limits. The time of a validation is bounded by [validationBudget].
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

// boundedNumber says whether it takes little to calculate with a number in JSON.
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

// counts are the keywords whose values the library truncates to an int.
var counts = map[string]bool{
	"minLength": true, "maxLength": true, "minItems": true, "maxItems": true, "minContains": true, "maxContains": true,
	"minProperties": true, "maxProperties": true,
}

// plain are the keywords whose values are no schemas.
var plain = map[string]bool{"const": true, "enum": true, "default": true, "examples": true}

// extent is the size of a schema's JSON as far as it has been read.
type extent struct{ values, parts, paths int }

// add counts a value at a path of a schema's JSON. Data is no schema.
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

// inspect checks the size of a compiled schema with its references. References that
// are resolved only while validating are refused: their size is not known.
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

// chain returns the length of the longest path from a part to others for the same
// value.
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

// weigh counts the parts of a schema with all references written out. A reference
// back to a part that is being counted adds nothing: how often validation follows it
// depends on the data. Beyond the limit the count need not be exact.
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

// maxSchemaPattern bounds each regular expression of a schema, in characters
// and in its size, see patternSize.
const maxSchemaPattern = 5000

type sizedPattern struct {
	*regexp.Regexp
	size int
}

// patterns returns what compiles the regular expressions of one schema.
func patterns() jsonschema.RegexpEngine {
	known := map[string]sizedPattern{}
	left := maxPatterns
	return func(text string) (jsonschema.Regexp, error) {
		if re, ok := known[text]; ok {
			return re, nil
		}
		size, err := measure(text)
		if err != nil {
			return nil, err
		}
		if left -= size; left < 0 {
			return nil, fmt.Errorf("the regular expressions are too long altogether, more than %d steps", maxPatterns)
		}
		compiled, err := regexp.Compile(text)
		if err != nil {
			return nil, err
		}
		re := sizedPattern{compiled, size}
		known[text] = re
		return re, nil
	}
}

// measure returns the size of a regular expression that is short enough.
func measure(text string) (int, error) {
	tooLong := fmt.Errorf("the regular expression is too long, more than %d steps", maxSchemaPattern)
	if len(text) > maxSchemaPattern {
		return 0, tooLong
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return 0, err
	}
	size := patternSize(parsed, maxSchemaPattern)
	if size > maxSchemaPattern {
		return 0, tooLong
	}
	return size, nil
}

// patternSize estimates how many instructions an expression has when compiled,
// without compiling it: nested repetitions of a few characters make very many.
// What lists many characters counts as several. Beyond the limit the size need
// not be exact.
func patternSize(re *syntax.Regexp, limit int) int {
	n := 1 + len(re.Rune)/4
	if re.Op == syntax.OpLiteral {
		n = 1 + len(re.Rune)
	}
	for _, sub := range re.Sub {
		n += patternSize(sub, limit)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min+1, re.Max)
	}
	return min(n, limit+1)
}

// validPattern is the format regex of a value.
func validPattern(value any) error {
	text, ok := value.(string)
	if !ok {
		return nil
	}
	_, err := measure(text)
	return err
}

// sizeOf returns the size of an expression that [patterns] has compiled.
func sizeOf(re jsonschema.Regexp) int {
	sized, _ := re.(sizedPattern)
	return max(sized.size, 1)
}
