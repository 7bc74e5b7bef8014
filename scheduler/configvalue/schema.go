package configvalue

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Limits of what is reported about one schema.
const (
	maxFindings    = 100
	maxFindingText = 1000 // bytes
	maxReasons     = 10   // why it is none
)

// schemaURL names the schema being compiled. Nothing is ever read from it.
const schemaURL = "kalypso:///schema.json"

// noLoading keeps schemas from reading the scheduler's files or the network.
type noLoading struct{}

func (noLoading) Load(string) (any, error) {
	return nil, errors.New("references to other documents are not followed")
}

// Schema is a JSON schema that has been read, with the budget that it charges.
type Schema struct {
	mu     sync.Mutex
	budget validationBudget
	root   *jsonschema.Schema
}

// Compile reads the text of a JSON schema. The error says why it cannot be used: it
// is none, is too large, or refers to other documents. A panic of the library is an
// error of the schema.
func Compile(text string) (s *Schema, err error) {
	defer recovered(&err)
	if len(text) > maxSchemaText {
		return nil, fmt.Errorf("it is too large: it has %d bytes, %d is the limit", len(text), maxSchemaText)
	}
	if strings.TrimSpace(text) == "" {
		return nil, errors.New("not valid JSON: it is empty")
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("not valid JSON: %w", err)
	}
	if err := new(extent).add(document, nil, false); err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoading{})
	compiler.UseRegexpEngine(patterns())
	// The original scheduler's validator asserts formats, whatever the draft.
	compiler.AssertFormat()
	if err := compiler.AddResource(schemaURL, document); err != nil {
		return nil, err
	}
	compiled, err := compiler.Compile(schemaURL)
	if err != nil {
		return nil, schemaError(err)
	}
	if err := inspect(compiled); err != nil {
		return nil, err
	}
	s = &Schema{root: compiled}
	s.budget.instrument(compiled)
	return s, nil
}

// recovered makes an error of a panic: of the budget's, or of a mistake in the
// library.
func recovered(err *error) {
	switch v := recover(); v {
	case nil:
	case errExhausted:
		*err = errExhausted
	default:
		*err = fmt.Errorf("the validator cannot deal with it: %v", v)
	}
}

// Check returns what data breaks in the schema, sorted, and of very many findings the
// first ones with how many there are beside. Data are values by their keys, as [Parse]
// returns them; they are given the types that the schema asks for, and stay as they
// are themselves. The error says why the schema cannot be used for them, as when it
// takes too many steps. Of several goroutines one checks at a time.
func (s *Schema) Check(data map[string]any) (findings []Finding, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer recovered(&err)
	s.budget.begin()
	coerced := coerce(data, s.root, &s.budget)
	s.budget.visit += depthOf(coerced)
	err = s.root.Validate(coerced)
	var invalid *jsonschema.ValidationError
	switch {
	case err == nil:
		return nil, nil
	case !errors.As(err, &invalid):
		return nil, err
	}
	if endless(invalid) {
		return nil, errEndless
	}
	findings = leaves(invalid)
	if more := len(findings) - maxFindings; more > 0 {
		findings = append(findings[:maxFindings], Finding{Text: fmt.Sprintf("and %d more", more)})
	}
	return findings, nil
}

// schemaError says in one line why a schema is none.
func schemaError(err error) error {
	var invalid *jsonschema.SchemaValidationError
	var wrong *jsonschema.ValidationError
	if errors.As(err, &invalid) && errors.As(invalid.Err, &wrong) {
		var texts []string
		for i, f := range leaves(wrong) {
			if i == maxReasons {
				texts = append(texts, "and more")
				break
			}
			texts = append(texts, f.Text)
		}
		return errors.New("not valid JSON schema: " + strings.Join(texts, ", or "))
	}
	return errors.New(cutShort(strings.ReplaceAll(err.Error(), schemaURL, "schema"), maxFindingText))
}

// endless says whether validation ended because a schema refers to itself for
// the same value.
func endless(e *jsonschema.ValidationError) bool {
	if _, ok := e.ErrorKind.(*kind.RefCycle); ok {
		return true
	}
	return slices.ContainsFunc(e.Causes, endless)
}

// Finding is one thing that a configuration breaks in a schema.
type Finding struct {
	Text string   // what is wrong, with the path to it
	Path []string // to the value that is wrong, key by key; none when it is the whole that lacks something
}

// leaves returns the errors that have no further causes, sorted, each once.
func leaves(e *jsonschema.ValidationError) []Finding {
	findings := appendLeaves(nil, e)
	slices.SortStableFunc(findings, func(a, b Finding) int { return strings.Compare(a.Text, b.Text) })
	return slices.CompactFunc(findings, func(a, b Finding) bool { return a.Text == b.Text })
}

func appendLeaves(findings []Finding, e *jsonschema.ValidationError) []Finding {
	if len(e.Causes) > 0 {
		first := len(findings)
		for _, cause := range e.Causes {
			findings = appendLeaves(findings, cause)
		}
		if k, ok := e.ErrorKind.(*kind.PropertyNames); ok {
			// The causes are about the name, and do not know whose it is.
			for i := first; i < len(findings); i++ {
				path := below(e.InstanceLocation, k.Property)
				findings[i] = Finding{"the name " + strings.Join(path, ".") + ": " + findings[i].Text, path}
			}
		}
		return findings
	}
	where := strings.Join(e.InstanceLocation, ".")
	add := func(text string, path []string) {
		findings = append(findings, Finding{text, path})
	}
	prefix := ""
	if where != "" {
		prefix = where + ": "
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			if where != "" {
				name = where + "." + name
			}
			add(name+" is required", e.InstanceLocation)
		}
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			add(prefix+localized(&kind.AdditionalProperties{Properties: []string{name}}), below(e.InstanceLocation, name))
		}
	default:
		add(prefix+localized(k), e.InstanceLocation)
	}
	return findings
}

func below(path []string, name string) []string {
	return append(slices.Clone(path), name)
}

func localized(k jsonschema.ErrorKind) string {
	return cutShort(k.LocalizedString(message.NewPrinter(language.English)), maxFindingText)
}

// cutShort returns the beginning of a text that is longer than a number of
// bytes.
func cutShort(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
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
