package configvalue

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// nested is a text with n brackets around it.
func nested(open, inside, end string, n int) string {
	return strings.Repeat(open, n) + inside + strings.Repeat(end, n)
}

// times is a text n times, with commas between.
func times(text string, n int) string {
	return strings.TrimSuffix(strings.Repeat(text+",", n), ",")
}

// chainOf is a schema of n parts, each of which refers to the next one.
func chainOf(n int) string {
	var b strings.Builder
	b.WriteString(`{"$ref": "#/$defs/d0", "$defs": {`)
	for i := range n {
		fmt.Fprintf(&b, `"d%d": {"$ref": "#/$defs/d%d"}, `, i, i+1)
	}
	fmt.Fprintf(&b, `"d%d": {}}}`, n)
	return b.String()
}

// twice is a schema that applies itself twice to every element.
const twice = `{"$ref": "#/$defs/n", "$defs": {"n": {"allOf": [
	{"additionalProperties": {"$ref": "#/$defs/n"}}, {"additionalProperties": {"$ref": "#/$defs/n"}}]}}}`

// TestSchemaBounds holds what no schema may do to the scheduler. Without bounds
// each of them panics, ends the process, or takes from many seconds to years.
func TestSchemaBounds(t *testing.T) {
	const large, deep, number, pattern = "too large", "too deep", "the number is too large", "regular expression"
	list := "[" + times("1e300", 5000) + "]"
	tests := []struct{ name, schema, value, want string }{
		{"a factor", `{"properties": {"K": {"multipleOf": 1e9999999}}}`, "1", number},
		{"many fractions", `{"allOf": [` + times(`{"multipleOf": 1e-999999}`, 20000) + `]}`, "1", large},
		{"a fraction", `{"allOf": [{"multipleOf": 1e-999999}]}`, "1", number},
		{"a bound", `{"properties": {"K": {"type": "number", "minimum": -1e99999999}}}`, "1", number},
		{"digits", `{"maximum": 1` + strings.Repeat("0", 100_000) + `}`, "1", number},
		{"a constant", `{"properties": {"K": {"const": 1e99999999}}}`, "1", number},
		{"a value", `{"properties": {"K": {"enum": [[1e99999999]]}}}`, "1", number},
		{"a default", `{"default": {"a": 1e99999999}}`, "1", number},
		{"a number of nobody", `{"x": 1e99999999}`, "1", number},
		{"a length", `{"minLength": 1e300}`, "1", number},
		{"a length as data", `{"default": {"minLength": 1e300}}`, "1", ""},
		{"a length that is the largest", `{"maxLength": 9007199254740991}`, "1", ""},
		{"the largest float", `{"maximum": 1.7976931348623157e308}`, "1", ""},
		{"negations", nested(`{"not":`, "{}", "}", 3000), "1", deep},
		{"lists", `{"const":` + nested("[", "", "]", 9000) + "}", "1", deep},
		{"parts", `{"allOf": [` + times("{}", 4000) + `]}`, "1", large},
		{"parts that are booleans", `{"anyOf": [` + times("false", 4000) + `]}`, "1", large},
		{"values", `{"required": [` + times(`"a"`, 25000) + `]}`, "1", large},
		{"a text", `{"title": "` + strings.Repeat("x", 300_000) + `"}`, "1", large},
		{"long paths", `{"properties": {"` + strings.Repeat("x", 10_000) + `": {"allOf": [` + times("{}", 100) + `]}}}`, "1", large},
		{"doubled references", doubling(60), "1", large},
		{"a chain of references", chainOf(2000), "1", deep},
		{"a reference to itself", `{"$ref": "#"}`, "1", errEndless.Error()},
		{"references to each other", `{"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"not": {"$ref": "#"}}}}`, "1", errEndless.Error()},
		{"a dynamic reference", `{"$dynamicRef": "#a", "$defs": {"x": {"$dynamicAnchor": "a"}}}`, "1", "$dynamicRef"},
		{"a pattern", `{"pattern": "(\\pL{100}){10}"}`, "1", pattern},
		{"patterns", `{"allOf": [` + func() string {
			var all []string
			for i := range 100 {
				all = append(all, fmt.Sprintf(`{"pattern": "a{%d}"}`, 900+i))
			}
			return strings.Join(all, ",")
		}() + `]}`, "1", pattern},
		{"names by a pattern", `{"patternProperties": {"(.{50}){20}x{999}(.{50}){20}(.{50}){20}(.{50}){20}(.{50}){20}": {}}}`, "1", pattern},

		{"every element twice and twice again", twice, nested("{a: ", "1", "}", 60), errExhausted.Error()},
		{"many values for many elements", `{"properties": {"K": {"items": {"enum": [` + times("1.5", 15000) + `]}}}}`, list, errExhausted.Error()},
		{"many patterns for many names", `{"properties": {"K": {"patternProperties": {"(a?){500}b": {}, "(a?){500}c": {}}}}}`, "{" + func() string {
			var all []string
			for i := range 5000 {
				all = append(all, fmt.Sprintf("%s%d: 1", strings.Repeat("a", 30), i))
			}
			return strings.Join(all, ", ")
		}() + "}", errExhausted.Error()},
		{"a pattern for a long text", `{"properties": {"K": {"allOf": [` + times(`{"pattern": "(a?){900}b"}`, 20) + `]}}}`, strings.Repeat("a", 20_000), errExhausted.Error()},
		{"unique", `{"properties": {"K": {"type": "array", "allOf": [` + times(`{"uniqueItems": true}`, 100) + `]}}}`, list, errExhausted.Error()},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			findings, err := checkText(map[string]any{"K": Parse(test.value)}, test.schema)
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("error %v, want %s", err, test.want)
			case err != nil && (len(findings) > 0 || len(err.Error()) > 2*maxFindingText):
				t.Errorf("%d findings, an error of %d bytes", len(findings), len(err.Error()))
			}
		})
	}
}

