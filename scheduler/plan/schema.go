package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// schema is a JSON schema and where it was written.
type schema struct {
	text     string
	position model.Position
}

// schemasFor returns the schemas that an assignment's configuration must
// satisfy: those of its deployment target and workload, then those whose
// labels match.
func schemasFor(env *model.Environment, p pair) []schema {
	schemas := slices.Clone(p.target.schemas)
	s := p.subject()
	for _, object := range env.ConfigSchemas {
		if s.matches(object.Labels) {
			schemas = append(schemas, schema{text: object.Spec.Schema, position: object.At("spec", "schema")})
		}
	}
	return schemas
}

// validate checks a composed configuration against schemas. Each finding is
// one problem, at the schema that asks for it.
func validate(data map[string]any, schemas []schema) []Problem {
	var problems []Problem
	for _, s := range schemas {
		findings, err := check(data, s.text)
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
		for _, finding := range findings {
			problems = append(problems, Problem{
				Reason:   InvalidConfig,
				Severity: model.Error,
				Position: s.position,
				Message:  finding,
				Hint:     "provide the value in a ConfigMap labelled platform-config: \"true\" whose other labels match",
			})
		}
	}
	return problems
}

// schemaURL names the schema being compiled. Nothing is ever read from it.
const schemaURL = "kalypso:///schema.json"

// noLoading keeps schemas from reading the scheduler's files or the network.
type noLoading struct{}

func (noLoading) Load(url string) (any, error) {
	return nil, fmt.Errorf("references to other documents are not followed: %s", url)
}

// check returns what data breaks in a schema, sorted, or an error when the
// schema itself is broken.
func check(data map[string]any, text string) ([]string, error) {
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("not valid JSON: %w", err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoading{})
	if err := compiler.AddResource(schemaURL, document); err != nil {
		return nil, err
	}
	compiled, err := compiler.Compile(schemaURL)
	if err != nil {
		return nil, errors.New(strings.ReplaceAll(err.Error(), schemaURL, "schema"))
	}
	err = compiled.Validate(coerce(data, compiled))
	var invalid *jsonschema.ValidationError
	switch {
	case err == nil:
		return nil, nil
	case !errors.As(err, &invalid):
		return nil, err
	}
	findings := leaves(invalid, nil)
	slices.Sort(findings)
	return slices.Compact(findings), nil
}

// leaves words the errors that have no further causes.
func leaves(e *jsonschema.ValidationError, findings []string) []string {
	for _, cause := range e.Causes {
		findings = leaves(cause, findings)
	}
	if len(e.Causes) > 0 {
		return findings
	}
	where := strings.Join(e.InstanceLocation, ".")
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			if where != "" {
				name = where + "." + name
			}
			findings = append(findings, name+" is required")
		}
		return findings
	default:
		text := k.LocalizedString(message.NewPrinter(language.English))
		if where != "" {
			text = where + ": " + text
		}
		return append(findings, text)
	}
}
