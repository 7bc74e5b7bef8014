package plan

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scheduler/configvalue"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

var drone = pairWith("drone", map[string]string{"region": "east"}, Target{
	Name: "shop-test", Workload: "shop", Labels: map[string]string{"purpose": "test"},
})

func pairWith(clusterType string, labels map[string]string, t Target) pair {
	var c model.ClusterType
	c.Name, c.Labels = clusterType, labels
	return pair{clusterType: &c, target: &target{Target: t}}
}

// explain writes a composition one key per line: value, the ConfigMap it comes
// from, what it replaced, and all sources.
func explain(c composition) []string {
	all := []string{}
	for _, v := range c.values {
		line := fmt.Sprintf("%s=%s from %s", v.Key, strings.ReplaceAll(v.Value, "\n", "; "), v.Source.ConfigMap)
		for _, o := range v.Overrides {
			line += fmt.Sprintf(", over %s of %s", strings.ReplaceAll(o.Value, "\n", "; "), o.ConfigMap)
			if o.Path != "" {
				line += " at " + o.Path
			}
		}
		var sources []string
		for _, s := range v.Sources {
			sources = append(sources, s.ConfigMap)
		}
		if len(sources) > 1 {
			line += " (" + strings.Join(sources, " ") + ")"
		}
		all = append(all, line)
	}
	return all
}

func TestCompose(t *testing.T) {
	tests := []struct {
		name    string
		configs []model.PlatformConfig
		want    []string
	}{
		{"nothing", nil, []string{}},
		{"one", []model.PlatformConfig{config(t, "a", "{platform-config: 'true'}", "{K: v}")}, []string{"K=v from a"}},
		{"labels decide", []model.PlatformConfig{
			config(t, "all", "{}", "{A: '1'}"),
			config(t, "east", "{region: east}", "{B: '2'}"),
			config(t, "west", "{region: west}", "{C: '3'}"),
			config(t, "mine", "{cluster-type: drone, workload: shop, deployment-target: shop-test}", "{D: '4'}"),
			config(t, "flux", "{kustomize.toolkit.fluxcd.io/name: x}", "{E: '5'}"),
		}, []string{"A=1 from all", "B=2 from east", "D=4 from mine", "E=5 from flux"}},
		{"the later name wins", []model.PlatformConfig{
			config(t, "b", "{}", "{K: b}"),
			config(t, "a", "{}", "{K: a}"),
			config(t, "c", "{}", "{K: c}"),
		}, []string{"K=c from c, over a of a, over b of b (a b c)"}},
		{"names are ordered by byte", []model.PlatformConfig{
			config(t, "config-10", "{}", "{K: ten}"),
			config(t, "config-9", "{}", "{K: nine}"),
		}, []string{"K=nine from config-9, over ten of config-10 (config-10 config-9)"}},
		{"the same value is no override", []model.PlatformConfig{
			config(t, "a", "{}", "{K: v}"),
			config(t, "b", "{}", "{K: v}"),
		}, []string{"K=v from b (a b)"}},
		{"texts that are equal as numbers differ", []model.PlatformConfig{
			config(t, "a", "{}", "{K: '1.1'}"),
			config(t, "b", "{}", "{K: '1.10'}"),
		}, []string{"K=1.10 from b, over 1.1 of a (a b)"}},
		{"maps are merged", []model.PlatformConfig{
			config(t, "a", "{}", "{K: '{x: 1, w: 1}'}"),
			config(t, "b", "{}", "{K: '{w: 2, z: 2}'}"),
		}, []string{`K=w: 2; x: 1; z: 2 from b, over 1 of a at w (a b)`}},
		{"lists are merged", []model.PlatformConfig{
			config(t, "a", "{}", "{K: '[{name: x, v: 1}]'}"),
			config(t, "b", "{}", "{K: '[{name: x, v: 2}, w]'}"),
		}, []string{"K=- name: x;   v: 2; - w from b, over 1 of a at [x].v (a b)"}},
		{"a map under a text", []model.PlatformConfig{
			config(t, "a", "{}", "{K: '{x: 1}'}"),
			config(t, "b", "{}", "{K: text}"),
		}, []string{"K=text from b, over {x: 1} of a (a b)"}},
		{"App Configuration", []model.PlatformConfig{
			config(t, "azure-app-config-dev", "{}", `{
				region.east.purpose.test.URL: most, region.east.URL: more, URL: least,
				region.west.URL: other, region.east.cluster-type.large.URL: other,
				ONLY: v, even.number: x, region.east.: empty}`),
		}, []string{
			"ONLY=v from azure-app-config-dev",
			"URL=most from azure-app-config-dev, over least of azure-app-config-dev, over more of azure-app-config-dev (azure-app-config-dev azure-app-config-dev azure-app-config-dev)",
		}},
		{"App Configuration comes last, shorter keys first", []model.PlatformConfig{
			config(t, "azure-app-config", "{}", "{deployment-target.shop-test.K: longer, region.east.K: shorter, L: last}"),
			config(t, "azure-app-config-b", "{}", "{region.east.cluster-type.drone.K: longest}"),
			config(t, "z", "{platform-config: 'true'}", "{K: z, L: z}"),
		}, []string{
			"K=longest from azure-app-config-b, over z of z, over shorter of azure-app-config, over longer of azure-app-config (z azure-app-config azure-app-config azure-app-config-b)",
			"L=last from azure-app-config, over z of z (z azure-app-config)",
		}},
		{"App Configuration with the label is a ConfigMap as well", []model.PlatformConfig{
			config(t, "azure-app-config", "{platform-config: 'true'}", "{region.west.K: as it is, L: '[a]'}"),
		}, []string{"L=- a; - a from azure-app-config", "region.west.K=as it is from azure-app-config"}},
		{"the last value of a label that stands twice", []model.PlatformConfig{
			config(t, "azure-app-config", "{}", "{region.west.region.east.K: v, region.east.region.west.L: v}"),
		}, []string{"K=v from azure-app-config"}},
		{"a label that is not there is empty", []model.PlatformConfig{
			config(t, "a", "{zone: ''}", "{K: v}"),
			config(t, "b", "{region: ''}", "{L: v}"),
		}, []string{"K=v from a", "L=v from b"}},
		{"dots mean nothing elsewhere", []model.PlatformConfig{
			config(t, "a", "{}", "{region.west.URL: v}"),
		}, []string{"region.west.URL=v from a"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			permutations(min(len(test.configs), 5), func(order []int) {
				got := explain(compose(pick(test.configs, order), drone))
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Fatalf("order %v (-want +got):\n%s", order, diff)
				}
			})
		})
	}
}

