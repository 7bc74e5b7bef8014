package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// miss words why a requirement does not hold for the sides, which have the
// words of a vocabulary between them and others of their kind.
func (r requirement) miss(sides []side, v *vocabulary) *Miss {
	owners := having(sides, r.key)
	if len(owners) == 0 {
		return r.missing(sides, v)
	}
	has := make([]string, len(owners))
	for i, owner := range owners {
		has[i] = owner.has(r.key, r.operator == metav1.LabelSelectorOpDoesNotExist)
	}
	m := &Miss{
		Reason: fmt.Sprintf("wants %s, %s", r, strings.Join(has, " and ")),
		Found:  new(owners[0].at(r.key)),
	}
	r.suggestValue(m, sides, owners, v)
	return m
}

// missing words that no side has the label.
func (r requirement) missing(sides []side, v *vocabulary) *Miss {
	if v.knows(r.key) {
		m := &Miss{
			Reason: fmt.Sprintf("wants %s, %s", r, none(sides, r.key)),
			Add:    new(sides[0].at(r.key)),
		}
		r.suggestValue(m, sides, nil, v)
		return m
	}
	m := &Miss{}
	own := ownKeys(sides)
	m.Nearest = model.Nearest(r.key, own)
	if m.Nearest == "" {
		m.Nearest = v.nearestKey(r.key)
	}
	if m.Nearest != "" {
		m.Hint = fmt.Sprintf("no %s has a label %s; did you mean %s?", words(sides, " or "), r.key, m.Nearest)
	}
	if m.own = slices.Contains(own, m.Nearest); m.own {
		owner := having(sides, m.Nearest)[0]
		m.Reason = fmt.Sprintf("wants %s, %s", r, owner.has(m.Nearest, true))
		m.Found = new(owner.at(m.Nearest))
		return m
	}
	m.Reason = fmt.Sprintf("wants %s, %s", r, none(sides, r.key))
	m.Add = new(sides[0].at(r.key))
	return m
}

// suggestValue looks for a value that was meant, among the owners' first, when
// a requirement asks for a value that nobody has.
func (r requirement) suggestValue(m *Miss, sides, owners []side, v *vocabulary) {
	if r.operator != equals && r.operator != metav1.LabelSelectorOpIn && r.operator != workspace {
		return
	}
	var own []string
	for _, owner := range owners {
		own = append(own, owner.labels[r.key])
	}
	for _, value := range r.values {
		if v.has(r.key, value) {
			continue
		}
		m.Nearest = model.Nearest(value, own)
		if m.own = m.Nearest != ""; !m.own {
			m.Nearest = v.nearestValue(r.key, value)
		}
		if m.Nearest != "" {
			m.Hint = fmt.Sprintf("no %s has %s; did you mean %s?", words(sides, " or "), r.written(value), m.Nearest)
			return
		}
	}
}

// written is a requirement's label with one of its values.
func (r requirement) written(value string) string {
	if r.operator == workspace {
		return "workspace " + shown(value)
	}
	return r.key + "=" + shown(value)
}

// has words what a side has under a key.
func (s side) has(key string, withKey bool) string {
	value := shown(s.labels[key])
	switch {
	case withKey:
		return fmt.Sprintf("%s has %s=%s", s.word, key, value)
	case s.names[key]:
		return fmt.Sprintf("%s is %s", s.word, value)
	}
	return fmt.Sprintf("%s has %s", s.word, value)
}

// none words that no side has a label.
func none(sides []side, key string) string {
	if len(sides) == 1 {
		return fmt.Sprintf("%s has no label %s", sides[0].word, key)
	}
	return fmt.Sprintf("neither %s has a label %s", words(sides, " nor "), key)
}

func words(sides []side, conjunction string) string {
	all := make([]string, len(sides))
	for i, s := range sides {
		all[i] = s.word
	}
	return strings.Join(all, conjunction)
}

func having(sides []side, key string) []side {
	var owners []side
	for _, s := range sides {
		if _, ok := s.labels[key]; ok {
			owners = append(owners, s)
		}
	}
	return owners
}

func ownKeys(sides []side) []string {
	var keys []string
	for _, s := range sides {
		keys = append(keys, slices.Sorted(maps.Keys(s.labels))...)
	}
	return keys
}
