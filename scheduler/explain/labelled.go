package explain

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
)

// matcher holds labels of ConfigMaps and ConfigSchemas against a pair.
type matcher struct {
	clusterType model.ClusterType
	target      *target
	sides       []side
	vocabulary  *vocabulary
}

func (m matcher) fits(r requirement) bool {
	return plan.Fits(m.clusterType, m.target.Target, r.key, r.values[0])
}

// labelled says whether an object's labels match the pair.
func labelled[Spec any](m matcher, object model.Object[Spec]) Labelled {
	counted, ignored := labelRequirements(object)
	l := Labelled{
		Name:    object.Name,
		Place:   object.Position,
		Clauses: make([]Clause, 0, len(counted)),
		Ignored: slices.DeleteFunc(ignored, func(key string) bool { return key == platformConfig }),
	}
	for _, r := range counted {
		clause := Clause{Text: r.String(), Place: r.position, Holds: m.fits(r)}
		if !clause.Holds {
			clause.Miss = r.miss(m.sides, m.vocabulary)
		}
		l.Clauses = append(l.Clauses, clause)
	}
	l.Matches = len(failing(l.Clauses)) == 0
	return l
}

// platformConfig is the label that makes a ConfigMap one of the platform. That
// it does not count otherwise goes without saying.
const platformConfig = "platform-config"

// configMap says whether a ConfigMap matches the pair, and of one whose keys
// carry labels which keys do not apply.
func (m matcher) configMap(config model.PlatformConfig) Labelled {
	l := labelled(m, config)
	if !l.Matches || plan.IsOrdinary(config) {
		return l
	}
	for _, field := range slices.Sorted(maps.Keys(config.Spec.Data)) {
		position := config.At("data", field)
		labels, _, ok := plan.AppConfigKey(field)
		if !ok {
			l.Keys = append(l.Keys, Key{Field: field, Place: position, Miss: Miss{
				Reason: "is not of the form label.value.label.value.key",
			}})
			continue
		}
		for _, label := range labels {
			r := requirement{key: label[0], operator: equals, values: label[1:], position: position}
			if !m.fits(r) {
				l.Keys = append(l.Keys, Key{Field: field, Place: position, Miss: *r.miss(m.sides, m.vocabulary)})
				break
			}
		}
	}
	return l
}

// order puts what matches first, in order of merging, then the rest by how
// little is missing.
func order(all []Labelled) {
	slices.SortFunc(all, func(a, b Labelled) int {
		return cmp.Or(compareMisses(failing(a.Clauses), failing(b.Clauses)), cmp.Compare(late(a), late(b)), cmp.Compare(a.Name, b.Name))
	})
}

// late is 1 for what is merged after all others, whatever its name, else 0.
func late(l Labelled) int {
	if strings.HasPrefix(l.Name, model.AppConfigPrefix) {
		return 1
	}
	return 0
}
