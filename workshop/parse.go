package workshop

import (
	"bytes"
	_ "embed" // for the schema
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/kalypso-dev/kalypso/internal/yamlpos"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"go.yaml.in/yaml/v3"
)

// Schema is the JSON Schema of workshop.yaml, for editors.
//
//go:embed schema.json
var Schema []byte

var schemaDocument = sync.OnceValue(func() any {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema))
	if err != nil {
		panic(err) // it is embedded
	}
	return document
})

var compiledSchema = sync.OnceValue(func() *jsonschema.Schema {
	c := jsonschema.NewCompiler()
	const name = "workshop.json"
	if err := c.AddResource(name, schemaDocument()); err != nil {
		panic(err) // it is embedded
	}
	return c.MustCompile(name)
})

// Problem is one thing that is wrong in a workshop.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Message string `json:"message"`
}

func (p Problem) Error() string { return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message) }

// Error is all that is wrong in a workshop.
type Error struct{ Problems []Problem }

func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// parser collects what is wrong in one file.
type parser struct {
	file     string
	root     *yaml.Node
	problems []Problem
}

// parse reads a workshop.yaml, called file in messages. The error is an *Error
// when the text is not as the schema wants it.
func parse(file string, text []byte) (*Workshop, *parser, error) {
	p := &parser{file: file}
	documents, err := yamlpos.Documents(bytes.NewReader(text))
	switch {
	case err != nil:
		line, message := yamlpos.ExplainError(text, err)
		return nil, nil, &Error{[]Problem{{file, line, message}}}
	case len(documents) != 1 || len(documents[0].Content) == 0:
		return nil, nil, &Error{[]Problem{{file, 1, fmt.Sprintf("it has to hold one YAML document, and has %d", len(documents))}}}
	}
	p.root = documents[0].Content[0]
	p.checkVersion()
	if len(p.problems) == 0 {
		if err := p.checkSchema(); err != nil {
			return nil, nil, err
		}
	}
	if err := p.error(); err != nil {
		return nil, nil, err
	}
	w := &Workshop{}
	if err := p.root.Decode(w); err != nil {
		line, message := yamlpos.ExplainError(text, err)
		return nil, nil, &Error{[]Problem{{file, line, message}}}
	}
	return w, p, nil
}

// error is nil when there are no problems.
func (p *parser) error() error {
	if len(p.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(p.problems, func(a, b Problem) int { return a.Line - b.Line })
	return &Error{p.problems}
}

// at reports a problem at the closest node of a path.
func (p *parser) at(path []string, format string, args ...any) {
	key, _ := yamlpos.Closest(p.root, path...)
	p.problems = append(p.problems, Problem{p.file, key.Line, fmt.Sprintf(format, args...)})
}

// checkVersion comes before the schema, which a newer format need not fit.
func (p *parser) checkVersion() {
	version, kind := yamlpos.Text(p.root, "apiVersion"), yamlpos.Text(p.root, "kind")
	switch {
	case p.root.Kind != yaml.MappingNode:
		p.at(nil, "it has to begin with apiVersion: %s and kind: %s", APIVersion, Kind)
	case kind != Kind:
		p.at([]string{"kind"}, "kind has to be %s, and is %q", Kind, kind)
	case version != APIVersion && strings.HasPrefix(version, "kalypso.dev/"):
		p.at([]string{"apiVersion"}, "the workshop is in the format %s, and this kalypso reads %s: use a newer kalypso", version, APIVersion)
	case version != APIVersion:
		p.at([]string{"apiVersion"}, "apiVersion has to be %s, and is %q", APIVersion, version)
	}
}

func (p *parser) checkSchema() error {
	var document any
	if err := p.root.Decode(&document); err != nil {
		return &Error{[]Problem{{p.file, p.root.Line, strings.TrimPrefix(err.Error(), "yaml: ")}}}
	}
	err := compiledSchema().Validate(document)
	var invalid *jsonschema.ValidationError
	if errors.As(err, &invalid) {
		p.explain(invalid)
		return nil
	}
	return err
}

// explain reports the causes of a validation error, the deepest of them.
func (p *parser) explain(e *jsonschema.ValidationError) {
	field := strings.Join(e.InstanceLocation, ".")
	switch k := e.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		known := schemaFields(e.SchemaURL)
		for _, name := range k.Properties {
			near := ""
			if n := model.Nearest(name, known); n != "" {
				near = ", did you mean " + n + "?"
			} else if len(known) > 0 {
				near = ": there are " + strings.Join(known, ", ")
			}
			p.at(append(slices.Clone(e.InstanceLocation), name), "unknown field %s%s", strings.TrimPrefix(field+"."+name, "."), near)
		}
		return
	case *kind.OneOf:
		if len(e.InstanceLocation) > 0 && e.InstanceLocation[0] == "addresses" {
			p.at(e.InstanceLocation, "%s: say what it is: one of organisation: true, registry: true and repository: NAME", field)
			return
		}
		// the cause of the alternative that was meant: a mapping's, if it is one
		_, value := yamlpos.Closest(p.root, e.InstanceLocation...)
		for _, cause := range e.Causes {
			if _, wrongType := cause.ErrorKind.(*kind.Type); !wrongType || yamlpos.Resolve(value).Kind != yaml.MappingNode {
				p.explain(cause)
				return
			}
		}
	case *kind.Required:
		if missing := p.notMisspelt(e, k.Missing); len(missing) > 0 {
			p.at(e.InstanceLocation, "%s is missing", joinedFields(field, missing))
		}
		return
	case *kind.Pattern:
		p.at(e.InstanceLocation, "%s: %q cannot be used: use %s", field, k.Got, schemaText(e.SchemaURL, "pattern"))
		return
	case *kind.Enum:
		var allowed []string
		for _, v := range k.Want {
			allowed = append(allowed, fmt.Sprint(v))
		}
		near := ""
		if n := model.Nearest(fmt.Sprint(k.Got), allowed); n != "" {
			near = ", did you mean " + n + "?"
		}
		p.at(e.InstanceLocation, "%s is %v%s Choose one of %s", field, k.Got, strings.TrimSuffix(near+".", "?."), strings.Join(allowed, ", "))
		return
	case *kind.Type:
		p.at(e.InstanceLocation, "%s has to be %s, and is %s", field, strings.Join(k.Want, " or "), k.Got)
		return
	case *kind.UniqueItems:
		p.at(append(slices.Clone(e.InstanceLocation), fmt.Sprint(k.Duplicates[1])), "%s has it twice", field)
		return
	case *kind.MinItems:
		p.at(e.InstanceLocation, "%s has %d, and needs at least %d", field, k.Got, k.Want)
		return
	case *kind.Maximum, *kind.Minimum:
		p.at(e.InstanceLocation, "%s is out of range: %s", field, limits(e))
		return
	}
	if len(e.Causes) == 0 {
		p.at(e.InstanceLocation, "%s cannot be used here", field)
	}
	for _, cause := range e.Causes {
		p.explain(cause)
	}
}

