package plan

import (
	"encoding/binary"
	"slices"
	"strings"
	"sync"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
)

// Most assignments of a fleet get the same configuration as many others, because
// few of their labels matter to any ConfigMap or schema. So the labels that matter
// are numbered, and cluster types and targets with the same ones share a set.

type label struct{ key, value string }

// labelSet is the numbers of those labels of an object that matter.
type labelSet struct {
	id   int
	list []int32 // sorted
	bits []uint64
}

func (s *labelSet) has(n int32) bool { return s.bits[n/64]&(1<<(n%64)) != 0 }

// requirement is the labels that a ConfigMap or a schema has, all of which must
// match a pair.
type requirement struct {
	labels []int32
	keyed  bool // its keys have labels, too
}

// labelIndex numbers the labels of an environment's ConfigMaps and schemas.
type labelIndex struct {
	numbers map[label]int32
	empty   map[string]int32 // of labels with an empty value, by their keys
	configs requirements
	schemas requirements

	mu   sync.Mutex
	sets map[string]*labelSet
}

// requirements are those of all objects of a kind.
type requirements struct {
	all     []requirement
	always  []int32           // the numbers of those without labels
	byLabel map[int32][]int32 // the numbers of the others, by their rarest label
}

func newLabelIndex(configs []model.PlatformConfig, schemas []model.ConfigSchema) *labelIndex {
	v := &labelIndex{numbers: map[label]int32{}, empty: map[string]int32{}, sets: map[string]*labelSet{}}
	for _, c := range configs {
		r := requirement{labels: v.required(c.Labels)}
		if IsAppConfig(c) {
			r.keyed = true
			for field := range c.Spec.Data {
				labels := strings.Split(field, ".")
				for i := 0; i+2 < len(labels); i += 2 {
					v.intern(labels[i], labels[i+1])
				}
			}
		}
		v.configs.all = append(v.configs.all, r)
	}
	for _, s := range schemas {
		v.schemas.all = append(v.schemas.all, requirement{labels: v.required(s.Labels)})
	}
	v.configs.sort()
	v.schemas.sort()
	return v
}

func (v *labelIndex) intern(key, value string) int32 {
	w := label{key, value}
	n, known := v.numbers[w]
	if !known {
		n = int32(len(v.numbers))
		v.numbers[w] = n
		if value == "" {
			v.empty[key] = n
		}
	}
	return n
}

// required returns the numbers of an object's labels, see pair.matches.
func (v *labelIndex) required(labels map[string]string) []int32 {
	var numbers []int32
	for key, value := range labels {
		if !IgnoredLabel(key) {
			numbers = append(numbers, v.intern(key, value))
		}
	}
	return numbers
}

// sort files each requirement under its rarest label, so that few are looked at.
func (r *requirements) sort() {
	count := map[int32]int{}
	for _, q := range r.all {
		for _, w := range q.labels {
			count[w]++
		}
	}
	r.byLabel = map[int32][]int32{}
	for i, q := range r.all {
		if len(q.labels) == 0 {
			r.always = append(r.always, int32(i))
			continue
		}
		rarest := slices.MinFunc(q.labels, func(a, b int32) int { return count[a] - count[b] })
		r.byLabel[rarest] = append(r.byLabel[rarest], int32(i))
	}
}

// matching returns the numbers of the requirements that two objects together
// fulfil, sorted.
func (r *requirements) matching(a, b *labelSet) []int32 {
	found := slices.Clone(r.always)
	visit := func(offered []int32, skip *labelSet) {
		for _, w := range offered {
			if skip != nil && skip.has(w) {
				continue
			}
			for _, i := range r.byLabel[w] {
				if !slices.ContainsFunc(r.all[i].labels, func(w int32) bool { return !a.has(w) && !b.has(w) }) {
					found = append(found, i)
				}
			}
		}
	}
	visit(a.list, nil)
	visit(b.list, a)
	slices.Sort(found)
	return found
}

// ofClusterType returns what a cluster type offers, see pair.matchesLabel.
func (v *labelIndex) ofClusterType(c *model.ClusterType) *labelSet {
	return v.set(c.Labels, label{ClusterTypeLabel, c.Name})
}

func (v *labelIndex) ofTarget(t *target) *labelSet {
	return v.set(t.Labels, label{DeploymentTargetLabel, t.Name}, label{WorkloadLabel, t.Workload})
}

func (v *labelIndex) set(labels map[string]string, names ...label) *labelSet {
	var list []int32
	for _, w := range names {
		if n, known := v.numbers[w]; known {
			list = append(list, n)
		}
	}
	for key, value := range labels {
		if n, known := v.numbers[label{key, value}]; known && !isNameLabel(key) {
			list = append(list, n)
		}
	}
	for key, n := range v.empty {
		if _, there := labels[key]; !there && !isNameLabel(key) {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	key := make([]byte, 0, 4*len(list))
	for _, w := range list {
		key = binary.LittleEndian.AppendUint32(key, uint32(w))
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	s := v.sets[string(key)]
	if s == nil {
		s = &labelSet{id: len(v.sets), list: list, bits: make([]uint64, len(v.numbers)/64+1)}
		for _, w := range list {
			s.bits[w/64] |= 1 << (w % 64)
		}
		v.sets[string(key)] = s
	}
	return s
}

// changes are the labels of all ConfigMaps and schemas that were added, removed or
// changed between two plans. What they match is computed again.
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

// on returns a function that says whether the assignment of a target on a cluster
// type is affected, nil where none is.
func (c *changes) on(clusterType *model.ClusterType) func(*target) bool {
	if c.all {
		return func(*target) bool { return true }
	}
	// labels that the cluster type does not match, so that the target must
	var left [][]label
	alone := pair{clusterType: clusterType, target: new(target)}
	for _, labels := range c.labels {
		var unmatched []label
		for key, value := range labels {
			if !IgnoredLabel(key) && !alone.matchesLabel(key, value) {
				unmatched = append(unmatched, label{key, value})
			}
		}
		if !slices.ContainsFunc(unmatched, func(l label) bool { return l.key == ClusterTypeLabel }) {
			left = append(left, unmatched)
		}
	}
	if len(left) == 0 {
		return nil
	}
	return func(t *target) bool {
		for _, unmatched := range left {
			if !slices.ContainsFunc(unmatched, func(l label) bool { return !t.matches(l) }) {
				return true
			}
		}
		return false
	}
}

// noClusterType stands for one without name and labels.
var noClusterType model.ClusterType

// matches says whether a target alone matches a label.
func (t *target) matches(l label) bool {
	return pair{clusterType: &noClusterType, target: t}.matchesLabel(l.key, l.value)
}
