package plan

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
)

// saying is data of which the workload says some texts.
func saying(t testing.TB, config string, labels, manifests map[string]string) renderData {
	d := data(t, config)
	for key, value := range labels {
		d.Labels[key] = value
	}
	for key, value := range manifests {
		d.Manifests[key] = value
	}
	return d
}

// TestWorkloadTextIsInert proves that what a workload says is never read as a
// template, on whatever way it comes to the result.
func TestWorkloadTextIsInert(t *testing.T) {
	const action = "{{ .ConfigData.SECRET }}"
	tests := []struct{ name, config, text, want string }{
		{"a label", "{}", "a: '{{ .Labels.x }}'", "a: '" + action + "'"},
		{"a label, quoted", "{}", "a: {{ .Labels.x | quote }}", `a: "` + action + `"`},
		{"a manifests field", "{}", "a: '{{ .Manifests.x }}'", "a: '" + action + "'"},
		{"all labels", "{}", "a:\n{{ toYaml .Labels | indent 2 }}", "a:\n  purpose: test\n  x: '" + action + "'"},
		{"a loop", "{}", "{{ range $k, $v := .Labels }}{{ $k }}: '{{ $v }}'\n{{ end }}", "purpose: 'test'\nx: '" + action + "'\n"},
		{"a variable", "{}", "{{ $x := .Labels.x }}a: '{{ $x }}'", "a: '" + action + "'"},
		{"with", "{}", "{{ with .Labels }}a: '{{ .x }}'{{ end }}", "a: '" + action + "'"},
		{"a definition", "{}", `{{ define "d" }}'{{ . }}'{{ end }}a: {{ template "d" .Labels.x }}`, "a: '" + action + "'"},
		{"a definition of everything", "{}", `{{ define "d" }}'{{ .Labels.x }}'{{ end }}a: {{ template "d" . }}`, "a: '" + action + "'"},
		{"a definition called with two things", "{}", `{{ define "d" }}{{ . }}{{ end }}a: '{{ template "d" .ConfigData.SECRET }}{{ template "d" .Labels.x }}'`, "a: 's3cret" + action + "'"},
		{"a configuration value", "{K: 'x {{ .Labels.x }}'}", "a: '{{ .ConfigData.K }}'", "a: 'x " + action + "'"},
		{"a value of a value", "{K: '{{ .ConfigData.L }}', L: '{{ .Manifests.x }}'}", "a: '{{ .ConfigData.K }}'", "a: '" + action + "'"},
		{"all values", "{K: 'x {{ .Labels.x }}'}", "a: {{ toJson .ConfigData }}", `a: {"K":"x ` + action + `","SECRET":"s3cret"}`},
		{"beside an action", "{K: '{{ .Environment }}'}", "a: '{{ .Labels.x }} {{ .ConfigData.K }}'", "a: '" + action + " dev'"},
		{"two halves", "{}", "a: '{{ .Labels.open }}{{ .Labels.rest }}'", "a: '" + action + "'"},
		{"a half and the template's", "{}", "a: '{ {{- .Labels.rest }}'", "a: '" + action + "'"},
		{"put into a map", "{}", `{{ $_ := set .ConfigData "K" .Labels.x }}a: '{{ .ConfigData.K }}'`, "a: '" + action + "'"},
		{"merged into a map", "{}", `{{ $d := dict "a" "b" }}{{ $_ := merge $d (dict "x" .Labels.x) }}a: '{{ $d.x }}'`, "a: '" + action + "'"},
		{"decoded", "{}", "a: '{{ b64dec .Labels.coded }}'", "a: '" + action + "'"},
		{"cut out", "{}", `a: '{{ trimPrefix "p" .Labels.prefixed }}'`, "a: '" + action + "'"},
		{"as a format", "{}", "a: '{{ printf .Labels.x }}'", "a: '" + action + "'"},
		{"in a template that the template makes", "{}", `a: '{{ "{{" }} print "{{ .Labels.x }}" }}'`, "a: '" + action + "'"},
		{"in a comment of the template", "{}", "a: b # {{ .Labels.x }}", "a: b # " + action},
		{"a value chosen by a label", "{west: '{{ .Environment }}'}", `a: {{ index .ConfigData .Labels.region }}`, "a: dev"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			said := map[string]string{"x": action}
			if !strings.Contains(test.text, "range") && !strings.Contains(test.text, "toYaml .Labels") {
				said["open"], said["rest"], said["region"] = "{", "{ .ConfigData.SECRET }}", "west"
				said["coded"], said["prefixed"] = "e3sgLkNvbmZpZ0RhdGEuU0VDUkVUIH19", "p"+action
			}
			d := saying(t, test.config, said, map[string]string{"x": action})
			d.ConfigData["SECRET"] = "s3cret"
			got, err := newRenderer().manifest(test.text, d, true)
			if err != nil || got != test.want {
				t.Errorf("%q, %v; want %q", got, err, test.want)
			}
		})
	}
}

