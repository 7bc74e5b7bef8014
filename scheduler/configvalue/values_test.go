package configvalue

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func TestParseValue(t *testing.T) {
	tests := []struct {
		text string
		want any
	}{
		{"plain", "plain"},
		{"", ""},
		{"007", "007"},
		{"1.10", "1.10"},
		{"true", "true"},
		{"null", "null"},
		{"mysql://host:3306/db", "mysql://host:3306/db"},
		{"'- quoted'", "- quoted"},
		{"'{a: b}'", "{a: b}"},
		{"'", "'"},
		{`"double"`, `"double"`},
		{"{{ .Environment }}", "{{ .Environment }}"},
		{"{{ .Environment }}-suffix", "{{ .Environment }}-suffix"},
		{"[not closed", "[not closed"},
		{"a: 1\n---\nb: 2\n", "a: 1\n---\nb: 2\n"},
		{"# only a comment", "# only a comment"},
		{"'quoted'\n", "quoted"},
		{" 'it's' ", "it's"},
		{"a: b", map[any]any{"a": "b"}},
		{`{"a": {"b": [1, "2"]}}`, map[any]any{"a": map[any]any{"b": []any{1, "2"}}}},
		{"- a\n- b: 1", []any{"a", map[any]any{"b": 1}}},
		{"[]", []any{}},
		{"a: 1\na: 2\n", map[any]any{"a": 2}},
		{"v: 1.10", map[any]any{"v": 1.1}},
		{"v: 007", map[any]any{"v": 7}},
		{"v: 0x1F", map[any]any{"v": 31}},
		{"v: 1_000", map[any]any{"v": 1000}},
		{"v: 1e3", map[any]any{"v": 1000.0}},
		{"v: 12345678901234567890", map[any]any{"v": uint64(12345678901234567890)}},
		{"v: 2026-01-02", map[any]any{"v": "2026-01-02"}},
		{"v: 1:30", map[any]any{"v": "1:30"}},
		{"v: [yes, No, on, OFF, y, n, true]", map[any]any{"v": []any{true, false, true, false, true, false, true}}},
		{"v: 'no'", map[any]any{"v": "no"}},
		{"v: ~", map[any]any{"v": nil}},
		{"{1: a, yes: b, ~: c}", map[any]any{1: "a", true: "b", nil: "c"}},
		{"{.nan: a}", "{.nan: a}"},
		{"{[a]: b}", "{[a]: b}"},
		{"v: !!int 0A", "v: !!int 0A"},
		{"v: !mine x", map[any]any{"v": "x"}},
		{"a: &x {b: 1, c: 1}\nd: {<<: *x, c: 2}", map[any]any{"a": map[any]any{"b": 1, "c": 1}, "d": map[any]any{"b": 1, "c": 2}}},
		{"a: &x {b: 1}\nd: {<<: [*x, {b: 2, e: 3}]}", map[any]any{"a": map[any]any{"b": 1}, "d": map[any]any{"b": 1, "e": 3}}},
		{"a: {<<: text}", "a: {<<: text}"},
		{"a: &x [1]\nb: *x", map[any]any{"a": []any{1}, "b": []any{1}}},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, Parse(test.text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.text, diff)
		}
	}
}

// TestAliasBomb proves that a value that would grow without bounds stays text.
func TestAliasBomb(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c <= 'j'; c++ {
		p := string(c - 1)
		bomb += string(c) + ": &" + string(c) + " [*" + p + ",*" + p + ",*" + p + ",*" + p + ",*" + p + ",*" + p + ",*" + p + ",*" + p + "]\n"
	}
	if got := Parse(bomb); got != any(bomb) {
		t.Errorf("the value became a %T", got)
	}
	if got := Parse("a: &a [*a]"); got != any("a: &a [*a]") {
		t.Errorf("a value that holds itself became a %T", got)
	}
}

// TestTextsStayTexts proves that nothing becomes a number that was a string.
func TestTextsStayTexts(t *testing.T) {
	for _, s := range []string{"1.10", "007", "true", "null", "~", "yes", "on", "1e3", "0x10", "1_000", "1:30", "2026-01-02", "", " a", "a: b", "- a", "#a", "{{ .X }}", "a\nb", "é", "*a", "&a", "!a", "%a", "@a", "`a"} {
		out, err := YAML(map[string]any{"k": s})
		if err != nil {
			t.Fatal(err)
		}
		var back map[string]any
		fromYAML(t, out, &back)
		if back["k"] != any(s) {
			t.Errorf("%q came back as %#v from %q", s, back["k"], out)
		}
	}
}

func compiled(t testing.TB, text string) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoading{})
	if err := compiler.AddResource(schemaURL, document); err != nil {
		t.Fatal(err)
	}
	s, err := compiler.Compile(schemaURL)
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return s
}

