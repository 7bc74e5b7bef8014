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
	values := map[string]*merging{}
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
				v = &merging{ConfigValue: ConfigValue{Key: e.key}}
				values[e.key] = v
				data[e.key] = later
			} else {
				v.override(data[e.key], later)
				data[e.key] = merge(data[e.key], later)
			}
			v.Source = source
			v.Sources = append(v.Sources, source)
			v.parsed = append(v.parsed, later)
		}
	}
	c := composition{data: data}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		v := values[key]
		v.Value = valueText(data[key])
		c.values = append(c.values, v.ConfigValue)
	}
	return c
}

// merging is a value while its sources are merged.
type merging struct {
	ConfigValue
	parsed []any // what each of the sources says
}

// override keeps what a later value takes away, with the source that gave it.
func (v *merging) override(earlier, later any) {
	for _, loss := range losses(earlier, later) {
		source := v.Source
		if len(loss.path) > 0 {
			// The last that has something there is the one that gave it.
			for i, value := range v.parsed {
				if has(value, loss.path) {
					source = v.Sources[i]
				}
			}
			source.Path, source.Value = pathText(loss.path), valueText(loss.value)
		}
		v.Overrides = append(v.Overrides, source)
	}
}

// entry is one key of a configuration object and the field of its data that
// gives it.
type entry struct{ key, field string }

// appConfigPrefix begins the names of ConfigMaps whose keys carry labels.
const appConfigPrefix = model.AppConfigPrefix

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

// appConfigKey returns the key that a field gives to a subject, and false when
// one of the field's labels does not match or it is not of the form for that.
func appConfigKey(field string, s subject) (string, bool) {
	labels, key, ok := model.SplitAppConfigKey(field)
	for i := 0; i < len(labels); i += 2 {
		ok = ok && s.match(labels[i], labels[i+1])
	}
	return key, ok
}
