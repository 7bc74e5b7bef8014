package explain

import (
	"maps"
	"slices"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// vocabulary holds the values that the objects of an environment give to each
// label. A clause that wants none of them looks misspelt. A fleet has many
// clauses that want the same, so it remembers what was near to what.
type vocabulary struct {
	values     map[string][]string // by key, sorted
	nearValues map[[2]string]string
	nearKeys   map[string]string
}

func vocabularyOf(objects []side) *vocabulary {
	v := &vocabulary{
		values:     map[string][]string{},
		nearValues: map[[2]string]string{},
		nearKeys:   map[string]string{},
	}
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

// knows says whether any object has a label.
func (v *vocabulary) knows(key string) bool {
	return len(v.values[key]) > 0
}

// has says whether any object gives a value to a label.
func (v *vocabulary) has(key, value string) bool {
	_, found := slices.BinarySearch(v.values[key], value)
	return found
}

// nearestKey returns the label of some object that a key most likely means.
func (v *vocabulary) nearestKey(key string) string {
	near, known := v.nearKeys[key]
	if !known {
		near = model.Nearest(key, slices.Sorted(maps.Keys(v.values)))
		v.nearKeys[key] = near
	}
	return near
}

// nearestValue returns the value of a label that most likely is meant.
func (v *vocabulary) nearestValue(key, value string) string {
	asked := [2]string{key, value}
	near, known := v.nearValues[asked]
	if !known {
		near = model.Nearest(value, v.values[key])
		v.nearValues[asked] = near
	}
	return near
}
