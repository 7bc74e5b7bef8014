package plan

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// configsOf makes configuration out of any text: a line "= name" begins an
// object, a line "key > value" gives it a key, in whose value ";" stands for a
// new line. A second object of a name is left out, as the model does.
func configsOf(text string) []model.PlatformConfig {
	var configs []model.PlatformConfig
	var current *model.PlatformConfig
	seen := map[string]bool{}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if name, ok := strings.CutPrefix(line, "= "); ok {
			current = nil
			if !seen[name] {
				seen[name] = true
				configs = append(configs, model.PlatformConfig{})
				current = &configs[len(configs)-1]
				current.Name, current.Spec.Data = name, map[string]string{}
				current.Position.File = name
			}
			continue
		}
		if key, value, ok := strings.Cut(line, " > "); ok && current != nil {
			current.Spec.Data[key] = strings.ReplaceAll(value, ";", "\n")
		}
	}
	return configs
}

// FuzzComposeMany composes any number of objects: in every order the same, as
// often as one likes, with sources that account for every value and override,
// and without a trace in what was composed.
func FuzzComposeMany(f *testing.F) {
	for _, seed := range []string{
		"= a\nK > {x: 1, y: [1]}\n= b\nK > x: 2;z: {w: 1}\n= c\nK > x: {v: 1}\n",
		"= a\nK > [{name: web, image: a}, b]\n= b\nK > - name: web;  image: b;- name: db\n= c\nK > [{name: web, image: {a: b}}]\n",
		"= azure-app-config\nK > v\nregion.east.K > w\nregion.east.purpose.test.K > {a: b}\nregion.K > no\n= b\nK > {a: c}\n",
		"= a\nK > 'quoted'\n= a-b\nK > 1.10\n= a.b\nK > 1.1\n= B\nK > text\n",
		"= a\nK > a: &a {b: 1};c: {<<: *a}\n= b\nK > c: {b: 2}\n",
		"= a\nK > {name: [1], 1: {2: 3}}\n= b\nK > [{name: 1}, {name: '1'}, {name: true}, {name: null}, {name: {a: b}}, {name: 1.10}]\n= c\nK > [{name: 1.10, x: y}]\n",
	} {
		f.Add(seed, uint64(1))
	}
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		configs := configsOf(text)
		c := compose(configs, drone)
		r := rand.New(rand.NewPCG(seed, 0))
		for range 3 {
			mixed := slices.Clone(configs)
			r.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
			again := compose(mixed, drone)
			if diff := cmp.Diff(c.values, again.values); diff != "" {
				t.Fatalf("another order, other values:\n%s", diff)
			}
			if diff := cmp.Diff(c.data, again.data); diff != "" {
				t.Fatalf("another order, other data:\n%s", diff)
			}
		}
		if len(c.values) != len(c.data) {
			t.Errorf("%d values, %d keys", len(c.values), len(c.data))
		}
		for _, v := range c.values {
			checkValue(t, v, c.data[v.Key])
		}
	})
}

// wholeNumbers makes integers of numbers such as 8.0, which YAML writes as 8.
func wholeNumbers(value any) any {
	switch v := value.(type) {
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int(v)
		}
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = wholeNumbers(v[i])
		}
		return list
	case map[any]any:
		m := make(map[any]any, len(v))
		for key := range v {
			m[wholeNumbers(key)] = wholeNumbers(v[key])
		}
		return m
	}
	return value
}

// repeatsName says whether elements of a list share a name, or have none.
func repeatsName(value any) bool {
	switch v := value.(type) {
	case []any:
		named := 0
		for _, element := range v {
			if _, ok := elementName(element); ok {
				named++
			}
		}
		return named > len(byName(v)) || slices.ContainsFunc(v, repeatsName)
	case map[any]any:
		for _, element := range v {
			if repeatsName(element) {
				return true
			}
		}
	}
	return false
}

func checkValue(t *testing.T, v ConfigValue, data any) {
	t.Helper()
	names := func(sources []ConfigSource) []string {
		var all []string
		for _, s := range sources {
			all = append(all, s.ConfigMap)
		}
		return all
	}
	if v.Value != valueText(data) {
		t.Errorf("%s is %q and explained as %q", v.Key, valueText(data), v.Value)
	}
	if len(v.Sources) == 0 || v.Sources[len(v.Sources)-1] != v.Source {
		t.Errorf("%s: the last of %q is not %q", v.Key, names(v.Sources), v.Source.ConfigMap)
	}
	first := slices.IndexFunc(v.Sources, func(s ConfigSource) bool { return strings.HasPrefix(s.ConfigMap, model.AppConfigPrefix) })
	if first < 0 {
		first = len(v.Sources)
	}
	if !slices.IsSorted(names(v.Sources[:first])) {
		t.Errorf("%s: sources %q", v.Key, names(v.Sources))
	}
	for _, o := range v.Overrides {
		if !slices.Contains(names(v.Sources[:len(v.Sources)-1]), o.ConfigMap) {
			t.Errorf("%s overrides a value of %s, earlier sources are %q", v.Key, o.ConfigMap, names(v.Sources[:len(v.Sources)-1]))
		}
	}
	if len(v.Sources) == 1 && len(v.Overrides) > 0 {
		t.Errorf("%s overrides without an earlier source: %v", v.Key, v.Overrides)
	}
	switch data.(type) {
	case map[any]any, []any:
		if diff := cmp.Diff(wholeNumbers(data), wholeNumbers(parseValue(v.Value))); diff != "" {
			t.Errorf("%s reads differently when written:\n%s", v.Key, diff)
		}
	}
	// What stays when all is said again was not lost. Of elements that share a
	// name, all later ones merge into the first.
	if lost := losses(data, data); len(lost) > 0 && !repeatsName(data) {
		t.Errorf("%s loses %v to itself", v.Key, lost)
	}
}
