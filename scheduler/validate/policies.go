package validate

import (
	"fmt"
	"slices"

	"github.com/kalypso-dev/kalypso/scheduler/clause"
	"github.com/kalypso-dev/kalypso/scheduler/expression"
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
	if p.Spec.DeploymentTargetSelector.Workspace == "" && plan.TargetSelector(p).IsEmpty() {
		report("deploymentTargetSelector", "deployment target")
	}
	if plan.ClusterTypeSelector(p).IsEmpty() {
		report("clusterTypeSelector", "cluster type")
	}
}

func (e *examination) targetSelector(p model.SchedulingPolicy) {
	selector := p.Spec.DeploymentTargetSelector
	var objects []*expression.Object
	var workspaces []string
	for i := range e.plan.Targets {
		t := &e.plan.Targets[i]
		workspaces = append(workspaces, t.Workspace)
		if selector.Workspace == "" || selector.Workspace == t.Workspace {
			objects = append(objects, plan.TargetObject(e.Model.Name, t))
		}
	}
	report := func(why misfit) {
		e.report(Finding{
			Rule: PolicyNoTarget, Severity: Warning, object: objectOf(v1alpha1.KindSchedulingPolicy, p), unused: true,
			Position: why.at,
			Message:  fmt.Sprintf("policy %s matches no deployment target: %s", p.Name, why.message),
			Hint:     why.hint,
		})
	}
	who := "none"
	if selector.Workspace != "" {
		who = "none of workspace " + selector.Workspace
		if len(objects) == 0 {
			report(misfit{
				at:      p.At("spec", "deploymentTargetSelector", "workspace"),
				message: "none is of workspace " + selector.Workspace,
				hint:    clause.Suggest([]string{selector.Workspace}, "workspaces are", unique(workspaces)),
			})
			return
		}
	}
	if why, bad := selectsNone(p, plan.TargetSelector(p), objects, who); bad {
		report(why)
	}
}

func (e *examination) clusterTypeSelector(p model.SchedulingPolicy) {
	if why, bad := selectsNone(p, plan.ClusterTypeSelector(p), e.clusterTypeObjects(), "none"); bad {
		e.report(Finding{
			Rule: PolicyNoClusterType, Severity: Warning, object: objectOf(v1alpha1.KindSchedulingPolicy, p), unused: true,
			Position: why.at,
			Message:  fmt.Sprintf("policy %s matches no cluster type: %s", p.Name, why.message),
			Hint:     why.hint,
		})
	}
}

// misfit is why a selector selects none of the objects that exist.
type misfit struct {
	at            model.Position // of the clause of a policy to blame
	path          []string       // of the label of another object to blame, below its labels
	message, hint string
}

func (e *examination) clusterTypeObjects() []*expression.Object {
	var objects []*expression.Object
	for i := range e.Model.ClusterTypes {
		objects = append(objects, plan.ClusterTypeObject(e.Model.Name, &e.Model.ClusterTypes[i]))
	}
	return objects
}

// selectsNone reports whether a policy's selector selects none of the objects, and the
// first of its clauses that none of them fits. The word for them begins the message.
func selectsNone(p model.SchedulingPolicy, s plan.Selector, objects []*expression.Object, who string) (misfit, bool) {
	if slices.ContainsFunc(objects, s.Selects) {
		return misfit{}, false
	}
	var sets []map[string]string
	for _, o := range objects {
		sets = append(sets, o.Labels)
	}
	for _, c := range clause.Of(s) {
		if slices.ContainsFunc(objects, c.Fits) {
			continue
		}
		message, hint := fmt.Sprintf("%s has %s", who, c), ""
		switch c.Operator {
		case metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpDoesNotExist:
			hint = "all of them are excluded"
		case clause.CEL:
			message = fmt.Sprintf("%s fulfils %s", who, c)
			hint = nearReference(c, sets)
		default:
			hint = clause.Near(c.Key, c.Values, sets)
		}
		return misfit{at: c.At(p), message: message, hint: hint}, true
	}
	return misfit{
		at:      p.At("spec", string(s.Of), "labelSelector"),
		message: who + " has all of its labels, though each of them is somewhere",
		hint:    "split the policy, or take a label out",
	}, true
}

// nearReference says what the writer of an expression may have meant by a label that no
// object has, or what values there are of the first label it looks at.
func nearReference(c clause.Clause, sets []map[string]string) string {
	if c.Key != "" {
		return clause.Near(c.Key, c.Values, sets)
	}
	var own []string
	for _, r := range c.References() {
		if r.Own() {
			own = append(own, r.Key)
		}
	}
	for _, key := range own {
		if !slices.ContainsFunc(sets, func(labels map[string]string) bool { _, there := labels[key]; return there }) {
			return clause.Near(key, nil, sets)
		}
	}
	if len(own) > 0 {
		return clause.Near(own[0], nil, sets)
	}
	return ""
}

// clusterTypes reports cluster types that no policy selects.
func (e *examination) clusterTypes() {
	for _, c := range e.Model.ClusterTypes {
		selected := slices.ContainsFunc(e.Model.Policies, func(p model.SchedulingPolicy) bool {
			return plan.ClusterTypeSelector(p).Selects(plan.ClusterTypeObject(e.Model.Name, &c))
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

// rollouts reports those for cluster types that are not there. One that all environments
// share may be for a type of another.
func (e *examination) rollouts() {
	var types []string
	for _, c := range e.Model.ClusterTypes {
		types = append(types, c.Name)
	}
	for _, r := range e.Model.Rollouts {
		if !slices.Contains(types, r.Spec.ClusterType) {
			e.report(Finding{
				Rule: model.InvalidRollout, Severity: Error, Position: r.At("spec", "clusterType"), object: objectOf(v1alpha1.KindRollout, r), unused: true,
				Message: fmt.Sprintf("Rollout %s is for cluster type %s, which is not there", r.Name, r.Spec.ClusterType),
				Hint:    clause.Suggest([]string{r.Spec.ClusterType}, "cluster types are", unique(types)),
			})
		}
	}
}
