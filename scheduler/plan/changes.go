package plan

import (
	"slices"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
)

// changes are the labels of all ConfigMaps and schemas that came, went or
// changed between two plans. Whatever they match has to be worked out again.
type changes struct {
	all    bool // everything has
	labels []map[string]string
}

// maxChanges is how many changes are followed one by one.
const maxChanges = 64

func changesOf(now, before *configurations) *changes {
	c := &changes{all: before == nil}
	if now == before || c.all {
		return c
	}
	compareObjects[model.ConfigMap](c, before.configs, now.configs)
	compareObjects[v1alpha1.ConfigSchemaSpec](c, before.schemas, now.schemas)
	c.all = len(c.labels) > maxChanges
	return c
}

func compareObjects[Spec any](c *changes, before, now []model.Object[Spec]) {
	known := make(map[string]int, len(before))
	for i, object := range before {
		known[object.Name] = i
	}
	for _, object := range now {
		i, found := known[object.Name]
		delete(known, object.Name)
		if found && before[i].Same(object) {
			continue
		}
		c.labels = append(c.labels, object.Labels)
		if found {
			c.labels = append(c.labels, before[i].Labels)
		}
	}
	for _, i := range known {
		c.labels = append(c.labels, before[i].Labels)
	}
}

// on returns what tells whether the assignment of a target on a cluster type
// is affected.
func (c *changes) on(clusterType *model.ClusterType) func(*target) bool {
	if c.all {
		return func(*target) bool { return true }
	}
	// what the cluster type leaves for the target to match
	var left [][]word
	alone := pair{clusterType: clusterType, target: &target{}}.subject()
	for _, labels := range c.labels {
		var words []word
		for key, value := range labels {
			if key != configLabel && !foreignLabel(key) && !alone.match(key, value) {
				words = append(words, word{key, value})
			}
		}
		if !slices.ContainsFunc(words, func(w word) bool { return w.key == clusterTypeLabel }) {
			left = append(left, words)
		}
	}
	return func(t *target) bool {
		for _, words := range left {
			if !slices.ContainsFunc(words, func(w word) bool { return !t.matches(w) }) {
				return true
			}
		}
		return false
	}
}

// matches says whether a target alone fits a label.
func (t *target) matches(w word) bool {
	return subject{target: t.Name, workload: t.Workload, targetLabels: t.Labels}.match(w.key, w.value)
}
