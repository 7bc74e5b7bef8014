package policytest

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

var file = model.Position{Repo: "https://forge.test/kalypso/control", Branch: "dev", File: "a.policytest.yaml"}

func at(line, column int) model.Position {
	p := file
	p.Line, p.Column = line, column
	return p
}

func TestLoad(t *testing.T) {
	tests, found := Load(file, []byte(`# What we expect of our policies.
tests:
  - name: a target that there is
    environment: dev
    target: shop-test
    on: [drone]
    notOn: [large, small]
    config:
      drone:
        URL: http://x
        PORT: 8080
        VERSION: 1.10
        FLAG: true
        EMPTY: ""
        GONE: null
        LIST: [a, {b: c}]
---
# nothing
---
tests:
  - name: one that need not exist
    target: {workspace: team, labels: {purpose: test}, workload: shop, name: x}
    onlyOn: []
`))
	if len(found) > 0 {
		t.Fatalf("diagnostics: %v", found)
	}
	if len(tests) != 2 {
		t.Fatalf("%d tests", len(tests))
	}
	a, b := tests[0], tests[1]
	if a.Name != "a target that there is" || a.Position != at(3, 5) || a.OnlyOnAt.Line != 0 {
		t.Errorf("first test: %+v", a)
	}
	if diff := cmp.Diff([]Name{{"dev", at(4, 18)}, {"shop-test", at(5, 13)}}, []Name{a.Environment, a.Target}); diff != "" {
		t.Errorf("environment and target (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Name{{"large", at(7, 13)}, {"small", at(7, 20)}}, a.NotOn); diff != "" {
		t.Errorf("notOn (-want +got):\n%s", diff)
	}
	var config []string
	for _, c := range a.Config {
		config = append(config, fmt.Sprintf("%d %s/%s=%q %t %t", c.Position.Line, c.ClusterType, c.Key, c.Value, c.Structured, c.Absent))
	}
	if diff := cmp.Diff([]string{
		`10 drone/URL="http://x" false false`,
		`11 drone/PORT="8080" false false`,
		`12 drone/VERSION="1.10" false false`,
		`13 drone/FLAG="true" false false`,
		`14 drone/EMPTY="" false false`,
		`15 drone/GONE="" false true`,
		`16 drone/LIST="- a\n- b: c\n" true false`,
	}, config); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
	if b.Target.Text != "" || b.Hypothetical.Workload != "shop" || b.Hypothetical.Name != "x" || b.Hypothetical.Workspace != "team" ||
		b.Hypothetical.Labels["purpose"] != "test" || len(b.OnlyOn) > 0 || b.OnlyOnAt != at(23, 13) {
		t.Errorf("second test: %+v", b)
	}
}

// TestTheReadmesExample reads what users copy.
func TestTheReadmesExample(t *testing.T) {
	content, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, ok := strings.Cut(string(content), "\n    tests:\n")
	example, _, closed := strings.Cut(example, "\n\n")
	if !ok || !closed {
		t.Fatal("README.md has no example")
	}
	tests, found := Load(file, []byte("    tests:\n"+example))
	if len(tests) != 2 || len(found) > 0 {
		t.Errorf("%d tests, diagnostics %v", len(tests), found)
	}
}

// TestMistakes reads files that each have mistakes, of which none must be
// taken for a test.
func TestMistakes(t *testing.T) {
	const good = "tests:\n- name: a\n  target: t\n  on: [c]\n"
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"nothing", "", []string{"1: the file has no tests | begin it with tests:"}},
		{"no tests", "tests: []\n", []string{"1: the file has no tests | begin it with tests:"}},
		{"no object", "- a\n", []string{"1:1: the file must be an object"}},
		{"no YAML", "tests: [\n", []string{"1: not valid YAML: did not find expected node content"}},
		{"no YAML in the second document", good + "---\na: b: c\n", []string{"6: not valid YAML: mapping values are not allowed in this context"}},
		{"Kubernetes", "apiVersion: v1\nkind: PolicyTest\n" + good, []string{
			"1:1: unknown field apiVersion of the file | known fields are tests",
			"2:1: unknown field kind of the file | known fields are tests"}},
		{"tests is no list", "tests: {a: b}\n", []string{"1:8: tests must be a list"}},
		{"a test is no object", "tests: [a]\n", []string{"1:9: tests[0] must be an object"}},
		{"unknown field", good + "  ony: [c]\n", []string{"5:3: unknown field ony of tests[0] | did you mean on?"}},
		{"field twice", good + "  on: [d]\n", []string{"5:3: tests[0].on stands twice"}},
		{"no name", "tests:\n- target: t\n  on: [c]\n", []string{"2:3: tests[0].name is missing"}},
		{"empty name", "tests:\n- name:\n  target: t\n  on: [c]\n", []string{"2:8: tests[0].name is empty"}},
		{"no target", "tests:\n- name: a\n  on: [c]\n", []string{"2:3: tests[0].target is missing | name a deployment target, or describe one by its labels"}},
		{"no expectation", "tests:\n- name: a\n  target: t\n  on: []\n", []string{"2:3: tests[0] expects nothing | say what is expected: on, notOn, onlyOn or config"}},
		{"same name", good + good[len("tests:\n"):], []string{"5:3: a test named \"a\" is already in line 2 | rename one of them"}},
		{"on is no list", "tests:\n- name: a\n  target: t\n  on: c\n", []string{"4:7: tests[0].on must be a list | put it in brackets: [c]"}},
		{"on has a number", "tests:\n- name: a\n  target: t\n  on: [1]\n", []string{"4:8: tests[0].on[0] must be a string | put it in quotes: \"1\""}},
		{"on has a list", "tests:\n- name: a\n  target: t\n  on: [[c]]\n", []string{"4:8: tests[0].on[0] must be a string"}},
		{"target is a list", "tests:\n- name: a\n  target: [t]\n  on: [c]\n", []string{"3:11: tests[0].target must be an object"}},
		{"target has other fields", "tests:\n- name: a\n  target: {label: {}}\n  on: [c]\n", []string{"3:12: unknown field label of tests[0].target | did you mean labels?"}},
		{"label is a boolean", "tests:\n- name: a\n  target: {labels: {edge: true}}\n  on: [c]\n", []string{"3:27: tests[0].target.labels.edge must be a string | put it in quotes: \"true\""}},
		{"config without cluster type", "tests:\n- name: a\n  target: t\n  config: {KEY: value}\n", []string{"4:17: tests[0].config.KEY must be an object"}},
		{"alias that is itself", "tests: &a\n- name: a\n  target: t\n  config: {c: {K: &b [*b]}}\n", []string{"4:19: tests[0].config.c.K cannot be read: yaml: anchor 'b' value contains itself"}},
		{"key that is a list", "tests:\n- [a]: b\n", []string{"2:3: tests[0] has a key that is no string"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tests, found := Load(file, []byte(c.text))
			var got []string
			for _, d := range found {
				if d.Severity != model.Error || d.Position.File != file.File {
					t.Errorf("diagnostic %+v", d)
				}
				line := fmt.Sprintf("%d:%d: %s", d.Position.Line, d.Position.Column, d.Message)
				line = strings.Replace(line, ":0: ", ": ", 1)
				if d.Hint != "" {
					line += " | " + d.Hint
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("diagnostics (-want +got):\n%s", diff)
			}
			if len(tests) > 0 {
				t.Errorf("a file with mistakes has tests: %+v", tests)
			}
		})
	}
}

