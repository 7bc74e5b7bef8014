package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

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
			earlier, later := parseValue(test.earlier), parseValue(test.later)
			var got []string
			for _, l := range losses(earlier, later) {
				got = append(got, pathText(l.path)+"="+valueText(l.value))
				if !has(earlier, l.path) || len(l.path) > 0 && !has(later, l.path) {
					t.Errorf("nothing is at %s", pathText(l.path))
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("losses (-want +got):\n%s", diff)
			}
			if again := losses(merge(earlier, later), later); len(again) > 0 {
				t.Errorf("merging the same again loses %v", again)
			}
		})
	}
}

func TestHas(t *testing.T) {
	value := parseValue("{a: {b: [{name: x, c: 1}, d]}, e: text}")
	key, name := func(s string) step { return step{key: s} }, func(n any) step { return step{name: n, inList: true} }
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
		if got := has(value, test.path); got != test.want {
			t.Errorf("%q: %v, want %v", pathText(test.path), got, test.want)
		}
	}
}

// TestOverridesInside proves that an override inside a merged value names the
// source that gave what is gone, not just the source before.
func TestOverridesInside(t *testing.T) {
	configs := []model.PlatformConfig{
		config(t, "a", "{}", "{K: '{x: 1, deep: {list: [{name: web, image: a}]}}'}"),
		config(t, "b", "{}", "{K: '{y: 1}'}"),
		config(t, "c", "{}", "{K: '{x: 2, y: 1}'}"),
		config(t, "d", "{}", "{K: '{deep: {list: [{name: web, image: d}, {name: db}]}, x: 3}'}"),
		config(t, "e", "{}", "{K: text}"),
		config(t, "f", "{}", "{K: '{x: 4}'}"),
		config(t, "g", "{}", "{K: '{x: 5, deep: 1}'}"),
	}
	want := []string{"K=deep: 1; x: 5 from g" +
		", over 1 of a at x" +
		", over a of a at deep.list[web].image" +
		", over 2 of c at x" +
		", over {deep: {list: [{name: web, image: d}, {name: db}]}, x: 3} of d" +
		", over text of e" +
		", over 4 of f at x (a b c d e f g)"}
	if diff := cmp.Diff(want, explain(compose(configs, drone))); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	for _, o := range compose(configs, drone).values[0].Overrides {
		if o.Position.File != o.ConfigMap+".yaml" {
			t.Errorf("the part of %s is at %s", o.ConfigMap, o.Position)
		}
	}
}
