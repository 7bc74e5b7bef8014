package plan

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scheduler/configvalue"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
)

func TestRender(t *testing.T) {
	tests := []struct {
		name, config, text, want string
	}{
		{"plain", "{}", "a: b\n", "a: b\n"},
		{"fields", "{}", "{{ .DeploymentTargetName }} {{ .Namespace }} {{ .Environment }} {{ .Workspace }} {{ .Workload }} {{ .ClusterType }}",
			"shop-test dev-small-shop-test dev team shop small"},
		{"maps", "{K: v}", `{{ .Labels.purpose }} {{ .Manifests.path }} {{ .ConfigData.K }} {{ index .Labels "purpose" }}`, "test ./p v test"},
		{"no HTML escapes", "{K: 'a&b<\"c\">'}", "{{ .ConfigData.K }}", `a&b<"c">`},

		{"condition on a missing key", "{}", "{{ if .ConfigData.x }}yes{{ else }}no{{ end }}", "no"},
		{"condition below a missing key", "{}", "{{ if .ConfigData.x.y }}yes{{ else }}no{{ end }}", "no"},
		{"condition on a present key", "{x: a}", "{{ if .ConfigData.x }}yes{{ end }}", "yes"},
		{"with a missing key", "{}", "{{ with .ConfigData.x }}{{ . }}{{ else }}no{{ end }}", "no"},
		{"range over a missing key", "{}", "{{ range .ConfigData.x }}{{ . }}{{ else }}no{{ end }}", "no"},
		{"comparison with a missing key", "{}", `{{ if eq .ConfigData.x "a" }}yes{{ else }}no{{ end }}`, "no"},
		{"conjunction of missing keys", "{a: b}", `{{ if and .ConfigData.a (not .ConfigData.x) }}yes{{ end }}`, "yes"},
		{"default for a missing key", "{}", `{{ .ConfigData.x | default "d" }} {{ default "d" .ConfigData.x }} {{ default "d" (.ConfigData.x) }}`, "d d d"},
		{"coalesce", "{b: v}", `{{ coalesce .ConfigData.a .ConfigData.b }}`, "v"},
		{"or", "{}", `{{ or .ConfigData.x "d" }}`, "d"},
		{"empty", "{}", `{{ empty .ConfigData.x }}`, "true"},
		{"variable of a missing key", "{}", `{{ $x := .ConfigData.x }}{{ if $x }}yes{{ else }}no{{ end }}`, "no"},
		{"empty value is a value", "{x: ''}", `[{{ .ConfigData.x }}][{{ .ConfigData.x | quote }}]`, `[][""]`},
		{"false is a value", "{x: '{a: false, b: 0}'}", `{{ .ConfigData.x.a }} {{ .ConfigData.x.b }}`, "false 0"},

		{"toYaml", "{B: '1.10', A: 'true', C: '{x: [1, 1.10]}'}", "data:\n{{ toYaml .ConfigData | indent 2 }}", "data:\n  A: \"true\"\n  B: \"1.10\"\n  C:\n      x:\n          - 1\n          - 1.1"},
		{"stringify", "{A: v, B: \"a\\nb\\n\", C: '{x: [1]}', D: '[{x: 1}]'}", "{{ stringify .ConfigData }}", "A: v\nB: |\n    a\n    b\nC:\n    x:\n        - 1\nD: |\n    - x: 1"},
		{"hash", "{A: v}", "{{ hash .ConfigData.A }} {{ .ConfigData.A | hash }}", "12638153115695167401 12638153115695167401"},
		{"unquote", "{A: '\"v\"', B: v}", `{{ unquote .ConfigData.A }} {{ .ConfigData.B | unquote }} {{ unquote "'x" }} [{{ unquote " x " }}] {{ unquote "\"\"''y'" }} [{{ unquote 1 }}]`, "v v x [x] y []"},
		{"sprig", "{A: v}", `{{ .ConfigData.A | upper | quote }} {{ printf "%s-%s" .Workload .ConfigData.A }}`, `"V" shop-v`},
		{"keys and values have an order", "{c: '3', a: '1', b: '2'}", `{{ keys .ConfigData }} {{ values .ConfigData }}`, "[a b c] [1 2 3]"},
		{"YAML 1.1", "{D: '{v: 1.10, enabled: no, y: x}'}", `{{ .ConfigData.D.v }} {{ if .ConfigData.D.enabled }}yes{{ else }}no{{ end }} {{ .ConfigData.D }}`, "1.1 no map[enabled:false v:1.1 true:x]"},
		{"maps are no JSON, as with the original", "{A: v, D: '{v: 1}'}", `{{ toJson .ConfigData.A }} [{{ toJson .ConfigData }}]`, `"v" []`},
		{"texts are numbers in decimal", "{A: '012'}", `{{ int .ConfigData.A }} {{ int64 "0x1F" }} {{ add "010" 1 }} {{ max "08" "9" }} {{ sub "10" "03" }} {{ mul "2" "010" }} {{ add1 "09" }}`, "12 0 11 9 7 20 10"},
		{"missing labels and manifests", "{}", `[{{ .Labels.x }}][{{ .Labels.x | quote }}][{{ .Manifests.x | upper }}][{{ index .Labels "x" }}][{{ with .Labels }}{{ .x }}{{ end }}][{{ $m := .Manifests }}{{ $m.x }}][{{ $.Manifests.x }}]`, "[][][][][][][]"},
		{"define", "{A: v}", `{{ define "x" }}<{{ .ConfigData.A }}>{{ end }}{{ template "x" . }}`, "<v>"},

		{"nested", "{A: '{{ .Environment }}-{{ .ConfigData.B }}', B: '{{ .Workload }}'}", "{{ .ConfigData.A }}", "dev-shop"},
		{"nested through toYaml", "{A: '{{ .Environment }}'}", "{{ toYaml .ConfigData }}", "A: 'dev'"},
		{"nine levels", "{A1: '{{ .ConfigData.A2 }}', A2: '{{ .ConfigData.A3 }}', A3: '{{ .ConfigData.A4 }}', A4: '{{ .ConfigData.A5 }}', A5: '{{ .ConfigData.A6 }}', A6: '{{ .ConfigData.A7 }}', A7: '{{ .ConfigData.A8 }}', A8: '{{ .ConfigData.A9 }}', A9: end}",
			"{{ .ConfigData.A1 }}", "end"},
		{"templates change their own copy", "{D: a}", `{{ $_ := set .ConfigData "D" 2 }}{{ $_ := unset .ConfigData "X" }}{{ .ConfigData.D }}`, "2"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := data(t, test.config)
			for range 3 {
				got, err := newRenderer().render(test.text, d)
				if err != nil {
					t.Fatal(err)
				}
				if got != test.want {
					t.Fatalf("got %q, want %q", got, test.want)
				}
			}
			if diff := cmp.Diff(data(t, test.config), d); diff != "" {
				t.Errorf("rendering changed its data:\n%s", diff)
			}
		})
	}
}

