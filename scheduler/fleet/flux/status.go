package flux

import (
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Status is whether one object complies.
//
// A Kustomization is Compliant only when it has applied what its source has
// now. While a new revision is fetched and not applied yet it is Pending,
// whatever its condition Ready says: that is about the revision before. The
// same goes for a failure.
type Status struct {
	Kind            string
	Namespace, Name string
	State           fleet.State
	Reason          string // for a state that is not Compliant
	Conditions      []metav1.Condition
	AppliedBy       *Ref // nil for one that no Kustomization applied
}

// Combined is the state of all together, and the reason of the object that
// decides it: what failed, else what is not done, else what is suspended.
func Combined(all []Status) (fleet.State, string) {
	if len(all) == 0 {
		return fleet.Pending, "nothing is on the cluster yet"
	}
	for _, state := range []fleet.State{fleet.NonCompliant, fleet.Pending, fleet.Suspended, fleet.Unknown} {
		for _, s := range all {
			if s.State == state {
				return state, s.Kind + " " + s.Name + ": " + s.Reason
			}
		}
	}
	return fleet.Compliant, ""
}

func newStatus(o *unstructured.Unstructured, kind string) Status {
	s := Status{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName(), Conditions: conditions(o)}
	if by, ok := AppliedBy(o); ok {
		s.AppliedBy = &by
	}
	return s
}

func repositoryStatus(o *unstructured.Unstructured) Status {
	s := newStatus(o, kindRepository)
	s.State, s.Reason = basics(o, s.Conditions)
	return s
}

func kustomizationStatus(o *unstructured.Unstructured, revision string) Status {
	s := newStatus(o, kindKustomization)
	s.State, s.Reason = basics(o, s.Conditions)
	if revision == "" {
		return s
	}
	notYet := func() { s.State, s.Reason = fleet.Pending, "revision "+revision+" is not applied yet" }
	switch s.State {
	case fleet.Compliant:
		if text(o, "status", "lastAppliedRevision") != revision {
			notYet()
		}
	case fleet.NonCompliant:
		if tried, known := attempted(o, s.Conditions, revision); known && !tried {
			notYet()
		}
	}
	return s
}

// basics is the state that an object has by its own conditions.
func basics(o *unstructured.Unstructured, all []metav1.Condition) (fleet.State, string) {
	if suspend, _, _ := unstructured.NestedBool(o.Object, "spec", "suspend"); suspend {
		return fleet.Suspended, "it is suspended"
	}
	ready := find(all, "Ready")
	switch {
	case ready == nil:
		return fleet.Pending, "it has not been reconciled yet"
	case ready.ObservedGeneration < o.GetGeneration():
		return fleet.Pending, "its last change has not been reconciled yet"
	case ready.Status == metav1.ConditionTrue:
		return fleet.Compliant, ""
	case ready.Status == metav1.ConditionFalse && ready.Reason == "DependencyNotReady":
		return fleet.Pending, ready.Message
	case ready.Status == metav1.ConditionFalse:
		return fleet.NonCompliant, ready.Message
	}
	return fleet.Pending, ready.Message
}

// attempted is whether a failure is about the revision. A failure before
// anything was applied, such as a folder that is missing, leaves
// lastAttemptedRevision as it was; then the condition Reconciling, which stays
// while it is tried again, has the revision in its message.
func attempted(o *unstructured.Unstructured, all []metav1.Condition, revision string) (tried, known bool) {
	last := text(o, "status", "lastAttemptedRevision")
	if last == revision {
		return true, true
	}
	if c := find(all, "Reconciling"); c != nil && strings.Contains(c.Message, "revision ") {
		return strings.Contains(c.Message, revision), true
	}
	return false, last != ""
}

func find(all []metav1.Condition, kind string) *metav1.Condition {
	for i := range all {
		if all[i].Type == kind {
			return &all[i]
		}
	}
	return nil
}

// conditions leaves out what cannot be read as one: a status without conditions
// counts as not reconciled yet.
func conditions(o *unstructured.Unstructured) []metav1.Condition {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	var all []metav1.Condition
	for _, item := range list {
		m, ok := item.(map[string]any)
		if !ok {
			continue
		}
		var c metav1.Condition
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(m, &c); err == nil {
			all = append(all, c)
		}
	}
	return all
}
