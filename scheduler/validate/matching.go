package validate

import (
	"fmt"
	"maps"
	"slices"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/validate/clause"
)

// unmatched says whether a ConfigMap or ConfigSchema with these labels fits no
// cluster type with any deployment target, scheduled there or not.
func (e *examination) unmatched(labels map[string]string) (misfit, bool) {
	counting := maps.Clone(labels)
	maps.DeleteFunc(counting, func(key, _ string) bool { return plan.IgnoredLabel(key) })
	return e.unmatchedExactly(counting)
}

// unmatchedExactly is unmatched for labels that all count.
func (e *examination) unmatchedExactly(labels map[string]string) (misfit, bool) {
	keys := slices.Sorted(maps.Keys(labels))
	if len(e.plan.Targets) == 0 {
		// What future deployment targets will be like nobody knows, so only
		// what is said of cluster types alone can be judged.
		keys = slices.DeleteFunc(keys, func(key string) bool { return key != plan.ClusterTypeLabel })
	}
	fits := func(keys ...string) bool {
		return e.anyPair(func(c model.ClusterType, t plan.Target) bool {
			return !slices.ContainsFunc(keys, func(key string) bool { return !plan.Fits(c, t, key, labels[key]) })
		})
	}
	if fits(keys...) {
		return misfit{}, false
	}
	for _, key := range keys {
		if !fits(key) {
			return misfit{
				path:    []string{key},
				message: fmt.Sprintf("nothing has %s: %s", key, labels[key]),
				hint:    e.nearLabel(key, labels[key]),
			}, true
		}
	}
	return misfit{
		message: "no cluster type with a deployment target has all of its labels, though each of them is somewhere",
		hint:    "take a label out, or split it",
	}, true
}

// anyPair asks about every cluster type with every deployment target. Where
// there are none of either, one without a name stands for it.
func (e *examination) anyPair(ask func(model.ClusterType, plan.Target) bool) bool {
	clusterTypes, targets := e.Model.ClusterTypes, e.plan.Targets
	if len(clusterTypes) == 0 {
		clusterTypes = make([]model.ClusterType, 1)
	}
	if len(targets) == 0 {
		targets = make([]plan.Target, 1)
	}
	return slices.ContainsFunc(clusterTypes, func(c model.ClusterType) bool {
		return slices.ContainsFunc(targets, func(t plan.Target) bool { return ask(c, t) })
	})
}

// nearLabel says what the writer of a label on configuration may have meant.
func (e *examination) nearLabel(key, value string) string {
	var clusterTypes, targets, workloads []string
	sets := []map[string]string{{plan.ClusterTypeLabel: "", plan.DeploymentTargetLabel: ""}}
	for _, c := range e.Model.ClusterTypes {
		clusterTypes = append(clusterTypes, c.Name)
		sets = append(sets, c.Labels)
	}
	for _, t := range e.plan.Targets {
		targets = append(targets, t.Name)
		workloads = append(workloads, t.Workload)
		sets = append(sets, t.Labels)
	}
	switch key {
	case plan.ClusterTypeLabel:
		return clause.Suggest([]string{value}, "cluster types are", clusterTypes)
	case plan.DeploymentTargetLabel:
		return clause.Suggest([]string{value}, "deployment targets are", unique(targets))
	case plan.WorkloadLabel:
		return clause.Suggest([]string{value}, "workloads are", unique(workloads))
	}
	return clause.Near(key, []string{value}, sets)
}