// TestComposeKeepsItsInput proves that composing for one assignment leaves
// nothing behind for the next.
func TestComposeKeepsItsInput(t *testing.T) {
	configs := []model.PlatformConfig{
		config(t, "b", "{}", "{K: '{x: {y: 1}}'}"),
		config(t, "a", "{}", "{K: '{x: {z: 1}}'}"),
	}
	first := explain(compose(configs, drone))
	if configs[0].Name != "b" {
		t.Error("the input has another order now")
	}
	if again := explain(compose(configs, drone)); !slices.Equal(first, again) {
		t.Errorf("composed again: %v, before %v", again, first)
	}
}

func FuzzCompose(f *testing.F) {
	f.Add("a", "K", "v", "b", "K", "{x: 1}")
	f.Add("azure-app-config", "region.east.K", "[a]", "azure-app-config-2", "K", "- name: a")
	f.Add("a", "K", "a: &a [*a]", "b", "K", "'")
	f.Add("a", "K", "{name: [1]}", "b", "K", "- {name: {a: b}}")
	f.Fuzz(func(t *testing.T, name1, key1, value1, name2, key2, value2 string) {
		configOf := func(name, key, value string) model.PlatformConfig {
			var c model.PlatformConfig
			c.Name = name
			c.Spec.Data = map[string]string{key: value}
			return c
		}
		one, two := configOf(name1, key1, value1), configOf(name2, key2, value2)
		c := compose([]model.PlatformConfig{one, two}, drone)
		if len(c.values) != len(c.data) {
			t.Errorf("%d values, %d keys", len(c.values), len(c.data))
		}
		if name1 != name2 {
			if diff := cmp.Diff(explain(c), explain(compose([]model.PlatformConfig{two, one}, drone))); diff != "" {
				t.Errorf("the order matters:\n%s", diff)
			}
		}
		if _, err := toYAML(c.data); err != nil {
			t.Errorf("a composition that cannot be written: %v", err)
		}
	})
}

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
		seen := map[any]bool{}
		for _, element := range v {
			name, ok := elementName(element)
			if ok && seen[name] || repeatsName(element) {
				return true
			}
			seen[name] = seen[name] || ok
		}
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
	if v.Value != configvalue.Text(data) {
		t.Errorf("%s is %q and explained as %q", v.Key, configvalue.Text(data), v.Value)
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
		if diff := cmp.Diff(wholeNumbers(data), wholeNumbers(configvalue.Parse(v.Value))); diff != "" {
			t.Errorf("%s reads differently when written:\n%s", v.Key, diff)
		}
	}
	// What stays when all is said again was not lost. Of elements that share a
	// name, all later ones merge into the first.
	if _, lost := mergedWithLosses(data, data); len(lost) > 0 && !repeatsName(data) {
		t.Errorf("%s loses %v to itself", v.Key, lost)
	}
}

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
