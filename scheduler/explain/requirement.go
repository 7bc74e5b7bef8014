package explain

import (
	"cmp"
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
