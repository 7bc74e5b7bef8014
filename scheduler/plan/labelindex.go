package plan

import (
	"encoding/binary"
	"slices"
	"strings"
	"sync"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
)

// Most assignments of a fleet get the same configuration as many others,
// because few of their labels are ones that configuration asks for. So labels
// are numbered: a word is a key with a value that some ConfigMap or schema asks
// for. Cluster types and deployment targets that offer the same words cannot
// be told apart by configuration.

// word is a label that is asked for.
type word struct{ key, value string }

// wordSet is the words that an object offers.
type wordSet struct {
	id   int
	list []int32 // sorted
	bits []uint64
}

func (s *wordSet) has(w int32) bool { return s.bits[w/64]&(1<<(w%64)) != 0 }

// request is an object whose labels ask for words.
type request struct {
	words []int32
	keyed bool // its data asks for more, key by key
}

// vocabulary numbers the words of an environment's ConfigMaps and schemas.
type vocabulary struct {
	words   map[word]int32
	blank   map[string]int32 // those of them with an empty value, by their keys
	configs requests
	schemas requests

	mu   sync.Mutex
	sets map[string]*wordSet
}

// requests are objects by the words they ask for.
type requests struct {
	all    []request
	always []int32           // the numbers of those that ask for none
	byWord map[int32][]int32 // the numbers of the others, by one of their words
}

func newVocabulary(configs []model.PlatformConfig, schemas []model.ConfigSchema) *vocabulary {
	v := &vocabulary{words: map[word]int32{}, blank: map[string]int32{}, sets: map[string]*wordSet{}}
	for _, c := range configs {
		r := request{words: v.asked(c.Labels)}
		if IsAppConfig(c) {
			r.keyed = true
			for field := range c.Spec.Data {
				labels := strings.Split(field, ".")
				for i := 0; i+2 < len(labels); i += 2 {
					v.number(labels[i], labels[i+1])
				}
			}
		}
		v.configs.all = append(v.configs.all, r)
	}
	for _, s := range schemas {
		v.schemas.all = append(v.schemas.all, request{words: v.asked(s.Labels)})
	}
	v.configs.sort()
	v.schemas.sort()
	return v
}

func (v *vocabulary) number(key, value string) int32 {
	w := word{key, value}
	n, known := v.words[w]
	if !known {
		n = int32(len(v.words))
		v.words[w] = n
		if value == "" {
			v.blank[key] = n
		}
	}
	return n
}

// asked returns the words of an object's labels, see subject.matches.
func (v *vocabulary) asked(labels map[string]string) []int32 {
	var words []int32
	for key, value := range labels {
		if key != configLabel && !foreignLabel(key) {
			words = append(words, v.number(key, value))
		}
	}
	return words
}

// sort files each request under its rarest word, so that few are looked at.
func (r *requests) sort() {
	count := map[int32]int{}
	for _, q := range r.all {
		for _, w := range q.words {
			count[w]++
		}
	}
	r.byWord = map[int32][]int32{}
	for i, q := range r.all {
		if len(q.words) == 0 {
			r.always = append(r.always, int32(i))
			continue
		}
		rarest := slices.MinFunc(q.words, func(a, b int32) int { return count[a] - count[b] })
		r.byWord[rarest] = append(r.byWord[rarest], int32(i))
	}
}

// matching returns the numbers of the requests that two objects together
// fulfil, sorted.
func (r *requests) matching(a, b *wordSet) []int32 {
	found := slices.Clone(r.always)
	look := func(offered []int32, skip *wordSet) {
		for _, w := range offered {
			if skip != nil && skip.has(w) {
				continue
			}
			for _, i := range r.byWord[w] {
				if !slices.ContainsFunc(r.all[i].words, func(w int32) bool { return !a.has(w) && !b.has(w) }) {
					found = append(found, i)
				}
			}
		}
	}
	look(a.list, nil)
	look(b.list, a)
	slices.Sort(found)
	return found
}

// ofClusterType returns the words that a cluster type offers, see
// subject.match.
func (v *vocabulary) ofClusterType(c *model.ClusterType) *wordSet {
	return v.set(c.Labels, word{clusterTypeLabel, c.Name})
}

// ofTarget returns the words that a deployment target offers.
func (v *vocabulary) ofTarget(t *target) *wordSet {
	return v.set(t.Labels, word{deploymentTargetLabel, t.Name}, word{workloadLabel, t.Workload})
}

func (v *vocabulary) set(labels map[string]string, names ...word) *wordSet {
	var list []int32
	for _, w := range names {
		if n, known := v.words[w]; known {
			list = append(list, n)
		}
	}
	for key, value := range labels {
		if n, known := v.words[word{key, value}]; known && !isNameLabel(key) {
			list = append(list, n)
		}
	}
	for key, n := range v.blank {
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
		s = &wordSet{id: len(v.sets), list: list, bits: make([]uint64, len(v.words)/64+1)}
		for _, w := range list {
			s.bits[w/64] |= 1 << (w % 64)
		}
		v.sets[string(key)] = s
	}
	return s
}

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
