package configvalue

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

func TestCheck(t *testing.T) {
	const port = `{"properties": {"P": {"type": %T}}, "required": ["P"]}`
	typed := func(name string) string { return strings.ReplaceAll(port, "%T", name) }
	tests := []struct {
		name, data, schema string
		want               []string
	}{
		{"tutorial", "{A: x}", `{"properties": {"inference_url": {"type": "string"}}, "required": ["inference_url"]}`, []string{"inference_url is required"}},
		{"several", "{}", `{"required": ["b", "a"]}`, []string{"a is required", "b is required"}},
		{"provided", "{inference_url: x}", `{"required": ["inference_url"]}`, nil},
		{"no demands", "{A: x}", `{}`, nil},
		{"everything", "{A: x}", `true`, nil},

		{"string takes digits", "{P: '8080'}", typed(`"string"`), nil},
		{"string takes 007", "{P: '007'}", typed(`"string"`), nil},
		{"string takes true", "{P: 'true'}", typed(`"string"`), nil},
		{"string pattern sees the text", "{P: '1.10'}", `{"properties": {"P": {"type": "string", "pattern": "^1\\.10$"}}}`, nil},
		{"no type: the text", "{P: '8080'}", `{"properties": {"P": {"minLength": 4, "maximum": 1}}}`, nil},
		{"integer takes digits", "{P: '8080'}", typed(`"integer"`), nil},
		{"integer takes a sign", "{P: '-1'}", typed(`"integer"`), nil},
		{"integer refuses 007", "{P: '007'}", typed(`"integer"`), []string{"P: got string, want integer"}},
		{"integer refuses 1.5", "{P: '1.5'}", typed(`"integer"`), []string{"P: got string, want integer"}},
		{"integer refuses text", "{P: many}", typed(`"integer"`), []string{"P: got string, want integer"}},
		{"integer bounds", "{P: '8080'}", `{"properties": {"P": {"type": "integer", "maximum": 1024}}}`, []string{"P: maximum: got 8,080, want 1,024"}},
		{"integer that is long", "{P: '123456789012345678901234567890'}", typed(`"integer"`), nil},
		{"number takes 1.5", "{P: '1.5'}", typed(`"number"`), nil},
		{"number takes 1e3", "{P: '1e3'}", typed(`"number"`), nil},
		{"number refuses NaN", "{P: NaN}", typed(`"number"`), []string{"P: got string, want number"}},
		{"number refuses huge exponents", "{P: 1e999999999}", typed(`"number"`), []string{"P: got string, want number"}},
		{"boolean takes true", "{P: 'true'}", typed(`"boolean"`), nil},
		{"boolean refuses yes", "{P: 'yes'}", typed(`"boolean"`), []string{"P: got string, want boolean"}},
		{"null", "{P: 'null'}", typed(`"null"`), nil},
		{"string or integer: the text", "{P: '1'}", `{"properties": {"P": {"type": ["integer", "string"], "minLength": 2}}}`, []string{"P: minLength: got 1, want 2"}},
		{"integer or null", "{P: '1'}", typed(`["null", "integer"]`), nil},
		{"object takes a map", "{P: '{a: 1}'}", typed(`"object"`), nil},
		{"object refuses text", "{P: a}", typed(`"object"`), []string{"P: got string, want object"}},

		{"enum of strings", "{P: '1'}", `{"properties": {"P": {"enum": ["1", "2"]}}}`, nil},
		{"enum of numbers", "{P: '1'}", `{"properties": {"P": {"enum": [1, 2]}}}`, nil},
		{"const", "{P: 'true'}", `{"properties": {"P": {"const": true}}}`, nil},
		{"reference", "{P: '1'}", `{"properties": {"P": {"$ref": "#/$defs/port"}}, "$defs": {"port": {"type": "integer"}}}`, nil},
		{"allOf", "{P: '1'}", `{"properties": {"P": {"allOf": [{"type": "integer"}, {"minimum": 1}]}}}`, nil},
		{"anyOf", "{P: 'x'}", `{"properties": {"P": {"anyOf": [{"type": "integer"}, {"type": "string"}]}}}`, nil},
		{"demands from a branch", "{P: '1'}", `{"allOf": [{"properties": {"P": {"type": "integer"}}}]}`, nil},
		{"patternProperties", "{PORT_A: '1'}", `{"patternProperties": {"^PORT_": {"type": "integer"}}}`, nil},
		{"additionalProperties", "{P: '1'}", `{"additionalProperties": {"type": "integer"}}`, nil},
		{"no additional properties", "{P: '1'}", `{"additionalProperties": false}`, []string{"additional properties 'P' not allowed"}},
		{"schema that refers to itself", "{P: '{next: {next: {}}}'}", `{"properties": {"P": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"properties": {"next": {"$ref": "#/$defs/n"}}}}}`, nil},

		{"nested", "{P: '{port: 8080, name: x}'}", `{"properties": {"P": {"properties": {"port": {"type": "integer"}, "name": {"type": "string"}}, "required": ["host"]}}}`, []string{"P.host is required"}},
		{"nested number for a string", "{P: '{version: 1.10, n: 8080, f: 1.5}'}", `{"properties": {"P": {"additionalProperties": {"type": "string"}}}}`, nil},
		{"nested fraction for a number", "{P: '{version: 1.10}'}", `{"properties": {"P": {"properties": {"version": {"type": "number"}}}}}`, nil},
		{"nested octal for an integer", "{P: '{mode: 0644}'}", `{"properties": {"P": {"properties": {"mode": {"const": 420}}}}}`, nil},
		{"items", "{P: '[1, a]'}", `{"properties": {"P": {"items": {"type": "integer"}}}}`, []string{"P.1: got string, want integer"}},
		{"quoted items", "{P: '[\"1\"]'}", `{"properties": {"P": {"items": {"type": "integer"}}}}`, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := checkText(dataOf(t, test.data), test.schema)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheckBadSchemas(t *testing.T) {
	for schema, want := range map[string]string{
		"":                                "not valid JSON",
		"{":                               "not valid JSON",
		`{"type": "text"}`:                "type",
		`{"$ref": "file:///etc/passwd"}`:  "not followed",
		`{"$ref": "https://example.com"}`: "not followed",
		`{"$ref": "#/nowhere"}`:           "nowhere",
		`{"pattern": "("}`:                "pattern",
	} {
		findings, err := checkText(map[string]any{}, schema)
		if err == nil || !strings.Contains(err.Error(), want) || len(findings) > 0 {
			t.Errorf("%s: findings %v, error %v", schema, findings, err)
		}
	}
}

// dataOf reads the data of a ConfigMap.
func dataOf(t *testing.T, text string) map[string]any {
	t.Helper()
	var texts map[string]string
	fromYAML(t, text, &texts)
	data := map[string]any{}
	for key, value := range texts {
		data[key] = Parse(value)
	}
	return data
}

func fromYAML(t *testing.T, text string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
}

// checkData compiles a schema and checks data with it.
func checkData(data map[string]any, schema string) ([]Finding, error) {
	s, err := Compile(schema)
	if err != nil {
		return nil, err
	}
	return s.Check(data)
}

func checkText(data map[string]any, schema string) ([]string, error) {
	findings, err := checkData(data, schema)
	var texts []string
	for _, f := range findings {
		texts = append(texts, f.Text)
	}
	return texts, err
}
