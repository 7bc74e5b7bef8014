package validate

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/clause"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
)

// workloads reports deployment targets that will never run anywhere, and
// registrations of workloads that have no others.
func (e *examination) workloads() {
	registered, useful := map[string]bool{}, map[string]bool{}
	for _, w := range e.Model.Workloads {
		registered[w.Registration.Name] = true
		for i, t := range w.Spec.DeploymentTargets {
			if e.exists(t.Environment) {
				useful[w.Registration.Name] = true
				continue
			}
			e.report(Finding{
				Rule: UnknownEnvironment, Severity: Warning, object: objectOf(v1alpha1.KindWorkload, w.Object),
				Position: w.At("spec", "deploymentTargets", strconv.Itoa(i), "environment"),
				Message:  fmt.Sprintf("Workload %s: deployment target %s is for environment %s, which does not exist", w.Name, t.Name, t.Environment),
				Hint:     clause.Suggest([]string{t.Environment}, "environments are", e.known),
			})
		}
	}
	for _, r := range e.Model.Registrations {
		if registered[r.Name] && !useful[r.Name] {
			e.report(Finding{
				Rule: UnusedRegistration, Severity: Warning, Position: r.Position,
				object: objectOf(v1alpha1.KindWorkloadRegistration, r), unused: true,
				Message: fmt.Sprintf("WorkloadRegistration %s: its workload has no deployment target for any environment", r.Name),
				Hint:    "environments are " + clause.List(e.known),
			})
		}
	}
	e.unscheduled()
}

// unscheduled reports deployment targets that no policy sends anywhere.
func (e *examination) unscheduled() {
	scheduled := map[string]bool{}
	for _, a := range e.plan.Assignments {
		scheduled[a.Target] = true
	}
	for _, t := range e.plan.Targets {
		if scheduled[t.Name] {
			continue
		}
		e.report(Finding{
			Rule: UnscheduledTarget, Severity: Warning, Position: t.Position,
			object:  object{kind: v1alpha1.KindWorkload, name: t.Workload, repo: t.Position.Repo, branch: t.Position.Branch, file: t.Position.File},
			Message: fmt.Sprintf("no policy schedules deployment target %s", t.Name),
			Hint:    "its labels are " + labelList(t),
		})
	}
}

// labelList writes a target's labels as users write them in a selector.
func labelList(t plan.Target) string {
	var list []string
	for _, key := range slices.Sorted(maps.Keys(t.Labels)) {
		list = append(list, key+": "+t.Labels[key])
	}
	return strings.Join(list, ", ")
}
