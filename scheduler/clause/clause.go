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

	"github.com/kalypso-dev/kalypso/scheduler/expression"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Clause is one condition of a label selector.
type Clause struct {
	Key      string // of an expression that compares one label, or ""
	Operator metav1.LabelSelectorOperator
	Values   []string // none for Exists and DoesNotExist
	Path     []string // of its field in the policy
	// Expression is that of a clause whose operator is CEL, and Index the byte of the
	// field's text with which it begins.
	Expression *expression.Expression
	Index      int
}

// Operators that have no name in matchExpressions.
const (
	Equals metav1.LabelSelectorOperator = "=" // that of matchLabels
	CEL    metav1.LabelSelectorOperator = "cel"
)

// Of returns a selector's clauses: those of matchLabels in order of their
// keys, then matchExpressions as they stand, then what the expression in CEL joins
// by &&. An empty selector has none.
func Of(s plan.Selector) []Clause {
	var clauses []Clause
	path := []string{"spec", string(s.Of)}
	for _, key := range slices.Sorted(maps.Keys(s.Labels.MatchLabels)) {
		clauses = append(clauses, Clause{
			Key:      key,
			Operator: Equals,
			Values:   []string{s.Labels.MatchLabels[key]},
			Path:     append(slices.Clone(path), "labelSelector", "matchLabels", key),
		})
	}
	for i, e := range s.Labels.MatchExpressions {
		clauses = append(clauses, Clause{
			Key:      e.Key,
			Operator: e.Operator,
			Values:   e.Values,
			Path:     append(slices.Clone(path), "labelSelector", "matchExpressions", strconv.Itoa(i)),
		})
	}
	if whole, err := expression.Compile(s.Of, s.CEL); s.CEL != "" && err == nil {
		for _, o := range whole.Operands() {
			operand, err := expression.Compile(s.Of, o.Text)
			if err != nil {
				operand = whole // it fits where its operands do
			}
			wanted := operand.Wanted()
			clauses = append(clauses, Clause{
				Key: wanted.Key, Operator: CEL, Values: wanted.Values,
				Path: append(slices.Clone(path), "cel"), Expression: operand, Index: o.Index,
			})
		}
	}
	return clauses
}

// At returns where the clause stands in its policy.
func (c Clause) At(p model.SchedulingPolicy) model.Position {
	if c.Operator == CEL {
		return p.InText(c.Index, c.Path...)
	}
	return p.At(c.Path...)
}

// Fits reports whether the clause alone selects an object.
func (c Clause) Fits(o *expression.Object) bool {
	operator := c.Operator
	switch operator {
	case CEL:
		return c.Expression.Holds(o)
	case Equals:
		operator = metav1.LabelSelectorOpIn
	}
	return plan.Selector{Labels: metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: c.Key, Operator: operator, Values: c.Values}},
	}}.Selects(o)
}

// String is the clause as users write it.
func (c Clause) String() string {
	switch c.Operator {
	case CEL:
		return strings.Join(strings.Fields(c.Expression.Text()), " ") // it may have several lines
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

// Unmet returns those clauses of a selector that do not select an object.
func Unmet(s plan.Selector, o *expression.Object) []Clause {
	return slices.DeleteFunc(Of(s), func(c Clause) bool { return c.Fits(o) })
}

// Has says what an object has of what the clause looks at: a label, or several of
// them and names.
func (c Clause) Has(o *expression.Object) string {
	var all []string
	for _, r := range c.References() {
		value, there := r.Value(o)
		switch {
		case !there:
			all = append(all, "no "+r.Key)
		case r.Key == "":
			all = append(all, r.Variable+": "+value)
		default:
			all = append(all, r.Key+": "+value)
		}
	}
	if len(all) == 0 {
		return "no label that fits"
	}
	return List(all)
}

// References are the labels and names that the clause looks at.
func (c Clause) References() []expression.Reference {
	if c.Operator == CEL {
		return c.Expression.References()
	}
	return []expression.Reference{{Variable: "labels", Key: c.Key}}
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
