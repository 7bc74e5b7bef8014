package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
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
		if diff := cmp.Diff(test.want, parseValue(test.text)); diff != "" {
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
	if got := parseValue(bomb); got != any(bomb) {
		t.Errorf("the value became a %T", got)
	}
	if got := parseValue("a: &a [*a]"); got != any("a: &a [*a]") {
		t.Errorf("a value that holds itself became a %T", got)
	}
}

func TestMerge(t *testing.T) {
	tests := []struct {
		name, earlier, later, want string
		replaced                   bool
	}{
		{"text", "a", "b", "b", true},
		{"same text", "a", "a", "a", false},
		{"map over text", "a", "b: 1", "b: 1", true},
		{"text over map", "b: 1", "a", "a", true},
		{"list over map", "b: 1", "- a", "- a", true},
		{"maps", "a: 1\nb: 2", "b: 3\nc: 4", "a: 1\nb: 3\nc: 4", false},
		{"maps in maps", "a: {x: 1, w: 2}", "a: {w: 3}", "a:\n  w: 3\n  x: 1", false},
		{"text in maps", "a: {x: 1}", "a: z", "a: z", false},
		{"lists without names", "[a]", "[b, a]", "- a\n- b\n- a", false},
		{"lists by name", "[{name: a, v: 1}, {name: b}]", "[{name: b, w: 2}, {name: c}]", "- name: a\n  v: 1\n- name: b\n  w: 2\n- name: c", false},
		{"lists in maps", "l: [{name: a, p: [1]}]", "l: [{name: a, p: [2]}]", "l:\n  - name: a\n    p:\n      - 1\n      - 2", false},
		{"elements without names", "[1, {a: 1}]", "[2, {b: 2}, {a: 3}]", "- 1\n- a: 3\n  b: 2\n- 2", false},
		{"names that are no scalars", "[{name: [a]}]", "[{name: [a]}]", "- name:\n    - a\n- name:\n    - a", false},
		{"names of other types are others", "[{name: 1}]", "[{name: \"1\"}]", "- name: 1\n- name: \"1\"", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			earlier, later := parseValue(test.earlier), parseValue(test.later)
			before := [2]any{clone(earlier), clone(later)}
			merged, lost := merge(earlier, later), losses(earlier, later)
			replaced := len(lost) == 1 && len(lost[0].path) == 0
			if got := valueText(merged); got != test.want || replaced != test.replaced {
				t.Errorf("merged %q, replaced %v; want %q, %v", got, replaced, test.want, test.replaced)
			}
			if diff := cmp.Diff(before, [2]any{earlier, later}); diff != "" {
				t.Errorf("merging changed its input:\n%s", diff)
			}
		})
	}
}

// TestTextsStayTexts proves that nothing becomes a number that was a string.
func TestTextsStayTexts(t *testing.T) {
	for _, s := range []string{"1.10", "007", "true", "null", "~", "yes", "on", "1e3", "0x10", "1_000", "1:30", "2026-01-02", "", " a", "a: b", "- a", "#a", "{{ .X }}", "a\nb", "é", "*a", "&a", "!a", "%a", "@a", "`a"} {
		out, err := toYAML(map[string]any{"k": s})
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