// notMisspelt are the missing fields but those that an unknown one stands for, of
// which another message speaks.
func (p *parser) notMisspelt(e *jsonschema.ValidationError, missing []string) []string {
	known := schemaFields(e.SchemaURL)
	_, value := yamlpos.Closest(p.root, e.InstanceLocation...)
	return slices.DeleteFunc(slices.Clone(missing), func(name string) bool {
		for key := range yamlpos.Fields(yamlpos.Resolve(value)) {
			if !slices.Contains(known, key.Value) && model.Nearest(key.Value, known) == name {
				return true
			}
		}
		return false
	})
}

func joinedFields(parent string, names []string) string {
	all := make([]string, len(names))
	for i, n := range names {
		all[i] = strings.TrimPrefix(parent+"."+n, ".")
	}
	return strings.Join(all, ", ")
}

func limits(e *jsonschema.ValidationError) string {
	switch k := e.ErrorKind.(type) {
	case *kind.Maximum:
		return k.Want.RatString() + " is the most"
	case *kind.Minimum:
		return k.Want.RatString() + " is the least"
	}
	return ""
}

// schemaNode is the part of the schema that an error came from, as JSON.
func schemaNode(url string) map[string]any {
	node, _ := schemaDocument().(map[string]any)
	_, pointer, _ := strings.Cut(url, "#")
	for _, step := range strings.FieldsFunc(pointer, func(r rune) bool { return r == '/' }) {
		switch next := any(node[step]).(type) {
		case map[string]any:
			node = next
		case []any: // the only lists are alternatives, of which the last has fields
			node, _ = next[len(next)-1].(map[string]any)
		}
	}
	return node
}

// schemaFields are the names of the fields that a part of the schema has.
func schemaFields(url string) []string {
	properties, _ := schemaNode(url)["properties"].(map[string]any)
	return slices.Sorted(maps.Keys(properties))
}

// schemaText is what a part of the schema says about a keyword: its $comment, or
// its description.
func schemaText(url, keyword string) string {
	node := schemaNode(url)
	text, _ := node["$comment"].(string)
	if text == "" {
		text, _ = node[keyword].(string)
	}
	return text
}

// Problem is something that is wrong at a field of workshop.yaml, or at the
// closest of its fields that is there.
func (w *Workshop) Problem(at []string, format string, args ...any) Problem {
	p := &parser{file: filepath.Join(w.Dir, File), root: &yaml.Node{Line: 1}}
	if text, err := fs.ReadFile(w.Files, File); err == nil {
		if documents, err := yamlpos.Documents(bytes.NewReader(text)); err == nil && len(documents) > 0 && len(documents[0].Content) > 0 {
			p.root = documents[0].Content[0]
		}
	}
	p.at(at, format, args...)
	return p.problems[0]
}