const roleBinding = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: x}}"

// TestWorkloadCannotChangeStructure holds texts that would be more than texts in
// templates that do not quote.
func TestWorkloadCannotChangeStructure(t *testing.T) {
	const object = "apiVersion: v1\nkind: ConfigMap\n"
	tests := []struct {
		name, text, said string
		line             int
	}{
		{"another document", object + "---\n{{ .Labels.x }}", "--- " + roleBinding, 4},
		{"another document after text", "a: b\n{{ .Labels.x }}\n", "a: c\n--- " + roleBinding, 2},
		{"a map for a text", object + "data: {{ .Labels.x }}", "{a: b}", 3},
		{"a list for a text", object + "data: {{ .Labels.x }}", "[a, b]", 3},
		{"a field more", object + "data: {a: {{ .Labels.x }}}", "b, c: d", 3},
		{"a field more, in quotes", `{apiVersion: v1, kind: A, data: {a: "{{ .Labels.x }}"}}`, `b", c: "d`, 1},
		{"a kind, in quotes", `{apiVersion: v1, data: {a: "{{ .Labels.x }}"}}`, `b"}, "kind": {"c": "d`, 1},
		{"the kind", "apiVersion: v1\nkind: {{ .Labels.x }}\n", "ClusterRoleBinding", 2},
		{"a part of the kind", "apiVersion: v1\nkind: {{ .Labels.x }}Binding\n", "ClusterRole", 2},
		{"the version", "apiVersion: {{ .Labels.x }}\nkind: A\n", "v1", 1},
		{"a field by a label's name", object + "{{ range $k, $v := .Labels }}{{ $v }}: a\n{{ end }}", "items", 3},
		{"the kind, by all labels", "apiVersion: v1\n{{ toYaml .Labels }}", "ClusterRoleBinding", 2},
		{"the kind in a list", "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: {{ .Labels.x }}\n", "Secret", 5},
		{"quotes over other lines", object + "a: {{ .Labels.x }}\nb: c\nd: {{ .Labels.y }}\n", `"`, 3},
		{"an anchor", object + "a: {{ .Labels.x }} b\nc: d\n", "&a &b", 0},
		{"an alias", object + "a: &a b\nc: {{ .Labels.x }}\n", "*a", 4},
		{"a comment", object + "{{ .Labels.x }}: {{ .Labels.x }}\n", "# a", 3},
		{"upper case", object + "data: {{ upper .Labels.x }}", "{a: b}", 3},
		{"a part of it", object + `data: {{ trimPrefix "./" .Labels.x }}`, "./{a: b}", 3},
		{"by printf", object + `data: {{ printf "%s" .Labels.x }}`, "{a: b}", 3},
		{"decoded", object + "data: {{ b64dec .Labels.x }}", "e2E6IGJ9", 3},
		{"lines that a template makes", object + `{{ replace "_" "\n" .Labels.x }}`, "a: b_---_kind: C", 3},
		{"in a configuration value", object + "data: {{ .ConfigData.K }}", "{a: b}", -1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			labels := map[string]string{"x": test.said, "y": test.said}
			if strings.Contains(test.text, "toYaml") {
				labels = map[string]string{"kind": test.said}
			}
			d := saying(t, "{K: '{{ .Labels.x }}'}", labels, nil)
			out, err := newRenderer().manifest(test.text, d, true)
			var unsafe *structureError
			var invalid *renderError
			switch {
			case errors.As(err, &unsafe) && test.line != 0:
				if unsafe.line != max(test.line, 0) {
					t.Errorf("line %d, want %d: %s", unsafe.line, test.line, err)
				}
			case errors.As(err, &invalid) && strings.Contains(invalid.message, "not valid YAML"):
			default:
				t.Errorf("result %q, error %v", out, err)
			}
		})
	}
}