func TestRenderErrors(t *testing.T) {
	tests := []struct {
		name, config, text string
		line               int
		want               string
	}{
		{"missing key", "{}", "a: 1\nb: {{ .ConfigData.url }}\n", 2, ".ConfigData.url has no value"},
		{"missing key in a pipe", "{}", "{{ .ConfigData.url | quote }}", 1, ".ConfigData.url has no value"},
		{"missing key as an argument", "{}", "a\n{{ printf \"%s\" .ConfigData.url }}", 2, ".ConfigData.url has no value"},
		{"missing key in parentheses", "{}", "{{ quote (upper .ConfigData.url) }}", 1, ".ConfigData.url has no value"},
		{"missing key beside default", "{}", `{{ default "d" (printf "%s" .ConfigData.url) }}`, 1, ".ConfigData.url has no value"},
		{"missing key as default", "{}", `{{ .ConfigData.a | default .ConfigData.b }}`, 1, "has no value"},
		{"missing key below one", "{a: '{b: c}'}", "{{ .ConfigData.a.x }}", 1, ".ConfigData.a.x has no value"},
		{"missing key in a block", "{a: b}", "{{ if .ConfigData.a }}\n{{ .ConfigData.url }}\n{{ end }}", 2, ".ConfigData.url has no value"},
		{"missing key in an else", "{}", "{{ if .ConfigData.a }}\n{{ else }}\n{{ .ConfigData.url }}{{ end }}", 3, ".ConfigData.url has no value"},
		{"missing key in a loop", "{a: '[{b: 1}, {c: 2}]'}", "{{ range .ConfigData.a }}\n{{ .b }}{{ end }}", 2, ".b has no value"},
		{"missing key in a with", "{a: '{b: 1}'}", "{{ with .ConfigData.a }}\n{{ .c }}{{ end }}", 2, ".c has no value"},
		{"missing key in a define", "{}", "{{ define \"x\" }}\n{{ .ConfigData.url }}{{ end }}\n{{ template \"x\" . }}", 2, ".ConfigData.url has no value"},
		{"missing key by variable", "{}", "{{ $x := .ConfigData.url }}\n{{ $x }}", 2, "$x has no value"},
		{"missing key by variable in a pipe", "{}", "{{ $x := .ConfigData.url }}\n{{ $x | quote }}", 2, "$x has no value"},
		{"missing key by index", "{}", `{{ index .ConfigData "url" }}`, 1, `index .ConfigData "url" has no value`},
		{"null", "{a: '{b: null}'}", "{{ .ConfigData.a.b }}", 1, ".ConfigData.a.b has no value"},
		{"unknown field", "{}", "a\n{{ .Nonsense }}", 2, "unknown field .Nonsense; known are .ClusterType, .ConfigData, .DeploymentTargetName, .Environment, .Labels, .Manifests, .Namespace, .Workload, .Workspace"},
		{"unknown field in a define", "{}", `{{ define "x" }}{{ .Nonsense }}{{ end }}{{ template "x" . }}`, 1, "unknown field .Nonsense; known are .ClusterType"},
		{"field of a text", "{a: b}", "{{ .ConfigData.a.b }}", 1, ".ConfigData.a is a text and has no field .b"},
		{"field of a field of a text", "{a: b}", "{{ $.ConfigData.a.b.c }}", 1, "$.ConfigData.a is a text and has no field .b"},
		{"field of a list", "{a: '{l: [1]}'}", "{{ .ConfigData.a.l.b }}", 1, ".ConfigData.a.l is a list and has no field .b"},
		{"field of a number", "{a: '{v: 1.10}'}", "{{ .ConfigData.a.v.b }}", 1, ".ConfigData.a.v is a number and has no field .b"},
		{"field of a name", "{}", "{{ .Workload.b }}", 1, ".Workload is a text and has no field .b"},
		{"field of a text in a loop", "{l: '[a]'}", "{{ range .ConfigData.l }}\n{{ .b }}{{ end }}", 2, ". is not a map and has no field .b"},
		{"field of a text by variable", "{a: b}", "{{ $x := .ConfigData.a }}{{ $x.b }}", 1, "$x is a text and has no field .b"},
		{"map for a text", "{a: '{b: c}'}", "{{ upper .ConfigData.a }}", 1, "expected string; got map"},
		{"syntax", "{}", "a\nb {{ .X \n", 2, "unclosed action"},
		{"no end", "{}", "a\n{{ if .Workload }}\n", 3, "unexpected EOF"},
		{"env", "{}", `{{ env "HOME" }}`, 1, `function "env" not defined`},
		{"expandenv", "{}", `{{ expandenv "$HOME" }}`, 1, `function "expandenv" not defined`},
		{"getHostByName", "{}", `{{ getHostByName "localhost" }}`, 1, `function "getHostByName" not defined`},
		{"now", "{}", "{{ now }}", 1, `function "now" not defined`},
		{"randAlpha", "{}", "{{ randAlpha 3 }}", 1, `function "randAlpha" not defined`},
		{"genPrivateKey", "{}", `{{ genPrivateKey "rsa" }}`, 1, `function "genPrivateKey" not defined`},
		{"shuffle", "{}", `{{ shuffle "abc" }}`, 1, `function "shuffle" not defined`},
		{"fail", "{}", `{{ fail "no such region" }}`, 1, "no such region"},
		{"required", "{}", `{{ if not .ConfigData.x }}{{ fail "x!" }}{{ end }}`, 1, "x!"},
		{"missing key in a value", "{a: 'x{{ .ConfigData.url }}'}", "k: 1\na: {{ .ConfigData.a }}", 0, "configuration value a: .ConfigData.url has no value"},
		{"missing key in a value of several lines", "{a: \"x\\ny{{ .ConfigData.url }}\"}", "k: 1\na: |\n  {{ .ConfigData.a | nindent 2 }}", 0, "line 2 of configuration value a: .ConfigData.url has no value"},
		{"missing key in a part of a value", "{a: '{b: [\"x{{ .ConfigData.url }}\"]}'}", "a: {{ index .ConfigData.a.b 0 }}", 0, "configuration value a: .ConfigData.url has no value"},
		{"missing key in a value of a value", "{a: '{{ .ConfigData.b }}', b: '{{ .ConfigData.url }}', c: '{{ .ConfigData.url }}-'}", "a: {{ .ConfigData.a }}", 0, "configuration value b: .ConfigData.url has no value"},
		{"missing key in what a template makes", "{a: '{{ .ConfigData.url }}-'}", "a: {{ \"{{\" }} .ConfigData.url }}", 0, "in line 1 of the result of round 1: .ConfigData.url has no value"},
		{"syntax in a value", "{a: '{{ $labels.instance }}'}", "{{ .ConfigData.a }}", 0, `configuration value a: undefined variable "$labels"`},
		{"a value that names itself", "{a: 'x{{ .ConfigData.a }}'}", "{{ .ConfigData.a }}", 0, "still holds template actions after 10 rounds"},
		{"a value that is only its own name", "{a: '{{ .ConfigData.a }}'}", "{{ .ConfigData.a }}", 0, "the result holds a template action that gives itself"},
		{"two values that name each other", "{a: '{{ .ConfigData.b }}.', b: '{{ .ConfigData.a }}.'}", "{{ .ConfigData.a }}", 0, "after 10 rounds"},
		{"a value that grows", "{a: '{{ .ConfigData.a }}{{ .ConfigData.a }}{{ .ConfigData.a }}{{ .ConfigData.a }}{{ .ConfigData.a }}{{ .ConfigData.a }}{{ .ConfigData.a }}{{ .ConfigData.a }}{{ .ConfigData.a }}{{ .ConfigData.a }}'}", "{{ .ConfigData.a }}", 0, "longer than"},
		{"output without end", "{}", `{{ range until 10000 }}{{ repeat 1000 "x" }}{{ end }}`, 0, "longer than"},
		{"loops without end", "{}", "{{ range until 10000 }}\n{{ range until 10000 }}{{ end }}{{ end }}", 2, "more than 20000 steps"},
		{"doubling without end", "{}", `{{ define "x" }}{{ if lt (len .) 40 }}{{ template "x" (append . 1) }}{{ template "x" (append . 1) }}{{ end }}{{ end }}{{ template "x" list }}`, 1, "more than 20000 steps"},
		{"repeat without end", "{}", `{{ repeat 1000000000 "x" }}`, 1, "too much"},
		{"until without end", "{}", `{{ until 100000000 }}`, 1, "too much"},
		{"untilStep without end", "{}", `{{ untilStep 0 9223372036854775807 1 }}`, 1, "too much"},
		{"seq without end", "{}", `{{ seq 0 2000000000 }}`, 1, "too much"},
		{"indent without end", "{}", `{{ indent 1000000000 "x" }}`, 1, "too much"},
		{"recursion", "{}", `{{ define "x" }}{{ template "x" . }}{{ end }}{{ template "x" . }}`, 1, "more than 20000 steps"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			out, err := newRenderer().render(test.text, data(t, test.config))
			var failed *renderError
			if !errors.As(err, &failed) {
				t.Fatalf("result %q, error %v", out, err)
			}
			if failed.line != test.line || !strings.Contains(failed.message, test.want) {
				t.Errorf("line %d: %s; want line %d: %s", failed.line, failed.message, test.line, test.want)
			}
			if out != "" {
				t.Errorf("an error with a result: %q", out)
			}
			if strings.Contains(err.Error(), guardName) || strings.Contains(err.Error(), templateName+":") {
				t.Errorf("the error names internals: %s", err)
			}
		})
	}
}

