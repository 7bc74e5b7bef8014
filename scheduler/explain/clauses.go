package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/clause"
	"github.com/kalypso-dev/kalypso/scheduler/expression"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// requirement is one condition on labels, of a selector or of an object with
// configuration.
type requirement struct {
	clause.Clause
	position model.Position
}

// workspace is the operator of a policy's condition on the workspace.
const workspace metav1.LabelSelectorOperator = "workspace"

func equals(key, value string, at model.Position) requirement {
	return requirement{clause.Clause{Key: key, Operator: clause.Equals, Values: []string{value}}, at}
}

// String is what follows "wants".
func (r requirement) String() string {
	values := make([]string, len(r.Values))
	for i, value := range r.Values {
		values[i] = shown(value)
	}
	list := strings.Join(values, ", ")
	switch r.Operator {
	case workspace:
		return "workspace " + list
	case clause.CEL:
		return r.Clause.String()
	case metav1.LabelSelectorOpIn:
		return r.Key + " in (" + list + ")"
	case metav1.LabelSelectorOpNotIn:
		return r.Key + " not in (" + list + ")"
	case metav1.LabelSelectorOpExists:
		return "a label " + r.Key
	case metav1.LabelSelectorOpDoesNotExist:
		return "no label " + r.Key
	}
	return r.Key + "=" + list
}

// shown is a label's value for users, who would not see an empty one.
func shown(value string) string {
	if value == "" || strings.ContainsAny(value, " ,\"") {
		return strconv.Quote(value)
	}
	return value
}

func (r requirement) holds(o *expression.Object) bool {
	if r.Operator == workspace {
		return o.Labels[r.Key] == r.Values[0]
	}
	return r.Fits(o)
}

func targetRequirements(policy model.SchedulingPolicy) []requirement {
	all := selectorRequirements(policy, plan.TargetSelector(policy))
	if name := policy.Spec.DeploymentTargetSelector.Workspace; name != "" {
		r := equals(plan.WorkspaceLabel, name, policy.At("spec", "deploymentTargetSelector", "workspace"))
		r.Operator = workspace
		all = slices.Insert(all, 0, r)
	}
	return asWritten(all)
}

func clusterTypeRequirements(policy model.SchedulingPolicy) []requirement {
	return asWritten(selectorRequirements(policy, plan.ClusterTypeSelector(policy)))
}