// TestLargeSchema holds that the steps are enough for a schema that is as large
// as any that is honest, and a configuration that has all that it asks for.
func TestLargeSchema(t *testing.T) {
	var properties []string
	data := map[string]any{}
	for i := range 2000 {
		properties = append(properties, fmt.Sprintf(`"REGION_NAME_%d": {"type": "string"}`, i))
		data[fmt.Sprintf("REGION_NAME_%d", i)] = "west-us"
	}
	schema := `{"properties": {` + strings.Join(properties, ", ") + `}, "additionalProperties": false}`
	compiled, err := Compile(schema)
	if err != nil {
		t.Fatal(err)
	}
	if findings, err := compiled.Check(data); err != nil || len(findings) > 0 {
		t.Fatal(findings, err)
	}
	if left := compiled.budget.left; left < maxValidation/3 {
		t.Errorf("%d of %d steps are left", left, maxValidation)
	}
	large := map[string]any{"CERTIFICATE": strings.Repeat("MIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0B\n", 100), "PORT": "8080", "URL": "https://example.com/" + strings.Repeat("a", 200)}
	findings, err := checkData(large, `{"properties": {"CERTIFICATE": {"type": "string", "pattern": "^[A-Za-z0-9+/=\\s]+$"}, "PORT": {"type": "integer", "maximum": 65535},
		"URL": {"format": "uri", "pattern": "^https://([a-z0-9]{1,63}\\.){1,10}[a-z]+/"}}, "required": ["CERTIFICATE"]}`)
	if err != nil || len(findings) > 0 {
		t.Error(findings, err)
	}
}

// TestNumberBounds holds what no value may do: a number that takes long to
// calculate with stays the text that it is.
func TestNumberBounds(t *testing.T) {
	for _, schema := range []string{
		`{"properties": {"K": {"type": "integer", "multipleOf": 3}}}`, `{"properties": {"K": {"type": "number", "maximum": 3}}}`,
	} {
		for _, value := range []string{"1e999999999", "1e-999999999", "1e999", strings.Repeat("9", 1_000_000), "1." + strings.Repeat("9", 1_000_000)} {
			findings, err := checkText(map[string]any{"K": value}, schema)
			if err != nil || len(findings) != 1 || !strings.Contains(findings[0], "got string") {
				t.Errorf("%s: %.20s: %q, %v", schema, value, findings, err)
			}
		}
	}
}

// TestFindingBounds has everything wrong that can be.
func TestFindingBounds(t *testing.T) {
	data := map[string]any{}
	for i := range 1000 {
		data[fmt.Sprintf("K%03d%s", i, strings.Repeat("日", 1000))] = "x"
	}
	findings, err := checkData(data, `{"additionalProperties": {"enum": [1, 2]}}`)
	if err != nil || len(findings) != maxFindings+1 || findings[maxFindings].Text != "and 900 more" {
		t.Errorf("%d findings, %v", len(findings), err)
	}
	findings, err = checkData(map[string]any{"K": "x"}, `{"properties": {"K": {"enum": [`+times(`"日本"`, 5000)+`]}}}`)
	if err != nil || len(findings) != 1 || len(findings[0].Text) > 2*maxFindingText {
		t.Errorf("%d findings, %v", len(findings), err)
	}
	_, err = checkData(nil, `{"properties": {`+times(`"K": {"allOf": [`+times(`{"type": "x"}`, 100)+`]}`, 1)+`}}`)
	if err == nil || errors.Is(err, errExhausted) || len(err.Error()) > 2*maxReasons*maxFindingText {
		t.Errorf("an error of %d bytes", len(fmt.Sprint(err)))
	}
}

