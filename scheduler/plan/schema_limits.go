package plan

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

// maxValidation bounds the work of validating one configuration with one
// schema, in units of 20 to 100 ns. A schema of 2,000 properties with a
// configuration that has them all takes a third of it.
const maxValidation = 500_000

// errExhausted is what ends a validation, by a panic: the library offers nothing else.
var errExhausted = errors.New("it is too expensive: validating the configuration takes too many steps")

// validationBudget bounds the work of one validation. The library knows no context
// and no limit, but it calls each part's format, and there [validationBudget.instrument]
// charges the budget. A nil budget has no limit.
type validationBudget struct {
	left  int
	visit int // cost of visiting a part, which copies the path to the value
}

func (b *validationBudget) charge(n int) {
	if b == nil {
		return
	}
	if b.left -= n; b.left < 0 {
		panic(errExhausted)
	}
}

func (b *validationBudget) begin() {
	b.left, b.visit = maxValidation, visitCost
}

// What things cost, in units.
const (
	visitCost   = 50
	openingCost = 8 // to come to a part, see opening
	coerceCost  = 4 // to ask a part for the type of a value
	elementCost = 2
	numberCost  = 20  // to read a number as a fraction
	wideCost    = 50  // the same with an exponent
	uniqueCost  = 20  // to compare or to hash, by what is compared
	formatCost  = 12  // to look at a byte of a text for its format
	regexCost   = 100 // the same where it is a regular expression
)

// instrument makes a schema's parts charge the budget. What a part does before its
// format is called is charged by the part that leads there.
func (b *validationBudget) instrument(schema *jsonschema.Schema) {
	for s := range reachable(schema) {
		c := costsOf(s)
		format := s.Format
		name := ""
		if format != nil {
			name = format.Name
		}
		s.Format = &jsonschema.Format{Name: name, Validate: func(v any) error {
			b.charge(b.visit + c.of(v))
			if format == nil {
				return nil
			}
			text, _ := v.(string)
			if name == "regex" {
				b.charge(regexCost * len(text))
				return validPattern(v)
			}
			b.charge(formatCost * len(text))
			return format.Validate(v)
		}}
	}
}

// costs are what a part of a schema costs.
type costs struct {
	always     int // whatever the value is
	element    int // for each element of a map or a list
	pattern    int // the size of the expression for a text
	keyPattern int // the same for the keys of a map
	number     int // for a number
	unique     bool
}

func costsOf(s *jsonschema.Schema) costs {
	c := costs{always: len(s.Required) + len(s.Dependencies) + len(s.DependentSchemas) + len(s.DependentRequired), unique: s.UniqueItems}
	for _, names := range s.DependentRequired {
		c.always += len(names)
	}
	for _, names := range s.Dependencies {
		if names, ok := names.([]string); ok {
			c.always += len(names)
		}
	}
	for _, part := range sameValueParts(s) {
		c.always += opening(part)
	}
	named := 0
	for _, part := range s.Properties {
		named = max(named, opening(part))
	}
	for _, part := range s.PrefixItems {
		named = max(named, opening(part))
	}
	if items, ok := s.Items.([]*jsonschema.Schema); ok {
		for _, part := range items {
			named = max(named, opening(part))
		}
	}
	c.element = named
	loose := []any{s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems, s.AdditionalProperties, s.Items, s.AdditionalItems}
	for re, part := range s.PatternProperties {
		c.keyPattern += sizeOf(re)
		loose = append(loose, part)
	}
	for _, part := range loose {
		if part, ok := part.(*jsonschema.Schema); ok && part != nil {
			c.element += opening(part)
		}
	}
	if s.Pattern != nil {
		c.pattern = sizeOf(s.Pattern)
	}
	for _, n := range []*big.Rat{s.Minimum, s.Maximum, s.ExclusiveMinimum, s.ExclusiveMaximum} {
		if n != nil {
			c.number += numberCost + bits(n)/16
		}
	}
	if s.MultipleOf != nil {
		// The quotient is brought to lowest terms, which takes the square.
		c.number += numberCost + bits(s.MultipleOf)*bits(s.MultipleOf)/256
	}
	return c
}

func bits(n *big.Rat) int { return n.Num().BitLen() + n.Denom().BitLen() }

// opening is the cost of a part before its format is called: it compares the value
// with those that it allows.
func opening(s *jsonschema.Schema) int {
	n := openingCost
	if s.Enum != nil {
		n += valueCost(s.Enum.Values)
	}
	if s.Const != nil {
		n += valueCost(*s.Const)
	}
	return n
}

// of returns the cost of a part for a value, without its own parts.
func (c *costs) of(value any) int {
	n := c.always
	switch v := value.(type) {
	case map[string]any:
		n += len(v) * (elementCost + c.element)
		for key := range v {
			n += textCost(key, c.keyPattern)
		}
	case []any:
		n += len(v) * (elementCost + c.element)
		if c.unique {
			n += uniqueCost * valueCost(v)
		}
	case string:
		n += textCost(v, c.pattern)
	default:
		n += c.number + valueCost(v)
	}
	return n
}

// textCost is the cost of matching a text with an expression of a size, 0 for none.
func textCost(text string, pattern int) int {
	return len(text)/16 + pattern*(len(text)+1)
}

// valueCost is the cost of comparing a value with another.
func valueCost(value any) int {
	n := elementCost
	switch v := value.(type) {
	case map[string]any:
		for key, element := range v {
			n += textCost(key, 0) + valueCost(element)
		}
	case []any:
		for _, element := range v {
			n += valueCost(element)
		}
	case string:
		n += textCost(v, 0)
	case json.Number:
		n += numberCost
		if len(v) > 20 || strings.ContainsAny(string(v), "eE") {
			n += wideCost
		}
	case int, float64:
		n += numberCost
	}
	return n
}

// depthOf is how many maps and lists a value has in each other.
func depthOf(value any) int {
	n := 0
	switch v := value.(type) {
	case map[string]any:
		for _, element := range v {
			n = max(n, 1+depthOf(element))
		}
	case []any:
		for _, element := range v {
			n = max(n, 1+depthOf(element))
		}
	}
	return n
}