func selectorRequirements(policy model.SchedulingPolicy, s plan.Selector) []requirement {
	var all []requirement
	for _, c := range clause.Of(s) {
		all = append(all, requirement{c, c.At(policy)})
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
		counted = append(counted, equals(key, object.Labels[key], object.At("metadata", "labels", key)))
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

// miss words why a requirement does not hold for the subjects. The values are
// those of all objects of their kind.
func (r requirement) miss(subjects []subject, v *labelValues) *Miss {
	if r.Operator == clause.CEL && r.Key == "" {
		return r.missOfExpression(subjects[0], v)
	}
	owners := having(subjects, r.Key)
	if len(owners) == 0 {
		return r.missing(subjects, v)
	}
	has := make([]string, len(owners))
	for i, owner := range owners {
		has[i] = owner.has(r.Key, r.Operator == metav1.LabelSelectorOpDoesNotExist)
	}
	m := &Miss{
		Reason: fmt.Sprintf("wants %s, %s", r, strings.Join(has, " and ")),
		Found:  new(owners[0].at(r.Key)),
	}
	r.suggestValue(m, subjects, owners, v)
	return m
}

// missing words that no subject has the label.
func (r requirement) missing(subjects []subject, v *labelValues) *Miss {
	if v.knows(r.Key) {
		m := &Miss{
			Reason: fmt.Sprintf("wants %s, %s", r, none(subjects, r.Key)),
			Add:    new(subjects[0].at(r.Key)),
		}
		r.suggestValue(m, subjects, nil, v)
		return m
	}
	m := &Miss{}
	own := ownKeys(subjects)
	m.Nearest = model.Nearest(r.Key, own)
	if m.Nearest == "" {
		m.Nearest = v.nearestKey(r.Key)
	}
	if m.Nearest != "" {
		m.Hint = fmt.Sprintf("no %s has a label %s; did you mean %s?", words(subjects, " or "), r.Key, m.Nearest)
	}
	if m.own = slices.Contains(own, m.Nearest); m.own {
		owner := having(subjects, m.Nearest)[0]
		m.Reason = fmt.Sprintf("wants %s, %s", r, owner.has(m.Nearest, true))
		m.Found = new(owner.at(m.Nearest))
		return m
	}
	m.Reason = fmt.Sprintf("wants %s, %s", r, none(subjects, r.Key))
	m.Add = new(subjects[0].at(r.Key))
	return m
}

// suggestValue looks for a value that was meant, among the owners' first, when
// a requirement asks for a value that nobody has.
func (r requirement) suggestValue(m *Miss, subjects, owners []subject, v *labelValues) {
	if r.Operator != clause.Equals && r.Operator != metav1.LabelSelectorOpIn && r.Operator != workspace && r.Operator != clause.CEL {
		return
	}
	var own []string
	for _, owner := range owners {
		own = append(own, owner.labels[r.Key])
	}
	for _, value := range r.Values {
		if v.has(r.Key, value) {
			continue
		}
		m.Nearest = model.Nearest(value, own)
		if m.own = m.Nearest != ""; !m.own {
			m.Nearest = v.nearestValue(r.Key, value)
		}
		if m.Nearest != "" {
			m.Hint = fmt.Sprintf("no %s has %s; did you mean %s?", words(subjects, " or "), r.written(value), m.Nearest)
			return
		}
	}
}

// written is a requirement's label with one of its values.
func (r requirement) written(value string) string {
	if r.Operator == workspace {
		return "workspace " + shown(value)
	}
	return r.Key + "=" + shown(value)
}

// has words what a subject has under a key.
func (s subject) has(key string, withKey bool) string {
	value := shown(s.labels[key])
	switch {
	case withKey:
		return fmt.Sprintf("%s has %s=%s", s.word, key, value)
	case s.names[key]:
		return fmt.Sprintf("%s is %s", s.word, value)
	}
	return fmt.Sprintf("%s has %s", s.word, value)
}

func none(subjects []subject, key string) string {
	if len(subjects) == 1 {
		return fmt.Sprintf("%s has no label %s", subjects[0].word, key)
	}
	return fmt.Sprintf("neither %s has a label %s", words(subjects, " nor "), key)
}

func words(subjects []subject, conjunction string) string {
	all := make([]string, len(subjects))
	for i, s := range subjects {
		all[i] = s.word
	}
	return strings.Join(all, conjunction)
}

func having(subjects []subject, key string) []subject {
	var owners []subject
	for _, s := range subjects {
		if _, ok := s.labels[key]; ok {
			owners = append(owners, s)
		}
	}
	return owners
}

func ownKeys(subjects []subject) []string {
	var keys []string
	for _, s := range subjects {
		keys = append(keys, slices.Sorted(maps.Keys(s.labels))...)
	}
	return keys
}

// subject is an object whose labels clauses are held against.
type subject struct {
	word   string // for users
	labels map[string]string
	// at is where a label stands or, when it is not there, where one would be
	// added.
	at func(key string) model.Position
	// names are the keys that stand for what the object is rather than has.
	names map[string]bool
	// object is what the clauses of policies are held against, and referred where it
	// has, or would have, what their expressions look at.
	object   *expression.Object
	referred func(expression.Reference) model.Position
}

func clusterTypeSubject(environment string, c model.ClusterType) subject {
	at := func(key string) model.Position { return c.At("metadata", "labels", key) }
	return subject{
		word:   "cluster type",
		labels: c.Labels,
		at:     at,
		object: plan.ClusterTypeObject(environment, &c),
		referred: func(r expression.Reference) model.Position {
			if r.Key == "" {
				return c.At("metadata", "name")
			}
			return at(r.Key)
		},
	}
}

func targetSubject(environment string, t *target) subject {
	return subject{
		word:   "target",
		labels: t.Labels,
		at:     t.labelAt,
		object: plan.TargetObject(environment, &t.Target),
		referred: func(r expression.Reference) model.Position {
			switch {
			case r.Variable == "workload.labels":
				return t.workload.At("metadata", "labels", r.Key)
			case r.Variable == "workload.name":
				return t.labelAt(plan.WorkloadLabel)
			case r.Variable == "workspace.name":
				return t.labelAt(plan.WorkspaceLabel)
			case r.Key == "":
				return t.Position
			}
			return t.labelAt(r.Key)
		},
	}
}

// configSubjects are what the labels of ConfigMaps and ConfigSchemas are held
// against. There, some keys mean names, whatever labels of these keys the
// objects have.
func configSubjects(c model.ClusterType, t *target) []subject {
	first, second := clusterTypeSubject("", c), targetSubject("", t)
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
	return []subject{first, second}
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
