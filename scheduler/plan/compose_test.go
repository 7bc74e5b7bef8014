package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

var drone = subject{
	clusterType:       "drone",
	clusterTypeLabels: map[string]string{"region": "east"},
	target:            "shop-test",
	workload:          "shop",
	targetLabels:      map[string]string{"purpose": "test"},
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
