package plan

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// composition is the platform configuration of one assignment.
type composition struct {
	data   map[string]any
	values []ConfigValue // sorted by key
}

// compose merges all configuration objects that match, in the order of
// [entries]. The order in which it gets them does not matter.
func compose(configs []model.PlatformConfig, p pair) composition {
	data := map[string]any{}
	values := map[string]*merging{}
	for _, e := range entries(configs, p) {
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

// entries returns what configuration objects give to a pair, in order of
// merging: all platform ConfigMaps by their names, then the keys of those of App
// Configuration by their labels' length. One of those that has the label of
// platform ConfigMaps is both.
func entries(configs []model.PlatformConfig, p pair) []entry {
	var all, last []entry
	for i := range configs {
		config := &configs[i]
		if !p.matches(config.Labels) {
			continue
		}
		for field := range config.Spec.Data {
			if IsOrdinary(*config) {
				all = append(all, entry{config, field, field})
			}
			if key, ok := appConfigKey(field, p); ok && IsAppConfig(*config) {
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

// appConfigKey returns the key that a field gives to a pair, and false when
// one of the field's labels does not match or it is not of the form for that.
func appConfigKey(field string, p pair) (string, bool) {
	labels, key, ok := AppConfigKey(field)
	for _, label := range labels {
		ok = ok && p.matchesLabel(label[0], label[1])
	}
	return key, ok
}

// merge combines the value a key has with one that comes later. Maps merge key
// by key and lists element by element, all else is replaced, see [losses].
func merge(earlier, later any) any {
	switch b := later.(type) {
	case map[any]any:
		if a, ok := earlier.(map[any]any); ok {
			return mergeMaps(a, b)
		}
	case []any:
		if a, ok := earlier.([]any); ok {
			return mergeLists(a, b)
		}
	}
	return later
}

func mergeMaps(a, b map[any]any) map[any]any {
	m := maps.Clone(a)
	for key, value := range b {
		if old, ok := m[key]; ok {
			value = merge(old, value)
		}
		m[key] = value
	}
	return m
}

// mergeLists merges the elements that have the same name and appends the
// others. An element of the earlier list that has none is the counterpart of all
// later ones without, as with the original scheduler.
func mergeLists(a, b []any) []any {
	list := slices.Clone(a)
	index := byName(a)
	for _, element := range b {
		name, ok := elementName(element)
		if i, found := index[name]; ok && found {
			list[i] = merge(list[i], element)
			continue
		}
		if ok && name != nil {
			index[name] = len(list)
		}
		list = append(list, element)
	}
	return list
}

// byName returns where in a list each name stands first.
func byName(list []any) map[any]int {
	index := make(map[any]int, len(list))
	for i, element := range list {
		if name, ok := elementName(element); ok {
			if _, found := index[name]; !found {
				index[name] = i
			}
		}
	}
	return index
}

// elementName returns what a list's element calls itself, nil for nothing, and
// false where it can have no name.
func elementName(element any) (name any, ok bool) {
	m, ok := element.(map[any]any)
	if name = m["name"]; isStructured(name) {
		return nil, false
	}
	return name, ok
}

// clone copies maps and lists, so that a template that changes its data
// changes its own copy only.
func clone(value any) any {
	switch v := value.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, element := range v {
			m[key] = clone(element)
		}
		return m
	case map[any]any:
		m := make(map[any]any, len(v))
		for key, element := range v {
			m[key] = clone(element)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, element := range v {
			list[i] = clone(element)
		}
		return list
	}
	return value
}

// Maps and lists merge, so a later source mostly adds to the earlier ones. What it
// replaces lies deeper: a scalar inside the value, or a map that is now a text.
// Those are overrides as well.

// step leads from a map to an element by its key, or from a list by its name.
type step struct {
	key    any // nil for an element of a list without a name
	inList bool
}

// loss is a part of a value that a later value replaces by something else.
type loss struct {
	path  []step
	value any
}

// losses finds what is lost when earlier is merged with later, in order of the
// paths' keys. A value that is replaced as a whole is one loss with no path.
func losses(earlier, later any, path ...step) []loss {
	var found []loss
	switch b := later.(type) {
	case map[any]any:
		a, ok := earlier.(map[any]any)
		if !ok {
			break
		}
		byText := func(a, b any) int {
			return cmp.Or(strings.Compare(valueText(a), valueText(b)), strings.Compare(fmt.Sprintf("%T", a), fmt.Sprintf("%T", b)))
		}
		for _, key := range slices.SortedFunc(maps.Keys(b), byText) {
			if old, ok := a[key]; ok {
				found = append(found, losses(old, b[key], append(slices.Clip(path), step{key: key})...)...)
			}
		}
		return found
	case []any:
		a, ok := earlier.([]any)
		if !ok {
			break
		}
		index := byName(a)
		for _, element := range b {
			name, ok := elementName(element)
			if i, there := index[name]; ok && there {
				found = append(found, losses(a[i], element, append(slices.Clip(path), step{key: name, inList: true})...)...)
			}
		}
		return found
	}
	if reflect.DeepEqual(earlier, later) {
		return nil
	}
	return []loss{{path: path, value: earlier}}
}

// has says whether a value has something at a path.
func has(value any, path []step) bool {
	for _, s := range path {
		switch v := value.(type) {
		case map[any]any:
			element, ok := v[s.key]
			if !ok || s.inList {
				return false
			}
			value = element
		case []any:
			i := slices.IndexFunc(v, func(element any) bool {
				name, ok := elementName(element)
				return s.inList && ok && name == s.key
			})
			if i < 0 {
				return false
			}
			value = v[i]
		default:
			return false
		}
	}
	return true
}

// pathText writes a path as in limits.cpu or containers[web].image.
func pathText(path []step) string {
	var b strings.Builder
	for _, s := range path {
		if s.inList {
			if s.key == nil {
				s.key = ""
			}
			b.WriteString("[" + valueText(s.key) + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		if key := valueText(s.key); key == "" || strings.ContainsAny(key, ".[]") {
			b.WriteString(strconv.Quote(key))
		} else {
			b.WriteString(key)
		}
	}
	return b.String()
}
