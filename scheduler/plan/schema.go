package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kalypso-dev/kalypso/internal/redact"
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
			problems = append(problems, newProblem(model.Error, InvalidSchema, s.position, "correct the schema; it must be JSON schema",
				"the configuration schema cannot be used: %s", err))
			continue
		}
		for _, f := range findings {
			problems = append(problems, f.problem(s, config))
		}
	}
	return problems
}

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

// compile reads a schema, and makes validating with it charge the budget. A panic of
// the library is an error of the schema.
func compile(text string, b *validationBudget) (s *jsonschema.Schema, err error) {
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
	b.instrument(compiled)
	return compiled, nil
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

// check returns what data breaks in a schema, sorted.
func check(data map[string]any, schema *jsonschema.Schema, b *validationBudget) (findings []finding, err error) {
	defer recovered(&err)
	b.begin()
	coerced := coerce(data, schema, b)
	b.visit += depthOf(coerced)
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

// finding is one thing that a composed configuration breaks in a schema.
type finding struct {
	text string
	path []string // to the value that is wrong, key by key; none when it is the whole that lacks something
}

// leaves returns the errors that have no further causes, sorted, each once.
func leaves(e *jsonschema.ValidationError) []finding {
	findings := appendLeaves(nil, e)
	slices.SortStableFunc(findings, func(a, b finding) int { return strings.Compare(a.text, b.text) })
	return slices.CompactFunc(findings, func(a, b finding) bool { return a.text == b.text })
}

func appendLeaves(findings []finding, e *jsonschema.ValidationError) []finding {
	if len(e.Causes) > 0 {
		first := len(findings)
		for _, cause := range e.Causes {
			findings = appendLeaves(findings, cause)
		}
		if k, ok := e.ErrorKind.(*kind.PropertyNames); ok {
			// The causes are about the name, and do not know whose it is.
			for i := first; i < len(findings); i++ {
				path := below(e.InstanceLocation, k.Property)
				findings[i] = finding{"the name " + strings.Join(path, ".") + ": " + findings[i].text, path}
			}
		}
		return findings
	}
	where := strings.Join(e.InstanceLocation, ".")
	add := func(text string, path []string) {
		findings = append(findings, finding{text, path})
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

// problem returns a finding at the value that is wrong, or at the schema that asks
// for a missing one, which is without a hint then.
func (f finding) problem(s schema, config []ConfigValue) Problem {
	p := Problem{
		Reason:   InvalidConfig,
		Severity: model.Error,
		Position: s.position,
		Schema:   s.position,
		Message:  f.text,
	}
	if len(f.path) == 0 {
		return p
	}
	if v, ok := valueOf(config, f.path[0]); ok {
		sources := v.sourcesAt(f.path[1:])
		p.Position = sources[len(sources)-1].Position
		p.Hint = origin(v.Key, sources)
	}
	return p
}

// provided says of a missing value where it belongs: in a ConfigMap of the
// environment's branch that applies to the pair.
func (p pair) provided(problems []Problem, config []ConfigValue, branch model.Reference) []Problem {
	if len(problems) == 0 { // as nearly always
		return nil
	}
	name, at := "", model.Position{Repo: redact.URL(branch.Repo), Branch: branch.Branch}
	for _, v := range config {
		for _, s := range v.Sources {
			own := s.Position.Repo == at.Repo && s.Position.Branch == branch.Branch && !strings.HasPrefix(s.ConfigMap, model.AppConfigPrefix)
			if own && s.ConfigMap >= name {
				name, at = s.ConfigMap, s.Position
			}
		}
	}
	hint := fmt.Sprintf("a ConfigMap on branch %s with the labels platform-config: \"true\" and cluster-type: %s", branch.Branch, p.clusterType.Name)
	if name == "" {
		hint = "provide it in " + hint
	} else {
		hint = fmt.Sprintf("provide it in ConfigMap %s, which applies here, or in %s", name, hint)
	}
	for i := range problems {
		if problems[i].Reason == InvalidConfig && problems[i].Hint == "" {
			problems[i].Hint, problems[i].Fix = hint, at
		}
	}
	return problems
}

func valueOf(config []ConfigValue, key string) (ConfigValue, bool) {
	i, found := slices.BinarySearchFunc(config, key, func(v ConfigValue, key string) int { return strings.Compare(v.Key, key) })
	if !found {
		return ConfigValue{}, false
	}
	return config[i], true
}

// sourcesAt returns the sources that gave a value what it has at a path of keys:
// one, or for a map or a list all that it was merged from. Elements of lists
// are not distinguished.
func (v ConfigValue) sourcesAt(path []string) []ConfigSource {
	sources := v.Sources
	depth := 0
	for ; depth < len(path); depth++ {
		var deeper []ConfigSource
		for _, source := range sources {
			if _, found := find(parseValue(source.Value), path[:depth+1]); found {
				deeper = append(deeper, source)
			}
		}
		if len(deeper) == 0 {
			break
		}
		sources = deeper
	}
	last := sources[len(sources)-1:]
	if value, _ := find(parseValue(last[0].Value), path[:depth]); isStructured(value) {
		return sources
	}
	return last
}

// find returns what maps hold at a path of keys.
func find(value any, path []string) (any, bool) {
	for _, key := range path {
		fields, _ := fieldsOf(value)
		element, found := fields[key]
		if !found {
			return nil, false
		}
		value = element
	}
	return value, true
}

// origin says where a value comes from, for those who are to correct it.
func origin(key string, sources []ConfigSource) string {
	var names []string
	for _, source := range sources {
		if !slices.Contains(names, source.ConfigMap) {
			names = append(names, source.ConfigMap)
		}
	}
	if len(names) > 1 {
		return fmt.Sprintf("%s is merged from the ConfigMaps %s; correct it there", key, strings.Join(names, ", "))
	}
	return fmt.Sprintf("%s comes from ConfigMap %s; correct it there", key, names[0])
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