// TestYAMLErrorLine proves that an error in the result is reported at the line
// of the template that made it.
func TestYAMLErrorLine(t *testing.T) {
	tests := []struct {
		name, config, text string
		line               int
	}{
		{"in the text", "{}", "a: 1\nb: [\nc: 2\n", 2},
		{"after a block", "{l: '[1, 2, 3]'}", "a:\n{{- range .ConfigData.l }}\n- {{ . }}\n{{- end }}\nb: c: d\n", 5},
		{"in a value of many lines", "{l: 'x: 1'}", "a: 1\nb:\n{{ \"  c: 1\\n  d: 2\\n  e: f: g\" }}\nh: 1\n", 3},
		{"in a loop", "{l: '[a, \"b: c\"]'}", "a: 1\n{{ range .ConfigData.l }}\nk{{ . }}: {{ . }}\n{{ end }}", 3},
		{"in the first line", "{}", "a: b: c\n", 1},
		{"key that stands twice", "{}", "a: 1\nb: 1\n{{ if .Workload }}\na: 2\n{{ end }}", 4},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := newRenderer().manifest(test.text, data(t, test.config), true)
			var failed *renderError
			if !errors.As(err, &failed) || !strings.Contains(failed.message, "not valid YAML") {
				t.Fatalf("error: %v", err)
			}
			if failed.line != test.line {
				t.Errorf("line %d, want %d: %s", failed.line, test.line, failed.message)
			}
		})
	}
}