// TestTemplatesDecide holds what platforms' templates may do with what a workload
// says.
func TestTemplatesDecide(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"whether there is a document", "{{ if eq .Labels.tier \"gold plan\" }}a: 1\n---\n{{ end }}b: 2", "a: 1\n---\nb: 2"},
		{"which kind it has", "kind: {{ if .Manifests.chart }}HelmRelease{{ else }}Kustomization{{ end }}", "kind: HelmRelease"},
		{"how many documents there are", "{{ range splitList \",\" .Labels.regions }}---\nkind: A\nname: {{ . }}\n{{ end }}", "---\nkind: A\nname: west\n---\nkind: A\nname: east\n"},
		{"all labels", "a:\n  {{- toYaml .Labels | nindent 2 }}", "a:\n  purpose: test\n  regions: west,east\n  tier: gold plan"},
		{"all labels in JSON", "a: {{ toJson .Labels }}", `a: {"purpose":"test","regions":"west,east","tier":"gold plan"}`},
		{"all labels as a text", "a: {{ toJson .Labels | quote }}", `a: "{\"purpose\":\"test\",\"regions\":\"west,east\",\"tier\":\"gold plan\"}"`},
		{"a list as Go prints it", `a: {{ splitList "," .Labels.regions }}`, "a: [west east]"},
		{"a list of texts", `a: [{{ splitList "," .Labels.regions | join ", " }}]`, "a: [west, east]"},
		{"a map that the template makes", `{{ dict "kind" "A" "tier" .Labels.tier | toYaml }}`, "kind: A\ntier: gold plan"},
		{"JSON that the template makes", `{{ printf "{kind: A, tier: %s}" .Labels.tier }}`, "{kind: A, tier: gold plan}"},
		{"an empty text", "a: {{ .Labels.none | default \"\" }}\nb: 1", "a: \nb: 1"},
		{"a number", "a: {{ len .Labels }}", "a: 3"},
		{"text in a block", "a: |\n  {{ .Labels.tier }}: {{ .Manifests.chart }}", "a: |\n  gold plan: {x}"},
		{"configuration beside a change", `{{ $d := dict }}{{ $_ := set $d "tier" .Labels.tier }}a: {{ $d.tier }}` + "\nb:\n{{ toYaml .ConfigData | indent 2 }}", "a: gold plan\nb:\n  L:\n      - 1\n      - 2"},
		{"what configuration says of structure", "a: {{ .Labels.tier }}\nb: {{ toJson .ConfigData.L }}", "a: gold plan\nb: [1,2]"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := saying(t, "{L: '[1, 2]'}", map[string]string{"tier": "gold plan", "regions": "west,east"}, map[string]string{"chart": "{x}"})
			got, err := newRenderer().manifest(test.text, d, true)
			if err != nil || got != test.want {
				t.Errorf("%q, %v; want %q", got, err, test.want)
			}
		})
	}
}

