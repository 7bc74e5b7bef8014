// Package clause takes label selectors apart into their conditions, for packages
// that say which of them does not fit, explain and validate, and has the words that
// such packages share.
//
// Whether a single condition fits is asked of package plan, which decides the
// same for the whole selector.
package clause

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Clause is one condition of a label selector.
type Clause struct {
	Key      string
	Operator metav1.LabelSelectorOperator
	Values   []string // none for Exists and DoesNotExist
	Path     []string // of its field below the selector
}

// Equals is the operator of matchLabels, which has no name in expressions.
const Equals metav1.LabelSelectorOperator = "="

// Of returns a selector's clauses: those of matchLabels in order of their
// keys, then the expressions as they stand. An empty selector has none.
func Of(s metav1.LabelSelector) []Clause {
	var clauses []Clause
	for _, key := range slices.Sorted(maps.Keys(s.MatchLabels)) {
		clauses = append(clauses, Clause{
			Key:      key,
			Operator: Equals,
			Values:   []string{s.MatchLabels[key]},
			Path:     []string{"matchLabels", key},
		})
	}
	for i, e := range s.MatchExpressions {
		clauses = append(clauses, Clause{
			Key:      e.Key,
			Operator: e.Operator,
			Values:   e.Values,
			Path:     []string{"matchExpressions", strconv.Itoa(i)},
		})
	}
	return clauses
}

// Fits reports whether the clause alone selects an object with these labels.
func (c Clause) Fits(labels map[string]string) bool {
	operator := c.Operator
	if operator == Equals {
		operator = metav1.LabelSelectorOpIn
	}
	return plan.Selects(metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: c.Key, Operator: operator, Values: c.Values}},
	}, labels)
}

// String is the clause as users write it.
func (c Clause) String() string {
	switch c.Operator {
	case metav1.LabelSelectorOpExists:
		return "any " + c.Key
	case metav1.LabelSelectorOpDoesNotExist:
		return "no " + c.Key
	case metav1.LabelSelectorOpNotIn:
		return fmt.Sprintf("%s not in (%s)", c.Key, strings.Join(c.Values, ", "))
	}
	if len(c.Values) == 1 {
		return fmt.Sprintf("%s: %s", c.Key, c.Values[0])
	}
	return fmt.Sprintf("%s in (%s)", c.Key, strings.Join(c.Values, ", "))
}

// Unmet returns those clauses of a selector that do not select an object with
// these labels.
func Unmet(s metav1.LabelSelector, labels map[string]string) []Clause {
	return slices.DeleteFunc(Of(s), func(c Clause) bool { return c.Fits(labels) })
}

// maxListed bounds how many values a hint lists.
const maxListed = 6

// Near says what the writer of a label may have meant, given the labels that
// there are: the nearest value of the key, or the nearest key, or what there is
// to choose from. It returns "" when there are no labels at all.
func Near(key string, wanted []string, sets []map[string]string) string {
	values, keys := map[string]bool{}, map[string]bool{}
	for _, labels := range sets {
		for k, v := range labels {
			keys[k] = true
			if k == key {
				values[v] = true
			}
		}
	}
	if len(values) > 0 {
		return Suggest(wanted, fmt.Sprintf("values of %s are", key), slices.Sorted(maps.Keys(values)))
	}
	return Suggest([]string{key}, "labels are", slices.Sorted(maps.Keys(keys)))
}

// Suggest names the candidate that is nearest to one of the names wanted, or
// else lists the candidates after the introduction.
func Suggest(wanted []string, introduction string, candidates []string) string {
	for _, name := range wanted {
		if near := model.Nearest(name, candidates); near != "" && near != name {
			return fmt.Sprintf("did you mean %s?", near)
		}
	}
	if len(candidates) == 0 {
		return ""
	}
	return introduction + " " + List(candidates)
}

// List joins names for users, and leaves out what is too many.
func List(names []string) string {
	if more := len(names) - maxListed; more > 1 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxListed], ", "), more)
	}
	return strings.Join(names, ", ")
}

// Count puts a number before a noun.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