func TestRenderFile(t *testing.T) {
	file := func(contentType v1alpha1.ContentType, manifests ...string) (string, []Problem) {
		template := templateOf("t", v1alpha1.ConfigTemplate, manifests...)
		template.Spec.ContentType = contentType
		return newRenderer().file(template, data(t, "{K: v}"), asTheyAre)
	}
	tests := []struct {
		name        string
		contentType v1alpha1.ContentType
		manifests   []string
		want        string
	}{
		{"one", "", []string{"a: {{ .Workload }}"}, "a: shop\n"},
		{"two", "", []string{"a: 1\n", "b: 1\n\n"}, "a: 1\n---\nb: 1\n"},
		{"empty results are dropped", "", []string{"{{ if .ConfigData.x }}a: 1{{ end }}", "b: 1", "\n \n"}, "b: 1\n"},
		{"nothing", "", []string{"{{ if .ConfigData.x }}a: 1{{ end }}"}, ""},
		{"its own separator", "yaml", []string{"---\n- hosts: a", "---\n- hosts: b"}, "---\n- hosts: a\n---\n- hosts: b\n"},
		{"no separator", "", []string{"a: 1", "---b: 1"}, "a: 1\n---\n---b: 1\n"},
		{"shell", "sh", []string{"export A={{ .ConfigData.K }}", "export B=\"$A: [\""}, "export A=v\nexport B=\"$A: [\"\n"},
		{"indented first line", "", []string{"\n  a: 1\n  b: 2\n"}, "  a: 1\n  b: 2\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, problems := file(test.contentType, test.manifests...)
			if len(problems) > 0 || got != test.want {
				t.Errorf("got %q, want %q, problems %v", got, test.want, problems)
			}
		})
	}
	t.Run("problems", func(t *testing.T) {
		got, problems := file("", "a: 1", "x: 1\nb: {{ .ConfigData.x }}", "{{ .Oops }}", "a: b: c")
		want := []string{
			"error TemplateFailed t.yaml:201",
			"error TemplateFailed t.yaml:300",
			"error TemplateFailed t.yaml:400",
		}
		if diff := cmp.Diff(want, reasons(problems)); diff != "" || got != "" {
			t.Errorf("result %q, problems (-want +got):\n%s", got, diff)
		}
	})
	t.Run("namespaces that are too long", func(t *testing.T) {
		long := strings.Repeat("x", 64)
		d := data(t, "{}")
		d.Namespace, d.Workspace = long, strings.Repeat("y", 64)
		for text, fails := range map[string]bool{
			"a: {{ .Workload }}":  false,
			"a: {{ .Namespace }}": true,
			"apiVersion: v1\nkind: Namespace\nmetadata: {name: '{{ .Workspace }}'}": true,
			"apiVersion: v1\nkind: Secret\nmetadata: {name: '{{ .Workspace }}'}":    false,
			"apiVersion: v1\nkind: Namespace\nmetadata: {name: '{{ .Workload }}'}":  false,
		} {
			_, problems := newRenderer().file(templateOf("t", v1alpha1.NamespaceTemplate, text), d, asTheyAre)
			if (len(problems) > 0) != fails || fails && problems[0].Reason != InvalidName {
				t.Errorf("%s: %v", text, reasons(problems))
			}
		}
	})
}

