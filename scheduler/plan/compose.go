package plan

import (
	"cmp"
	"maps"
	"slices"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// composition is the platform configuration of one assignment.
type composition struct {
	data   map[string]any
	values []ConfigValue // sorted by key
}

// compose merges all configuration objects that match, in the order of
// [entries]. The order in which it gets them does not matter.
func compose(configs []model.PlatformConfig, s subject) composition {
	data := map[string]any{}
	values := map[string]*merging{}
	for _, e := range entries(configs, s) {
		source := ConfigSource{
			ConfigMap: e.config.Name,
			Value:     e.config.Spec.Data[e.field],
			Position:  e.config.At("data", e.field),
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
		if i := slices.Index(v.Sources, source); i >= 0 {
			v.Sources, v.parsed = slices.Delete(v.Sources, i, i+1), slices.Delete(v.parsed, i, i+1)
		}
		v.Sources = append(v.Sources, source)
		v.parsed = append(v.parsed, later)
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
type entry struct {
	config     *model.PlatformConfig
	key, field string
}

// entries returns what configuration objects give to a subject, in order of
// merging: all platform ConfigMaps by their names, then the keys of those of App
// Configuration by their labels' length. One of those that has the label of
// platform ConfigMaps is both.
func entries(configs []model.PlatformConfig, s subject) []entry {
	var all, last []entry
	for i := range configs {
		config := &configs[i]
		if !s.matches(config.Labels) {
			continue
		}
		for field := range config.Spec.Data {
			if IsOrdinary(*config) {
				all = append(all, entry{config, field, field})
			}
			if key, ok := appConfigKey(field, s); ok && IsAppConfig(*config) {
				last = append(last, entry{config, key, field})
			}
		}
	}
	slices.SortFunc(all, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.config.Name, b.config.Name), cmp.Compare(a.field, b.field))
	})
	slices.SortFunc(last, func(a, b entry) int {
		return cmp.Or(cmp.Compare(len(a.field), len(b.field)), cmp.Compare(a.field, b.field), cmp.Compare(a.config.Name, b.config.Name))
	})
	return append(all, last...)
}

// appConfigKey returns the key that a field gives to a subject, and false when
// one of the field's labels does not match or it is not of the form for that.
func appConfigKey(field string, s subject) (string, bool) {
	labels, key, ok := AppConfigKey(field)
	for _, label := range labels {
		ok = ok && s.match(label[0], label[1])
	}
	return key, ok
}
