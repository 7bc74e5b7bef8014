package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// requirement is one condition on labels, however it was written.
type requirement struct {
	key      string
	operator metav1.LabelSelectorOperator
	values   []string
	position model.Position
}

// The operators that label selectors do not name.
const (
	equals    metav1.LabelSelectorOperator = "="
	workspace metav1.LabelSelectorOperator = "workspace"
)

// String is what follows "wants".
func (r requirement) String() string {
	values := make([]string, len(r.values))
	for i, value := range r.values {
		values[i] = shown(value)
	}
	list := strings.Join(values, ", ")
	switch r.operator {
	case workspace:
		return "workspace " + list
	case metav1.LabelSelectorOpIn:
		return r.key + " in (" + list + ")"
	case metav1.LabelSelectorOpNotIn:
		return r.key + " not in (" + list + ")"
	case metav1.LabelSelectorOpExists:
		return "a label " + r.key
	case metav1.LabelSelectorOpDoesNotExist:
		return "no label " + r.key
	}
	return r.key + "=" + list
}

// shown is a label's value for people, who cannot see an empty one.
func shown(value string) string {
	if value == "" || strings.ContainsAny(value, " ,\"") {
		return strconv.Quote(value)
	}
	return value
}

// holds says whether a policy's requirement holds for labels. It asks for a
// selector of this one clause: all clauses of a selector must hold, so they
// may be asked for one by one.
func (r requirement) holds(labels map[string]string) bool {
	switch r.operator {
	case workspace:
		return labels[r.key] == r.values[0]
	case equals:
		return plan.Selects(metav1.LabelSelector{MatchLabels: map[string]string{r.key: r.values[0]}}, labels)
	}
	return plan.Selects(metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: r.key, Operator: r.operator, Values: r.values},
	}}, labels)
}

// targetRequirements returns what a policy wants of a deployment target.
func targetRequirements(policy model.SchedulingPolicy) []requirement {
	spec := policy.Spec.DeploymentTargetSelector
	var all []requirement
	if spec.Workspace != "" {
		all = append(all, requirement{
			key:      plan.WorkspaceLabel,
			operator: workspace,
			values:   []string{spec.Workspace},
			position: policy.At("spec", "deploymentTargetSelector", "workspace"),
		})
	}
	return asWritten(append(all, selectorRequirements(policy, "deploymentTargetSelector", spec.LabelSelector)...))
}

// clusterTypeRequirements returns what a policy wants of a cluster type.
func clusterTypeRequirements(policy model.SchedulingPolicy) []requirement {
	return asWritten(selectorRequirements(policy, "clusterTypeSelector", policy.Spec.ClusterTypeSelector.LabelSelector))
}

func selectorRequirements(policy model.SchedulingPolicy, field string, s metav1.LabelSelector) []requirement {
	var all []requirement
	for _, key := range slices.Sorted(maps.Keys(s.MatchLabels)) {
		all = append(all, requirement{
			key:      key,
			operator: equals,
			values:   []string{s.MatchLabels[key]},
			position: policy.At("spec", field, "labelSelector", "matchLabels", key),
		})
	}
	for i, e := range s.MatchExpressions {
		all = append(all, requirement{
			key:      e.Key,
			operator: e.Operator,
			values:   e.Values,
			position: policy.At("spec", field, "labelSelector", "matchExpressions", strconv.Itoa(i)),
		})
	}
	return all
}

// labelRequirements returns the labels of a ConfigMap or ConfigSchema that
// count, and the keys of those that do not, sorted.
func labelRequirements[Spec any](object model.Object[Spec]) (counted []requirement, ignored []string) {
	for _, key := range slices.Sorted(maps.Keys(object.Labels)) {
		if plan.IgnoredLabel(key) {
			ignored = append(ignored, key)
			continue
		}
		counted = append(counted, requirement{
			key:      key,
			operator: equals,
			values:   []string{object.Labels[key]},
			position: object.At("metadata", "labels", key),
		})
	}
	return asWritten(counted), ignored
}

// asWritten orders requirements as they are written. Those of one place keep
// their order.
func asWritten(all []requirement) []requirement {
	slices.SortStableFunc(all, func(a, b requirement) int {
		return cmp.Or(cmp.Compare(a.position.Line, b.position.Line), cmp.Compare(a.position.Column, b.position.Column))
	})
	return all
}

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

// side is an object whose labels clauses are held against.
type side struct {
	word   string // what people call it
	labels map[string]string
	// at is where a label stands or, when it is not there, where one would be
	// added.
	at func(key string) model.Position
	// names are the keys that stand for what the object is rather than has.
	names map[string]bool
}

func clusterTypeSide(c model.ClusterType) side {
	return side{
		word:   "cluster type",
		labels: c.Labels,
		at:     func(key string) model.Position { return c.At("metadata", "labels", key) },
	}
}

func targetSide(t *target) side {
	return side{word: "target", labels: t.Labels, at: t.labelAt}
}

// configSides are what the labels of ConfigMaps and ConfigSchemas are held
// against. There, some keys mean names, whatever labels of these keys the
// objects have.
func configSides(c model.ClusterType, t *target) []side {
	first, second := clusterTypeSide(c), targetSide(t)
	first.labels, second.labels = described(c.Labels), described(t.Labels)
	first.labels[plan.ClusterTypeLabel] = c.Name
	second.labels[plan.DeploymentTargetLabel] = t.Name
	second.labels[plan.WorkloadLabel] = t.Workload
	first.names = map[string]bool{plan.ClusterTypeLabel: true}
	second.names = map[string]bool{plan.DeploymentTargetLabel: true}
	first.at = func(key string) model.Position {
		if key == plan.ClusterTypeLabel {
			return c.At("metadata", "name")
		}
		return c.At("metadata", "labels", key)
	}
	second.at = func(key string) model.Position {
		if key == plan.DeploymentTargetLabel {
			return t.Position
		}
		return t.labelAt(key)
	}
	return []side{first, second}
}

// described returns the labels whose keys are not those of names.
func described(labels map[string]string) map[string]string {
	rest := make(map[string]string, len(labels)+2)
	maps.Copy(rest, labels)
	for _, key := range []string{plan.ClusterTypeLabel, plan.DeploymentTargetLabel, plan.WorkloadLabel} {
		delete(rest, key)
	}
	return rest
}
