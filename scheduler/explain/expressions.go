package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/clause"
	"github.com/kalypso-dev/kalypso/scheduler/expression"
)

// valuesOf are the labels and names that an expression looks at, as the object has them.
func (r requirement) valuesOf(o *expression.Object) []LookedAt {
	if r.Operator != clause.CEL || o == nil {
		return nil
	}
	var all []LookedAt
	for _, reference := range r.References() {
		value, there := reference.Value(o)
		all = append(all, LookedAt{Expression: reference.String(), Value: value, Missing: !there})
	}
	return all
}

// missOfExpression words why an expression does not hold for a subject: what it has of
// all that the expression looks at, and where the first of that is which it lacks.
func (r requirement) missOfExpression(s subject, v *labelValues) *Miss {
	m := &Miss{Reason: "wants " + r.String()}
	references := r.References()
	if has := hasOf(s, r.valuesOf(s.object)); has != "" {
		m.Reason += ", " + has
	}
	_, err := r.Expression.Evaluate(s.object)
	lacking := slices.IndexFunc(references, func(reference expression.Reference) bool {
		_, there := reference.Value(s.object)
		return !there && !reference.Optional
	})
	if err != nil && lacking < 0 {
		m.Reason += "; " + err.Error()
	}
	switch {
	case lacking >= 0:
		missing := references[lacking]
		m.Add = new(s.referred(missing))
		if missing.Own() && !v.knows(missing.Key) {
			own := ownKeys([]subject{s})
			if m.Nearest = v.nearestKey(missing.Key); m.Nearest != "" {
				m.Hint = fmt.Sprintf("no %s has a label %s; did you mean %s?", s.word, missing.Key, m.Nearest)
				m.own = slices.Contains(own, m.Nearest)
			}
		}
	case len(references) > 0:
		if _, there := references[0].Value(s.object); there {
			m.Found = new(s.referred(references[0]))
		} else {
			m.Add = new(s.referred(references[0]))
		}
	}
	return m
}

// hasOf words what a subject has of what an expression looks at.
func hasOf(s subject, values []LookedAt) string {
	var has, lacks []string
	for _, l := range values {
		if l.Missing {
			lacks = append(lacks, l.Expression)
		} else {
			has = append(has, l.Expression+"="+shown(l.Value))
		}
	}
	var all []string
	if len(has) > 0 {
		all = append(all, "has "+strings.Join(has, ", "))
	}
	if len(lacks) > 0 {
		all = append(all, "has no "+strings.Join(lacks, ", "))
	}
	if len(all) == 0 {
		return ""
	}
	return s.word + " " + strings.Join(all, " and ")
}
