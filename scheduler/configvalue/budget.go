package configvalue

import (
	"encoding/json"
	"errors"
	"math/big"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

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
