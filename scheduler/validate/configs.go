package validate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/clause"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"k8s.io/apimachinery/pkg/util/validation"
)

// configKeys reports keys that Kubernetes refuses.
func (e *examination) configKeys() {
	for _, c := range e.Model.Configs {
		for _, key := range slices.Sorted(maps.Keys(c.Spec.Data)) {
			if messages := validation.IsConfigMapKey(key); len(messages) > 0 {
				e.report(Finding{
					Rule: InvalidConfigKey, Severity: Warning, Position: c.At("data", key), object: objectOf(kindConfigMap, c),
					Message: fmt.Sprintf("ConfigMap %s: Kubernetes takes no key %q", c.Name, key), Hint: model.Requirement(messages[0]),
				})
			}
		}
	}
}

// configs reports platform configuration that reaches nothing.
func (e *examination) configs() {
	shadowed := e.shadowed()
	for _, c := range e.Model.Configs {
		like := Finding{Severity: Warning, object: objectOf(kindConfigMap, c)}
		if len(c.Spec.Data) == 0 && len(c.Unreadable) == 0 {
			f := like
			f.Rule, f.Severity, f.Position = EmptyConfig, Note, c.Position
			f.Message = fmt.Sprintf("ConfigMap %s has no data", c.Name)
			e.report(f)
		}
		if why, bad := e.unmatched(c.Labels); bad {
			f := like
			f.Rule, f.unused = UnmatchedConfig, true
			f.Position = c.At(append([]string{"metadata", "labels"}, why.path...)...)
			f.Message = fmt.Sprintf("ConfigMap %s applies to nothing: %s", c.Name, why.message)
			f.Hint = why.hint
			e.report(f)
		}
		for _, key := range slices.Sorted(maps.Keys(c.Spec.Data)) {
			f := like
			f.Position = c.At("data", key)
			e.appConfigKey(f, c, key)
			if by, ok := shadowed[f.Position]; ok {
				f.Rule, f.Severity, f.field, f.unused = ShadowedConfig, Note, key, true
				f.Message = fmt.Sprintf("ConfigMap %s: %s never counts, it is overridden wherever it applies", c.Name, key)
				f.Hint = fmt.Sprintf("ConfigMap %s comes later by its name", by)
				if strings.HasPrefix(by, model.AppConfigPrefix) {
					f.Hint = fmt.Sprintf("ConfigMap %s comes after all that are not of App Configuration", by)
				}
				e.report(f)
			}
		}
	}
}

// appConfigKey reports a key of an azure-app-config ConfigMap whose labels
// match nothing.
func (e *examination) appConfigKey(f Finding, c model.PlatformConfig, key string) {
	if plan.IsOrdinary(c) || len(validation.IsConfigMapKey(key)) > 0 {
		return
	}
	labels, _, ok := plan.AppConfigKey(key)
	if !ok {
		return // the model has reported it
	}
	wanted := map[string]string{}
	for _, l := range labels {
		wanted[l[0]] = l[1]
	}
	if why, bad := e.unmatchedExactly(wanted); bad {
		f.Rule, f.field, f.unused = UnmatchedConfig, key, true
		f.Message, f.Hint = fmt.Sprintf("ConfigMap %s: key %s applies to nothing: %s", c.Name, key, why.message), why.hint
		e.report(f)
	}
}

// shadowed returns the places of values that never count, though they are
// merged somewhere, each with a ConfigMap that overrides it.
func (e *examination) shadowed() map[model.Position]string {
	by, counts := map[model.Position]string{}, map[model.Position]bool{}
	for _, a := range e.plan.Assignments {
		for _, v := range a.Config {
			overridden := map[model.Position]bool{}
			for _, o := range v.Overrides {
				if o.Path == "" { // else it lost but a part
					overridden[o.Position] = true
				}
			}
			for _, s := range v.Sources {
				if overridden[s.Position] {
					by[s.Position] = v.Source.ConfigMap
				} else {
					counts[s.Position] = true
				}
			}
		}
	}
	maps.DeleteFunc(by, func(at model.Position, _ string) bool { return counts[at] })
	return by
}

// unmatched reports whether a ConfigMap or ConfigSchema with these labels fits no
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
		// Future deployment targets are unknown, so only labels about cluster
		// types alone are checked.
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

// nearLabel suggests what a label on configuration was meant to be.
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
