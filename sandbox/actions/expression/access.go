package expression

import (
	"maps"
	"math"
	"slices"
	"strings"
)

// property is v.name; nil when there is none.
func property(v any, name string) any {
	switch v := v.(type) {
	case map[string]any:
		if found, ok := v[name]; ok {
			return found
		}
		// sorted, so that keys that differ in case only give one answer always
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if strings.EqualFold(key, name) {
				return v[key]
			}
		}
	case filtered:
		all := filtered{}
		for _, element := range v {
			if found := property(element, name); found != nil {
				all = append(all, found)
			}
		}
		return all
	}
	return nil
}

// elements is v.*.
func elements(v any) any {
	switch v := v.(type) {
	case []any:
		return filtered(v)
	case filtered:
		all := filtered{}
		for _, element := range v {
			if inner, ok := elements(element).(filtered); ok {
				all = append(all, inner...)
			}
		}
		return all
	case map[string]any:
		all := filtered{}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			all = append(all, v[key])
		}
		return all
	}
	return nil
}

// at is v[index].
func at(v, index any) any {
	list, isList := plain(v).([]any)
	if !isList {
		return property(v, Text(index))
	}
	n := number(index)
	if math.IsNaN(n) || n < 0 || n >= float64(len(list)) {
		return nil
	}
	return list[int(n)]
}
