package plan

import (
	"slices"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// policies are all scheduling policies of an environment, ready to select.
type policies struct {
	objects []model.SchedulingPolicy
	rules   []rule
	alone   [][]string // by policy: the list of its name alone, for most assignments have one
}

// rule is a policy whose selectors have been read. What cannot be read, the
// model has reported; such a policy selects nothing.
type rule struct {
	name        string
	usable      bool
	target      func(*target) bool
	clusterType func(map[string]string) bool
}

func readPolicies(objects []model.SchedulingPolicy) *policies {
	p := &policies{objects: objects, rules: make([]rule, len(objects)), alone: make([][]string, len(objects))}
	for i, object := range objects {
		target, ok1 := targetSelector(object)
		clusterType, ok2 := selector(object.Spec.ClusterTypeSelector.LabelSelector)
		p.rules[i] = rule{name: object.Name, usable: ok1 && ok2, target: target, clusterType: clusterType}
		p.alone[i] = []string{object.Name}
	}
	return p
}

// same says whether these are the policies of an environment still.
func (p *policies) same(objects []model.SchedulingPolicy) bool {
	return p != nil && slices.EqualFunc(p.objects, objects, model.SchedulingPolicy.Same)
}

// selecting returns the numbers of the policies that select a target.
func (p *policies) selecting(t *target) []int32 {
	var selecting []int32
	for i := range p.rules {
		if r := &p.rules[i]; r.usable && r.target(t) {
			selecting = append(selecting, int32(i))
		}
	}
	return selecting
}

// admitting returns the numbers of the policies that select a cluster type.
func (p *policies) admitting(clusterType *model.ClusterType) []int32 {
	var admitting []int32
	for i := range p.rules {
		if r := &p.rules[i]; r.usable && r.clusterType(clusterType.Labels) {
			admitting = append(admitting, int32(i))
		}
	}
	return admitting
}

func targetSelector(policy model.SchedulingPolicy) (func(*target) bool, bool) {
	spec := policy.Spec.DeploymentTargetSelector
	selects, ok := selector(spec.LabelSelector)
	return func(t *target) bool {
		return (spec.Workspace == "" || spec.Workspace == t.Workspace) && selects(t.Labels)
	}, ok
}

// selector reads a label selector.
func selector(s metav1.LabelSelector) (func(map[string]string) bool, bool) {
	parsed, err := metav1.LabelSelectorAsSelector(&s)
	if err != nil {
		return nil, false
	}
	return func(l map[string]string) bool { return parsed.Matches(labels.Set(l)) }, true
}