func FuzzRender(f *testing.F) {
	for _, seed := range []string{
		"a: {{ .ConfigData.K }}",
		"{{ range $i, $v := .ConfigData }}{{ $i }}{{ end }}",
		"{{ define \"x\" }}{{ . }}{{ end }}{{ template \"x\" .Labels }}",
		"{{ with $x := .ConfigData.x }}{{ $x.y }}{{ else with .Labels }}{{ .purpose }}{{ end }}",
		"{{- /* c */ -}}{{ (index .Labels \"a\").b }}{{ break }}",
		"{{ range .ConfigData }}{{ if . }}{{ continue }}{{ end }}{{ end }}",
		"{{ toYaml . | nindent 4 | b64enc | hash }}",
		"{{ \"{{\" }}",
		"{{ printf \"%s-x\" (index .ConfigData \"zz\") }}{{ get .ConfigData \"zz\" | quote }}",
		"{{ $x := printf \"%s\" .ConfigData.x }}{{ $x }}{{ with printf \"%s\" .ConfigData.x }}{{ . }}{{ end }}",
		"{{ define \"x\" }}{{ . | printf \"%s\" }}{{ end }}{{ template \"x\" .ConfigData.x }}",
	} {
		f.Add(seed, "{{ .Environment }}")
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		d := data(t, "{}")
		d.ConfigData["K"] = configvalue.Parse(value)
		first, err := newRenderer().manifest(text, d, true)
		second, again := newRenderer().manifest(text, d, true)
		if first != second || (err == nil) != (again == nil) {
			t.Errorf("rendered %q (%v), then %q (%v)", first, err, second, again)
		}
		if err != nil && first != "" {
			t.Errorf("an error with a result: %q, %v", first, err)
		}
		for _, missing := range []string{"<no value>", "%!s(<nil>)"} {
			if err == nil && strings.Contains(first, missing) && !strings.Contains(text+value, missing) {
				t.Errorf("%q renders %q", text, first)
			}
		}
	})
}
