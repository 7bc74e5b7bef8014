package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// schema is a JSON schema and where it was written.
type schema struct {
	text     string
	position model.Position
}

func schemaOf(object model.ConfigSchema) schema {
	return schema{text: object.Spec.Schema, position: object.At("spec", "schema")}
}

// validate checks a composed configuration against schemas. Each finding is
// one problem: at the value that is wrong, or for one that is not there at the
// schema that asks for it. When ctx ends they are not complete.
func validate(ctx context.Context, schemas []schema, config []ConfigValue, check func(text string) ([]finding, error)) []Problem {
	var problems []Problem
	for _, s := range schemas {
		if ctx.Err() != nil {
			break
		}
		findings, err := check(s.text)
		if err != nil {
			problems = append(problems, Problem{
				Reason:   InvalidSchema,
				Severity: model.Error,
				Position: s.position,
				Message:  fmt.Sprintf("the configuration schema cannot be used: %s", err),
				Hint:     "correct the schema; it must be JSON schema",
			})
			continue
		}
		for _, f := range findings {
			problems = append(problems, f.problem(s, config))
		}
	}
	return problems
}

// What is said about one schema is for people, however much is wrong.
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

// compile reads a schema. The meter will count what validating with it takes. A
// mistake of the library's concerns the one schema that it meets.
func compile(text string, m *meter) (s *jsonschema.Schema, err error) {
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
	m.attach(compiled)
	return compiled, nil
}

// recovered makes an error of a panic: of the meter's, or of a mistake in the
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

// check returns what data breaks in a schema, sorted.
func check(data map[string]any, schema *jsonschema.Schema, m *meter) (findings []finding, err error) {
	defer recovered(&err)
	m.begin()
	coerced := coerce(data, schema, m)
	m.visit += depthOf(coerced)
	err = schema.Validate(coerced)
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
		findings = append(findings[:maxFindings], finding{text: fmt.Sprintf("and %d more", more)})
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
			texts = append(texts, f.text)
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
