package explain

import (
	"slices"

	"github.com/kalypso-dev/kalypso/scheduler/plan"
)

// values says where each key's value comes from and what has become of the
// values before.
func values(config []plan.ConfigValue) []Value {
	all := make([]Value, 0, len(config))
	for _, v := range config {
		value := Value{Key: v.Key, Value: v.Value, Sources: make([]Source, 0, len(v.Sources))}
		gone := lastOverridden(v)
		for i, s := range v.Sources {
			value.Sources = append(value.Sources, Source{
				ConfigMap: s.ConfigMap,
				Value:     s.Value,
				Place:     s.Position,
				Role:      role(s, i <= gone, i == len(v.Sources)-1),
			})
		}
		for _, o := range v.Overrides {
			if o.Path != "" {
				value.Parts = append(value.Parts, Part{Path: o.Path, Value: o.Value, ConfigMap: o.ConfigMap, Place: o.Position})
			}
		}
		all = append(all, value)
	}
	return all
}

func role(s plan.ConfigSource, gone, last bool) Role {
	switch {
	case gone:
		return Overridden
	case last:
		return Decides
	case plan.IsStructured(s.Value):
		return Merged
	}
	return Repeated
}

// lastOverridden returns the index of the last source whose value was replaced
// as a whole, -1 for none. What came before it is gone with it. An override of
// a part is no source.
func lastOverridden(v plan.ConfigValue) int {
	last := -1
	for _, o := range v.Overrides {
		last = max(last, slices.Index(v.Sources, o))
	}
	return last
}
