package policytest

import (
	"fmt"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/validate/clause"
)

// Explainer says in one sentence why a deployment target is not on a cluster
// type.
type Explainer func(env *model.Environment, target plan.Target, clusterType model.ClusterType) string

// NearestPolicy is the Explainer that names the policy which comes nearest to
// selecting both, and what of it does not fit.
func NearestPolicy(env *model.Environment, target plan.Target, clusterType model.ClusterType) string {
	best, nearest := []string(nil), (*model.SchedulingPolicy)(nil)
	for i := range env.Policies {
		p := &env.Policies[i]
		unmet := unmetClauses(*p, target, clusterType)
		if len(unmet) > 0 && (nearest == nil || len(unmet) < len(best)) {
			best, nearest = unmet, p
		}
	}
	if nearest == nil {
		return "there are no policies"
	}
	return fmt.Sprintf("policy %s (%s) comes nearest, but %s", nearest.Name, nearest.Position, strings.Join(best, "; "))
}

// unmetClauses says what keeps a policy from selecting a pair.
func unmetClauses(p model.SchedulingPolicy, target plan.Target, clusterType model.ClusterType) []string {
	var unmet []string
	selector := p.Spec.DeploymentTargetSelector
	if selector.Workspace != "" && selector.Workspace != target.Workspace {
		has := "none"
		if target.Workspace != "" {
			has = target.Workspace
		}
		unmet = append(unmet, fmt.Sprintf("it wants workspace %s, and the target's is %s", selector.Workspace, has))
	}
	for _, c := range clause.Unmet(selector.LabelSelector, target.Labels) {
		unmet = append(unmet, fmt.Sprintf("it wants %s, and the target has %s", c, has(target.Labels, c.Key)))
	}
	for _, c := range clause.Unmet(p.Spec.ClusterTypeSelector.LabelSelector, clusterType.Labels) {
		unmet = append(unmet, fmt.Sprintf("it wants %s, and cluster type %s has %s", c, clusterType.Name, has(clusterType.Labels, c.Key)))
	}
	return unmet
}

func has(labels map[string]string, key string) string {
	if value, ok := labels[key]; ok {
		return key + ": " + value
	}
	return "no " + key
}
