package validate

import (
	"fmt"
	"slices"

	"github.com/kalypso-dev/kalypso/scheduler/clause"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// policies reports policies that select everything, or nothing.
func (e *examination) policies() {
	if len(e.plan.Targets) == 0 {
		e.report(Finding{
			Rule: NoTargets, Severity: Note, Position: e.branch(),
			Message: "no registered workload has a deployment target for this environment",
			Hint:    "policies that match no deployment target are not reported",
		})
	}
	if len(e.Model.ClusterTypes) == 0 {
		e.report(Finding{
			Rule: NoClusterTypes, Severity: Warning, Position: e.branch(),
			Message: "the environment has no cluster types, so nothing can be scheduled",
			Hint:    "add a " + v1alpha1.KindClusterType,
		})
	}
	for _, p := range e.Model.Policies {
		e.emptySelectors(p)
		if len(e.plan.Targets) > 0 {
			e.targetSelector(p)
		}
		if len(e.Model.ClusterTypes) > 0 {
			e.clusterTypeSelector(p)
		}
	}
}

func (e *examination) emptySelectors(p model.SchedulingPolicy) {
	report := func(field, all string) {
		e.report(Finding{
			Rule: EmptySelector, Severity: Warning, Position: p.At("spec", field, "labelSelector"), object: objectOf(v1alpha1.KindSchedulingPolicy, p),
			Message: fmt.Sprintf("policy %s: the %s is empty, so it selects every %s", p.Name, field, all),
			Hint:    "add labels, or say that it is meant by a comment in this line: # " + ignoreMark + " " + EmptySelector,
		})
	}
	target := p.Spec.DeploymentTargetSelector
	if target.Workspace == "" && len(clause.Of(target.LabelSelector)) == 0 {
		report("deploymentTargetSelector", "deployment target")
	}
	if len(clause.Of(p.Spec.ClusterTypeSelector.LabelSelector)) == 0 {
		report("clusterTypeSelector", "cluster type")
	}
}

func (e *examination) targetSelector(p model.SchedulingPolicy) {
	selector := p.Spec.DeploymentTargetSelector
	var sets []map[string]string
	var workspaces []string
	for _, t := range e.plan.Targets {
		workspaces = append(workspaces, t.Workspace)
		if selector.Workspace == "" || selector.Workspace == t.Workspace {
			sets = append(sets, t.Labels)
		}
	}
	report := func(why misfit, field string) {
		e.report(Finding{
			Rule: PolicyNoTarget, Severity: Warning, object: objectOf(v1alpha1.KindSchedulingPolicy, p), unused: true,
			Position: p.At(append([]string{"spec", "deploymentTargetSelector", field}, why.path...)...),
			Message:  fmt.Sprintf("policy %s matches no deployment target: %s", p.Name, why.message),
			Hint:     why.hint,
		})
	}
	who := "none"
	if selector.Workspace != "" {
		who = "none of workspace " + selector.Workspace
		if len(sets) == 0 {
			report(misfit{
				message: "none is of workspace " + selector.Workspace,
				hint:    clause.Suggest([]string{selector.Workspace}, "workspaces are", unique(workspaces)),
			}, "workspace")
			return
		}
	}
	if why, bad := selectsNone(selector.LabelSelector, sets, who); bad {
		report(why, "labelSelector")
	}
}

func (e *examination) clusterTypeSelector(p model.SchedulingPolicy) {
	var sets []map[string]string
	for _, c := range e.Model.ClusterTypes {
		sets = append(sets, c.Labels)
	}
	if why, bad := selectsNone(p.Spec.ClusterTypeSelector.LabelSelector, sets, "none"); bad {
		e.report(Finding{
			Rule: PolicyNoClusterType, Severity: Warning, object: objectOf(v1alpha1.KindSchedulingPolicy, p), unused: true,
			Position: p.At(append([]string{"spec", "clusterTypeSelector", "labelSelector"}, why.path...)...),
			Message:  fmt.Sprintf("policy %s matches no cluster type: %s", p.Name, why.message),
			Hint:     why.hint,
		})
	}
}

// misfit is why a selector selects none of the objects that exist.
type misfit struct {
	path          []string // of the field to blame, below the selector
	message, hint string
}

// selectsNone reports whether a selector selects none of the objects with these
// labels, and the first of its clauses that none of them fits. The word for
// them begins the message.
func selectsNone(s metav1.LabelSelector, sets []map[string]string, who string) (misfit, bool) {
	if slices.ContainsFunc(sets, func(labels map[string]string) bool { return plan.Selects(s, labels) }) {
		return misfit{}, false
	}
	for _, c := range clause.Of(s) {
		if slices.ContainsFunc(sets, c.Fits) {
			continue
		}
		hint := clause.Near(c.Key, c.Values, sets)
		if c.Operator == metav1.LabelSelectorOpNotIn || c.Operator == metav1.LabelSelectorOpDoesNotExist {
			hint = "all of them are excluded"
		}
		return misfit{path: c.Path, message: fmt.Sprintf("%s has %s", who, c), hint: hint}, true
	}
	return misfit{
		message: who + " has all of its labels, though each of them is somewhere",
		hint:    "split the policy, or take a label out",
	}, true
}

// clusterTypes reports cluster types that no policy selects.
func (e *examination) clusterTypes() {
	for _, c := range e.Model.ClusterTypes {
		selected := slices.ContainsFunc(e.Model.Policies, func(p model.SchedulingPolicy) bool {
			return plan.Selects(p.Spec.ClusterTypeSelector.LabelSelector, c.Labels)
		})
		if !selected {
			e.report(Finding{
				Rule: UnselectedClusterType, Severity: Note, Position: c.At("metadata", "name"),
				object: objectOf(v1alpha1.KindClusterType, c), unused: true,
				Message: fmt.Sprintf("no policy selects cluster type %s", c.Name),
				Hint:    "nothing is scheduled there until one does",
			})
		}
	}
}
