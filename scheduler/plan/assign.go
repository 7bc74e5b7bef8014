package plan

import (
	"cmp"
	"slices"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// pair is one assignment before anything is made for it.
type pair struct {
	clusterType model.ClusterType
	target      *target
	policies    []string
}

// assign returns the pairs that the policies select, sorted by cluster type
// and target. A pair that several policies select is one pair that names all
// of them. Targets that share a name share a pair.
func assign(policies []model.SchedulingPolicy, clusterTypes []model.ClusterType, targets []*target) []pair {
	type key struct{ clusterType, target string }
	byKey := map[key]*pair{}
	for _, policy := range policies {
		selectsTarget, ok1 := targetSelector(policy)
		selectsClusterType, ok2 := selector(policy.Spec.ClusterTypeSelector.LabelSelector)
		if !ok1 || !ok2 {
			continue
		}
		for _, c := range clusterTypes {
			if !selectsClusterType(c.Labels) {
				continue
			}
			for _, t := range targets {
				if !selectsTarget(t) {
					continue
				}
				k := key{c.Name, t.Name}
				if byKey[k] == nil {
					byKey[k] = &pair{clusterType: c, target: t}
				}
				if !slices.Contains(byKey[k].policies, policy.Name) {
					byKey[k].policies = append(byKey[k].policies, policy.Name)
				}
			}
		}
	}
	pairs := make([]pair, 0, len(byKey))
	for _, p := range byKey {
		slices.Sort(p.policies)
		pairs = append(pairs, *p)
	}
	slices.SortFunc(pairs, func(a, b pair) int {
		return cmp.Or(cmp.Compare(a.clusterType.Name, b.clusterType.Name), cmp.Compare(a.target.Name, b.target.Name))
	})
	return pairs
}

func targetSelector(policy model.SchedulingPolicy) (func(*target) bool, bool) {
	spec := policy.Spec.DeploymentTargetSelector
	selects, ok := selector(spec.LabelSelector)
	return func(t *target) bool {
		return (spec.Workspace == "" || spec.Workspace == t.Workspace) && selects(t.Labels)
	}, ok
}

// selector reads a label selector. The model has already reported the ones
// that cannot be read; such a policy selects nothing.
func selector(s metav1.LabelSelector) (func(map[string]string) bool, bool) {
	parsed, err := metav1.LabelSelectorAsSelector(&s)
	if err != nil {
		return nil, false
	}
	return func(l map[string]string) bool { return parsed.Matches(labels.Set(l)) }, true
}