// BenchmarkExpensiveSchema takes what is just within the bounds, or what uses
// all steps up: the longest that one schema can keep an assignment.
func BenchmarkExpensiveSchema(b *testing.B) {
	numbers := "[" + times("1e300", 3000) + "]"
	many := func(text string, n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(text, i))
		}
		return strings.Join(all, ",")
	}
	object := "{" + many("K%d: 1", 3000) + "}"
	for _, c := range []struct{ name, schema, value string }{
		{"parts", `{"allOf": [` + times(`{"x": 1}`, 2900) + `]}`, "1"},
		{"depth", nested(`{"not":`, `{"allOf": [`+times(`{"x": 1}`, 1300)+`]}`, "}", 88), "1"},
		{"references", `{"allOf": [` + times(`{"$ref": "#/$defs/a"}`, 2900) + `], "$defs": {"a": {"x": 1}}}`, "1"},
		{"chains", `{"items": {"anyOf": [` + times(`{"$ref": "#/$defs/a"}`, 400) + `]}, "$defs": {"a": ` + nested(`{"allOf": [`, `{"minimum": 5, "type": "integer"}`, `]}`, 45) + `}}`, numbers},
		{"identifiers", `{"allOf": [` + many(`{"$id": "a%d", "x": 1}`, 2900) + `]}`, "1"},
		{"values", `{"enum": [` + times(`"abcdefgh"`, 19900) + `]}`, "1"},
		{"patterns", `{"allOf": [` + many(`{"pattern": "(a?){1%d}"}`, 60) + `]}`, "1"},
		{"classes", `{"allOf": [` + many(`{"pattern": "[\\pL\\pN]{%d}"}`, 9) + `]}`, "1"},
		{"wrong parts", `{"allOf": [` + times(`{"type": "x"}`, 2900) + `]}`, "1"},

		{"visits", twice, nested("{a: ", "1", "}", 60)},
		{"failing visits", `{"type": "object", "additionalProperties": {"allOf": [` + times(`{"not": {}}`, 1000) + `]}}`, object},
		{"uncounted", `{"additionalProperties": {"anyOf": [` + times(`{"type": "integer"}`, 2500) + `]}}`, object},
		{"unevaluated", `{"anyOf": [` + times(`{"required": ["a"]}`, 2000) + `], "unevaluatedProperties": false}`, object},
		{"enumerations", `{"items": {"enum": [` + times("1e-300", 15000) + `]}}`, numbers},
		{"factors", `{"items": {"allOf": [` + times(`{"multipleOf": 1e-399}`, 1000) + `]}}`, numbers},
		{"unique", `{"allOf": [` + times(`{"uniqueItems": true}`, 1000) + `]}`, numbers},
		{"unique objects", `{"allOf": [` + times(`{"uniqueItems": true}`, 1000) + `]}`, "[" + many("{a: {b: [%d, 1, 2, 3, 4]}}", 20) + "]"},
		{"texts", `{"allOf": [` + times(`{"pattern": "(a?){400}b"}`, 2000) + `]}`, strings.Repeat("a", 1000)},
		{"long texts", `{"allOf": [` + times(`{"pattern": "(a|b)*c"}`, 2000) + `]}`, strings.Repeat("a", 100_000)},
		{"names", `{"patternProperties": {` + many(`"(a?){20}%d": {}`, 90) + `}}`, object},
		{"format uri", `{"allOf": [` + times(`{"format": "uri"}`, 2900) + `]}`, strings.Repeat("(a", 1000)},
		{"format email", `{"allOf": [` + times(`{"format": "email"}`, 2900) + `]}`, strings.Repeat("(a", 1000)},
		{"format regex", `{"allOf": [` + times(`{"format": "regex"}`, 2900) + `]}`, strings.Repeat("(a", 1000)},
		{"format idn-hostname", `{"allOf": [` + times(`{"format": "idn-hostname"}`, 2900) + `]}`, strings.Repeat("ü", 1000)},
		{"format uri-template", `{"allOf": [` + times(`{"format": "uri-template"}`, 2900) + `]}`, strings.Repeat("{a}", 1000)},
		{"long names", `{"properties": {"` + strings.Repeat("x", 1000) + `": {"allOf": [` + times(`{"x": 1}`, 450) + `]}}}`, "1"},
		{"coercing", `{"items": {"allOf": [` + times(`{"properties": {"a": {"type": "string"}}}`, 900) + `]}}`, "[" + times("{a: 1}", 2000) + "]"},
	} {
		value := Parse(c.value)
		data, schema := map[string]any{"K": value}, `{"properties": {"K": `+strings.ReplaceAll(c.schema, "#/$defs", "#/properties/K/$defs")+`}}`
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			var err error
			for b.Loop() {
				_, err = checkData(data, schema)
			}
			b.ReportMetric(float64(len(fmt.Sprint(err))), "bytes-of-error")
			if testing.Verbose() {
				b.Logf("%.150v", err)
			}
		})
		b.Run(c.name+"/again", func(b *testing.B) {
			compiled, err := Compile(schema)
			if err != nil {
				b.Skip("it is refused when it is read")
			}
			b.ReportAllocs()
			for b.Loop() {
				_, _ = compiled.Check(data)
			}
		})
	}
}