// TestUnwritable names what must not stand in generated files.
func TestUnwritable(t *testing.T) {
	for text, want := range map[string]rune{
		"": -1, "a b": -1, "ünï 日本 🙂": -1, "~{}[]'\"#&*": -1,
		"a\nb": '\n', "\r": '\r', "a\t": '\t', "\x00": 0, "a\x1b[31m": 0x1b, "\x7f": 0x7f, "a\u0085": 0x85, "\u009b": 0x9b,
		"\u2028": 0x2028, "ü\u2029": 0x2029, "\ufeff": 0xfeff, "\ufffe": 0xfffe, "\xff": 0xfffd, "\ufffd": -1,
	} {
		if got := unwritable(text); got != want {
			t.Errorf("unwritable(%q) = %U, want %U", text, got, want)
		}
	}
}

// TestWorkloadTextInShell holds what a workload's text may be in a file for a
// shell, by how the template prints it.
func TestWorkloadTextInShell(t *testing.T) {
	tests := []struct {
		text       string
		fine, over []string
	}{
		{"export A={{ .Labels.x }}\n", []string{"a-b.c_d", "https://a.example.com:80/x@y", "ünï", ""}, []string{"a b", "a;b", "$a", "`a`", "$(a)", "a&", "a|b", "a>b", "'a'", `"a"`, `a\`, "*", "~", "(a", "#a"}},
		{"export A='{{ .Labels.x }}'\n", []string{"a b", "$a", "`a`;", `"a"`, `a\`, "#"}, []string{"a'", "'; b; '"}},
		{"export A=\"{{ .Labels.x }}\"\n", []string{"a b", "it's", "a;b|c&", "#", "*"}, []string{`a"`, "$a", "$(a)", "`a`", `a\`}},
		{"export A={{ .Labels.x | squote }}\n", []string{"a b", "$(a)"}, []string{"a'; b #"}},
		{"export A={{ .Labels.x | quote }}\n", []string{"a b", "a;b"}, []string{"$(a)", "`a`"}},
		{"# it's {{ .Labels.x }}\nexport A='{{ .Labels.x }}'\n", []string{"a b", "$(a)", "#"}, []string{"';a"}},
		{"cat <<E\nit's {{ .Labels.x }}\nE\n", []string{"a-b"}, []string{"$(a)", "`a`", "a b"}},
		{"A=\"$(echo {{ .Labels.x }})\"\n", []string{"a-b"}, []string{"a;b", "$(a)"}},
		{"A=$'it\\'s'{{ .Labels.x }}\n", []string{"a-b"}, []string{"a;b"}},
		{"A=\\'{{ .Labels.x }}\n", []string{"a-b"}, []string{"a;b"}},
		{"{{ range $k, $v := .Labels }}{{ $k | upper }}={{ $v }}\n{{ end }}", []string{"a"}, []string{"a b", "$a"}},
		{"A={{ .ConfigData.K }}\n", []string{"a"}, []string{"a b", "$a"}},
		{"A={{ replace \"_\" \"\\n\" .Labels.x }}\n", []string{"a"}, []string{"a_b"}},
	}
	for _, test := range tests {
		for _, said := range append(test.fine, test.over...) {
			object := templateOf("t", v1alpha1.ConfigTemplate, test.text)
			object.Spec.ContentType = v1alpha1.ShellContent
			d := saying(t, "{K: '\"{{ .Labels.x }}\"', L: '$(date)'}", map[string]string{"x": said}, nil)
			if strings.Contains(test.text, ".K") {
				d.ConfigData["K"] = "{{ .Labels.x }}"
			}
			_, problems := newRenderer().file(object, d, asTheyAre)
			if over := slices.Contains(test.over, said); over != (len(problems) > 0) || over && problems[0].Reason != InvalidText {
				t.Errorf("%q with %q: %v", test.text, said, reasons(problems))
			}
		}
	}
}
