package explain

import (
	"maps"
	"slices"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// labelValues holds the values that the objects of an environment give to each
// label. A clause that wants none of them looks misspelt. A fleet has many
// clauses that want the same, so it remembers what was near to what.
type labelValues struct {
	values map[string][]string // by key, sorted
	near   map[[2]string]string
}

func labelValuesOf(objects []subject) *labelValues {
	v := &labelValues{values: map[string][]string{}, near: map[[2]string]string{}}
	for _, object := range objects {
		for key, value := range object.labels {
			v.values[key] = append(v.values[key], value)
		}
	}
	for key, values := range v.values {
		slices.Sort(values)
		v.values[key] = slices.Compact(values)
	}
	return v
}

func (v *labelValues) knows(key string) bool {
	return len(v.values[key]) > 0
}

func (v *labelValues) has(key, value string) bool {
	_, found := slices.BinarySearch(v.values[key], value)
	return found
}

func (v *labelValues) nearestKey(key string) string {
	return v.remember([2]string{key}, func() string { return model.Nearest(key, slices.Sorted(maps.Keys(v.values))) })
}

func (v *labelValues) nearestValue(key, value string) string {
	return v.remember([2]string{key, "=" + value}, func() string { return model.Nearest(value, v.values[key]) })
}

func (v *labelValues) remember(asked [2]string, find func() string) string {
	near, known := v.near[asked]
	if !known {
		near = find()
		v.near[asked] = near
	}
	return near
}