// TestCount counts what a file with mistakes means to have.
func TestCount(t *testing.T) {
	for text, want := range map[string]int{
		"tests: [{ony: a}, {name: b}]\n---\ntests: [{}]\n": 3,
		"tests: [{}, {}]\n---\na: b: c\n":                  2,
		"tets: [{}]\n":                                     1,
		"tests: {a: b}\n":                                  1,
		"tests: [\n":                                       1,
		"":                                                 1,
	} {
		if got := Count([]byte(text)); got != want {
			t.Errorf("%q has %d tests, want %d", text, got, want)
		}
	}
}

func TestIsFile(t *testing.T) {
	for name, want := range map[string]bool{
		"a.policytest.yaml": true, "x/y.policytest.yml": true, "policytest.yaml": false, "a.policytest.json": false, "a.yaml": false,
	} {
		if IsFile(name) != want {
			t.Errorf("IsFile(%s) = %t", name, !want)
		}
	}
}

// FuzzLoad reads whatever there is and expects either tests that can be run or
// diagnostics with a place.
func FuzzLoad(f *testing.F) {
	f.Add("tests:\n- name: a\n  target: t\n  on: [c]\n")
	f.Add("tests:\n- name: a\n  target: {labels: {a: b}}\n  config: {c: {K: [1, {a: null}]}}\n---\ntests: &x [*x]\n")
	f.Add("tests:\n- &a {name: a, target: t, onlyOn: []}\n- <<: *a\n  name: b\n")
	f.Fuzz(func(t *testing.T, text string) {
		tests, found := Load(file, []byte(text))
		if (len(tests) > 0) == (len(found) > 0) {
			t.Fatalf("%d tests and %d diagnostics", len(tests), len(found))
		}
		lines := 1 + strings.Count(text, "\n") + strings.Count(text, "\r") + strings.Count(text, "\u0085") + strings.Count(text, "\u2028") + strings.Count(text, "\u2029")
		for _, d := range found {
			if d.Position.Line < 1 || d.Position.Line > lines || d.Message == "" {
				t.Errorf("diagnostic %+v of %d lines", d, lines)
			}
		}
		env := &model.Environment{Name: "dev", ClusterTypes: make([]model.ClusterType, 1)}
		for _, test := range tests {
			if test.Name == "" || test.Target.Text == "" && test.Hypothetical.Name == "" {
				t.Errorf("test without a name or a target: %+v", test)
			}
		}
		results, err := Run(t.Context(), tests, env, newPlan(t, env))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			if r.Environment != "dev" {
				t.Errorf("result %+v", r)
			}
		}
		again, _ := Load(file, []byte(text))
		if diff := cmp.Diff(tests, again); diff != "" {
			t.Errorf("a second time (-first +second):\n%s", diff)
		}
	})
}
