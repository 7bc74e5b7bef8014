package plan

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// composition is the platform configuration of one assignment.
type composition struct {
	data   map[string]any
	values []ConfigValue // sorted by key
}

// compose merges all configuration objects that match, in order of their
// names. The order in which it gets them does not matter.
func compose(configs []model.PlatformConfig, s subject) composition {
	configs = slices.Clone(configs)
	slices.SortFunc(configs, func(a, b model.PlatformConfig) int { return cmp.Compare(a.Name, b.Name) })
	data := map[string]any{}
	values := map[string]*ConfigValue{}
	for _, config := range configs {
		if !s.matches(config.Labels) {
			continue
		}
		for _, e := range entries(config, s) {
			source := ConfigSource{
				ConfigMap: config.Name,
				Value:     config.Spec.Data[e.field],
				Position:  config.At("data", e.field),
			}
			later := parseValue(source.Value)
			v := values[e.key]
			if v == nil {
				v = &ConfigValue{Key: e.key}
				values[e.key] = v
				data[e.key] = later
			} else {
				merged, replaced := merge(data[e.key], later)
				data[e.key] = merged
				if replaced {
					v.Overrides = append(v.Overrides, v.Source)
				}
			}
			v.Source = source
			v.Sources = append(v.Sources, source)
		}
	}
	c := composition{data: data}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		v := values[key]
		v.Value = valueText(data[key])
		c.values = append(c.values, *v)
	}
	return c
}

// entry is one key of a configuration object and the field of its data that
// gives it.
type entry struct{ key, field string }

// appConfigPrefix begins the names of ConfigMaps that Azure App Configuration
// fills. It has no labels of its own to tell where a key belongs, so the keys
// carry them.
const appConfigPrefix = "azure-app-config"

// entries returns what a configuration object gives to a subject, in order of
// merging.
func entries(config model.PlatformConfig, s subject) []entry {
	var all []entry
	for _, field := range slices.Sorted(maps.Keys(config.Spec.Data)) {
		if !strings.HasPrefix(config.Name, appConfigPrefix) {
			all = append(all, entry{field, field})
			continue
		}
		if key, ok := appConfigKey(field, s); ok {
			all = append(all, entry{key, field})
		}
	}
	if strings.HasPrefix(config.Name, appConfigPrefix) {
		slices.SortStableFunc(all, func(a, b entry) int {
			return cmp.Compare(strings.Count(a.field, "."), strings.Count(b.field, "."))
		})
	}
	return all
}

// appConfigKey reads a key of the form label.value.label.value.key. It returns
// false when the key is not of that form or a label does not match.
func appConfigKey(field string, s subject) (string, bool) {
	parts := strings.Split(field, ".")
	if len(parts)%2 == 0 {
		return "", false
	}
	last := len(parts) - 1
	for i := 0; i < last; i += 2 {
		if !s.match(parts[i], parts[i+1]) {
			return "", false
		}
	}
	return parts[last], parts[last] != ""
}
