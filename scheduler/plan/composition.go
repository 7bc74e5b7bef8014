package plan

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/configvalue"
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
		later := configvalue.Parse(source.Value)
		v := values[e.key]
		if v == nil {
			v = &merging{ConfigValue: ConfigValue{Key: e.key}}
			values[e.key] = v
			data[e.key] = later
		} else {
			earlier := data[e.key]
			data[e.key] = merge(earlier, later, nil, func(path []step) { v.override(earlier, path) })
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
		v.Value = configvalue.Text(data[key])
		c.values = append(c.values, v.ConfigValue)
	}
	return c
}

// merging is a value while its sources are merged.
type merging struct {
	ConfigValue
	parsed []any // what each of the sources says
}

// override keeps a part of the earlier value that a later one replaces, with the
// source that gave it.
func (v *merging) override(earlier any, path []step) {
	value, there := elementAt(earlier, path)
	if !there {
		return // the later value has it twice
	}
	source := v.Source
	if len(path) > 0 {
		// The last that has something there is the one that gave it.
		for i, parsed := range v.parsed {
			if _, has := elementAt(parsed, path); has {
				source = v.Sources[i]
			}
		}
		source.Path, source.Value = pathText(path), configvalue.Text(value)
	}
	v.Overrides = append(v.Overrides, source)
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

// step leads from a map to an element by its key, or from a list by its name.
type step struct {
	key    any // nil for an element of a list without a name
	inList bool
}

// merge combines the value a key has with one that comes later. Maps merge key
// by key and lists element by element, all else is replaced: a whole value, or what
// lies deeper, a scalar inside the value or a map that is now a text. It calls
// replaced with the path to each, in order of the paths' keys.
func merge(earlier, later any, path []step, replaced func(path []step)) any {
	switch b := later.(type) {
	case map[any]any:
		if a, ok := earlier.(map[any]any); ok {
			return mergeMaps(a, b, path, replaced)
		}
	case []any:
		if a, ok := earlier.([]any); ok {
			return mergeLists(a, b, path, replaced)
		}
	}
	if !reflect.DeepEqual(earlier, later) {
		replaced(path)
	}
	return later
}

func mergeMaps(a, b map[any]any, path []step, replaced func([]step)) map[any]any {
	m := maps.Clone(a)
	byText := func(a, b any) int {
		return cmp.Or(strings.Compare(configvalue.Text(a), configvalue.Text(b)), strings.Compare(fmt.Sprintf("%T", a), fmt.Sprintf("%T", b)))
	}
	for _, key := range slices.SortedFunc(maps.Keys(b), byText) {
		value := b[key]
		if old, ok := m[key]; ok {
			value = merge(old, value, append(slices.Clip(path), step{key: key}), replaced)
		}
		m[key] = value
	}
	return m
}

// mergeLists merges the elements that have the same name and appends the
// others. An element of the earlier list that has none is the counterpart of all
// later ones without, as with the original scheduler.
func mergeLists(a, b []any, path []step, replaced func([]step)) []any {
	list := slices.Clone(a)
	index := make(map[any]int, len(a)) // where each name stands first
	for i, element := range slices.Backward(a) {
		if name, ok := elementName(element); ok {
			index[name] = i
		}
	}
	for _, element := range b {
		name, ok := elementName(element)
		if i, found := index[name]; ok && found {
			list[i] = merge(list[i], element, append(slices.Clip(path), step{key: name, inList: true}), replaced)
			continue
		}
		if ok && name != nil {
			index[name] = len(list)
		}
		list = append(list, element)
	}
	return list
}

// elementName returns what a list's element calls itself, nil for nothing, and
// false where it can have no name.
func elementName(element any) (name any, ok bool) {
	m, ok := element.(map[any]any)
	if name = m["name"]; configvalue.IsStructured(name) {
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

// elementAt returns what a value has at a path.
func elementAt(value any, path []step) (found any, there bool) {
	for _, s := range path {
		switch v := value.(type) {
		case map[any]any:
			element, ok := v[s.key]
			if !ok || s.inList {
				return nil, false
			}
			value = element
		case []any:
			i := slices.IndexFunc(v, func(element any) bool {
				name, ok := elementName(element)
				return s.inList && ok && name == s.key
			})
			if i < 0 {
				return nil, false
			}
			value = v[i]
		default:
			return nil, false
		}
	}
	return value, true
}

// pathText writes a path as in limits.cpu or containers[web].image.
func pathText(path []step) string {
	var b strings.Builder
	for _, s := range path {
		if s.inList {
			if s.key == nil {
				s.key = ""
			}
			b.WriteString("[" + configvalue.Text(s.key) + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		if key := configvalue.Text(s.key); key == "" || strings.ContainsAny(key, ".[]") {
			b.WriteString(strconv.Quote(key))
		} else {
			b.WriteString(key)
		}
	}
	return b.String()
}

func valueOf(config []ConfigValue, key string) (ConfigValue, bool) {
	i, found := slices.BinarySearchFunc(config, key, func(v ConfigValue, key string) int { return strings.Compare(v.Key, key) })
	if !found {
		return ConfigValue{}, false
	}
	return config[i], true
}

// sourcesAt returns the sources that gave a value what it has at a path of keys:
// one, or for a map or a list all that it was merged from. Elements of lists
// are not distinguished.
func (v ConfigValue) sourcesAt(path []string) []ConfigSource {
	sources := v.Sources
	depth := 0
	for ; depth < len(path); depth++ {
		var deeper []ConfigSource
		for _, source := range sources {
			if _, found := configvalue.Find(configvalue.Parse(source.Value), path[:depth+1]); found {
				deeper = append(deeper, source)
			}
		}
		if len(deeper) == 0 {
			break
		}
		sources = deeper
	}
	last := sources[len(sources)-1:]
	if value, _ := configvalue.Find(configvalue.Parse(last[0].Value), path[:depth]); configvalue.IsStructured(value) {
		return sources
	}
	return last
}

// origin says where a value comes from, for those who are to correct it.
func origin(key string, sources []ConfigSource) string {
	var names []string
	for _, source := range sources {
		if !slices.Contains(names, source.ConfigMap) {
			names = append(names, source.ConfigMap)
		}
	}
	if len(names) > 1 {
		return fmt.Sprintf("%s is merged from the ConfigMaps %s; correct it there", key, strings.Join(names, ", "))
	}
	return fmt.Sprintf("%s comes from ConfigMap %s; correct it there", key, names[0])
}
