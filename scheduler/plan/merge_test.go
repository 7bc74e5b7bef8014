package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scheduler/configvalue"
)

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
			earlier, later := configvalue.Parse(test.earlier), configvalue.Parse(test.later)
			before := [2]any{clone(earlier), clone(later)}
			merged, lost := mergedWithLosses(earlier, later)
			replaced := len(lost) == 1 && strings.HasPrefix(lost[0], "=")
			if got := configvalue.Text(merged); got != test.want || replaced != test.replaced {
				t.Errorf("merged %q, replaced %v; want %q, %v", got, replaced, test.want, test.replaced)
			}
			if diff := cmp.Diff(before, [2]any{earlier, later}); diff != "" {
				t.Errorf("merging changed its input:\n%s", diff)
			}
		})
	}
}

// mergedWithLosses merges values, and returns what is replaced as "path=value".
func mergedWithLosses(earlier, later any) (merged any, lost []string) {
	merged = merge(earlier, later, nil, func(path []step) {
		value, _ := elementAt(earlier, path)
		lost = append(lost, pathText(path)+"="+configvalue.Text(value))
	})
	return merged, lost
}

func TestLosses(t *testing.T) {
	tests := []struct {
		name, earlier, later string
		want                 []string
	}{
		{"text", "a", "b", []string{"=a"}},
		{"same text", "a", "a", nil},
		{"texts that are equal as numbers", "1.1", "1.10", []string{"=1.1"}},
		{"text over map", "{x: 1}", "a", []string{"=x: 1"}},
		{"list over map", "{x: 1}", "[1]", []string{"=x: 1"}},
		{"new keys", "{x: 1}", "{y: 1}", nil},
		{"a key", "{x: 1, y: 1}", "{x: 2, y: 1}", []string{"x=1"}},
		{"a key in a map", "{x: {v: {z: 1}}}", "{x: {v: {z: 2}, w: 1}}", []string{"x.v.z=1"}},
		{"keys that are no texts", "{1: {yes: a}}", "{1: {on: b}}", []string{"1.true=a"}},
		{"elements without names", "[{a: 1}, b]", "[{a: 2}]", []string{"[].a=1"}},
		{"several, in order", "{b: 1, a: {c: 1}}", "{a: {c: 2}, b: 2}", []string{"a.c=1", "b=1"}},
		{"map under a text", "{x: {w: 1}}", "{x: a}", []string{"x=w: 1"}},
		{"text under a map", "{x: a}", "{x: {y: 1}}", []string{"x=a"}},
		{"null", "{x: null}", "{x: 1}", []string{"x=null"}},
		{"lists without names", "[a, b]", "[b, c]", nil},
		{"lists by name", "[{name: web, image: a, ports: [1]}]", "[{name: db, image: a}, {name: web, image: b, ports: [2]}]", []string{"[web].image=a"}},
		{"a list in a map", "{c: [{name: web, image: a}]}", "{c: [{name: web, image: b}]}", []string{"c[web].image=a"}},
		{"a map in a list in a list", "[{name: 1, l: [{name: true, x: {v: 1}}]}]", "[{name: 1, l: [{name: true, x: {v: 2}}]}]", []string{"[1].l[true].x.v=1"}},
		{"keys with dots", "{a.b: {'': 1, '[c]': 1}}", "{a.b: {'': 2, '[c]': 2}}", []string{`"a.b".""=1`, `"a.b"."[c]"=1`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			earlier, later := configvalue.Parse(test.earlier), configvalue.Parse(test.later)
			merged, got := mergedWithLosses(earlier, later)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("losses (-want +got):\n%s", diff)
			}
			if _, again := mergedWithLosses(merged, later); len(again) > 0 {
				t.Errorf("merging the same again loses %v", again)
			}
		})
	}
}

func TestElementAt(t *testing.T) {
	value := configvalue.Parse("{a: {b: [{name: x, c: 1}, d]}, e: text}")
	key, name := func(s string) step { return step{key: s} }, func(n any) step { return step{key: n, inList: true} }
	tests := []struct {
		path []step
		want bool
	}{
		{nil, true},
		{[]step{key("a")}, true},
		{[]step{key("b")}, false},
		{[]step{key("a"), key("b"), name("x"), key("c")}, true},
		{[]step{key("a"), key("b"), name("y")}, false},
		{[]step{key("a"), key("b"), key("x")}, false},
		{[]step{name("a")}, false},
		{[]step{key("e"), key("f")}, false},
	}
	for _, test := range tests {
		if _, got := elementAt(value, test.path); got != test.want {
			t.Errorf("%q: %v, want %v", pathText(test.path), got, test.want)
		}
	}
}

// TestOverridesInside proves that an override inside a merged value names the
// source that gave what is gone, not just the source before.