func TestCoerce(t *testing.T) {
	number := func(s string) json.Number { return json.Number(s) }
	tests := []struct {
		name, value, schema string
		want                any
	}{
		{"text for a string", "8080", `{"type": "string"}`, "8080"},
		{"text for an integer", "8080", `{"type": "integer"}`, number("8080")},
		{"text for a number", "1.10", `{"type": "number"}`, number("1.10")},
		{"text for a boolean", "true", `{"type": "boolean"}`, true},
		{"text for null", "null", `{"type": "null"}`, nil},
		{"text that does not fit", "007", `{"type": "integer"}`, "007"},
		{"text for nothing", "8080", `{}`, "8080"},
		{"a string is enough", "1", `{"type": ["integer", "string"]}`, "1"},
		{"by one of several", "1", `{"anyOf": [{"type": "boolean"}, {"type": "integer"}]}`, number("1")},
		{"by the values of an enumeration", "2", `{"enum": [1, 2]}`, number("2")},
		{"by a condition", "1", `{"if": {"minimum": 0}, "then": {"type": "integer"}}`, number("1")},

		{"a map for an object", "{a: '1'}", `{"type": "object", "additionalProperties": {"type": "integer"}}`, map[string]any{"a": number("1")}},
		{"a map for a string", "{a: 1.5}", `{"type": "string"}`, "a: 1.5"},
		{"a map for a string or an object", "{a: b}", `{"type": ["string", "object"]}`, map[string]any{"a": "b"}},
		{"a list for a string", "[a, b]", `{"type": "string"}`, "- a\n- b"},
		{"a list for an array", "['1']", `{"type": "array", "items": {"type": "integer"}}`, []any{number("1")}},
		{"a list for a string or an array", "[a]", `{"type": ["string", "array"]}`, []any{"a"}},

		{"number in a map for a string", "{a: 8080}", `{"properties": {"a": {"type": "string"}}}`, map[string]any{"a": "8080"}},
		{"fraction in a map for a string", "{a: 1.5}", `{"properties": {"a": {"type": "string"}}}`, map[string]any{"a": "1.5"}},
		{"large number in a map for a string", "{a: 12345678901234567890}", `{"properties": {"a": {"type": "string"}}}`, map[string]any{"a": "12345678901234567890"}},
		{"a key that is no text", "{1: '2', yes: '3'}", `{"additionalProperties": {"type": "integer"}}`, map[string]any{"1": number("2"), "true": number("3")}},
		{"boolean in a map for a string", "{a: true}", `{"properties": {"a": {"type": "string"}}}`, map[string]any{"a": "true"}},
		{"boolean in a map for a boolean", "{a: true}", `{"properties": {"a": {"type": "boolean"}}}`, map[string]any{"a": true}},
		{"fraction in a map for a number", "{a: 1.10}", `{"properties": {"a": {"type": "number"}}}`, map[string]any{"a": 1.1}},
		{"scalars in a map for nothing", "{a: 1.10, b: 2026-01-02}", `{}`, map[string]any{"a": 1.1, "b": "2026-01-02"}},
		{"null in a map", "{a: null}", `{"properties": {"a": {"type": "string"}}}`, map[string]any{"a": nil}},

		{"first items", "['1', '2', '3']", `{"prefixItems": [{"type": "integer"}, {"type": "string"}], "items": {"type": "boolean"}}`, []any{number("1"), "2", "3"}},
		{"items of an older draft", "['1', '2', '3']", `{"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}], "additionalItems": {"type": "integer"}}`, []any{"1", number("2"), number("3")}},
		{"properties by pattern", "{port_a: '1', name: '1'}", `{"patternProperties": {"^port": {"type": "integer"}}, "additionalProperties": {"type": "string"}}`, map[string]any{"port_a": number("1"), "name": "1"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before, value := Parse(test.value), Parse(test.value)
			if diff := cmp.Diff(test.want, coerce(value, compiled(t, test.schema), nil)); diff != "" {
				t.Errorf("coerced (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, value); diff != "" {
				t.Errorf("coercing changed its input:\n%s", diff)
			}
		})
	}
}

// doubling is a schema of n parts, each of which refers to the next one twice.
func doubling(n int) string {
	var b strings.Builder
	b.WriteString(`{"$ref": "#/$defs/d0", "$defs": {`)
	for i := range n {
		fmt.Fprintf(&b, `"d%d": {"allOf": [{"$ref": "#/$defs/d%d"}, {"$ref": "#/$defs/d%d"}]}, `, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `"d%d": {"required": ["K"]}}}`, n)
	return b.String()
}

// TestSchemaSize proves that a schema that would validate for years is refused
// at once, and that a large but honest one, or one that refers to itself for
// the values below, is not.
func TestSchemaSize(t *testing.T) {
	if _, err := checkText(map[string]any{}, doubling(60)); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("2 to the 60th parts: %v", err)
	}
	findings, err := checkText(map[string]any{}, doubling(8))
	if err != nil || len(findings) != 1 || findings[0] != "K is required" {
		t.Errorf("2 to the 8th parts: %q, %v", findings, err)
	}
	var properties []string
	for i := range 2000 {
		properties = append(properties, fmt.Sprintf(`"P%d": {"type": "string"}`, i))
	}
	if findings, err := checkText(map[string]any{"P1": "x"}, `{"properties": {`+strings.Join(properties, ", ")+`}}`); err != nil || len(findings) > 0 {
		t.Errorf("2000 properties: %q, %v", findings, err)
	}
	tree := `{"$ref": "#/$defs/n", "$defs": {"n": {"properties": {"left": {"$ref": "#/$defs/n"}, "right": {"$ref": "#/$defs/n"}}}}}`
	if findings, err := checkText(map[string]any{"left": Parse("{right: {left: {}}}")}, tree); err != nil || len(findings) > 0 {
		t.Errorf("a tree: %q, %v", findings, err)
	}
	if got := coerce("1", compiled(t, doubling(60)), nil); got != any("1") {
		t.Errorf("coerced to %v", got)
	}
}

// FuzzCoerce puts any schema to any value. Nothing may panic, which would be a
// mistake of the library's, take more steps than there are or differ the next time, and what a value says must be the same before and after, whatever its
// type has become.
func FuzzCoerce(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"type": "integer"}`, "007"},
		{`{"properties": {"K": {"type": ["number", "null"]}}, "required": ["L"]}`, "1.10"},
		{`{"additionalProperties": {"items": {"enum": [1, "2", true, null]}}}`, "[1, '2', true, null, 1.10, 2026-01-02]"},
		{`{"properties": {"K": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "object", "additionalProperties": {"$ref": "#/$defs/n"}}}}`, "{a: {b: {}}}"},
		{`{"$ref": "#"}`, "a"},
		{`{"if": {"const": 1}, "then": false, "else": {"not": {}}}`, "1"},
		{`{"type": "string"}`, "{a: [b, {c: d}]}"},
		{doubling(6), ""},
		{twice, "{a: {b: [{c: 1}]}}"},
		{chainOf(5), "1"},
		{`{"properties": {"K": {"multipleOf": 1e-9, "minimum": -1e300, "exclusiveMaximum": 1E+30}}}`, "1.5"},
		{`{"patternProperties": {"^(a|k){1,3}$": {"format": "regex", "pattern": "\\pL+", "maxLength": 3}}, "propertyNames": {"maxLength": 1}}`, "a"},
		{`{"properties": {"K": {"uniqueItems": true, "contains": {"const": 1}, "prefixItems": [{}, false], "unevaluatedItems": {"not": {}}}}}`, "[1, 1]"},
		{`{"$schema": "http://json-schema.org/draft-04/schema#", "id": "a", "dependencies": {"K": ["L"], "L": {"minProperties": 3}}, "oneOf": [{}, {}]}`, "1"},
		{`{"$id": "http://a/b", "$anchor": "x", "anyOf": [{"$ref": "#x"}], "unevaluatedProperties": false, "dependentSchemas": {"K": {"required": ["k"]}}}`, "1"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, schema, value string) {
		data := map[string]any{"K": Parse(value), "k": value}
		findings, err := checkText(data, schema)
		again, errAgain := checkText(data, schema)
		if diff := cmp.Diff(findings, again); diff != "" || (err == nil) != (errAgain == nil) {
			t.Errorf("findings differ, errors %v and %v:\n%s", err, errAgain, diff)
		}
		if err != nil && strings.Contains(err.Error(), "cannot deal with") {
			t.Error(err)
		}
		if err != nil && (len(findings) > 0 || strings.Contains(err.Error(), schemaURL) && !strings.Contains(schema, schemaURL)) {
			t.Errorf("findings %q with error %v", findings, err)
		}
		if err != nil {
			return
		}
		sameText(t, data, coerce(data, compiled(t, schema), nil))
	})
}

func sameText(t *testing.T, before, after any) {
	t.Helper()
	switch b := before.(type) {
	case map[any]any:
		fields, _ := Fields(b)
		if text, ok := after.(string); ok && text == Text(b) {
			return
		}
		sameText(t, fields, after)
	case map[string]any:
		if a, ok := after.(map[string]any); ok && len(a) == len(b) {
			for key := range b {
				sameText(t, b[key], a[key])
			}
			return
		}
		if after != any(Text(b)) {
			t.Errorf("%v became %v", before, after)
		}
	case []any:
		if a, ok := after.([]any); ok && len(a) == len(b) {
			for i := range b {
				sameText(t, b[i], a[i])
			}
			return
		}
		if after != any(Text(b)) {
			t.Errorf("%v became %v", before, after)
		}
	default:
		if scalarText(before) != scalarText(after) {
			t.Errorf("%#v became %#v", before, after)
		}
	}
}

func scalarText(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return fmt.Sprint(value)
}
