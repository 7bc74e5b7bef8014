package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Kalypso joins names by "-": a deployment target's from its workload's and its
// own, a namespace's from three. What is joined grows long, and two lists of
// names can join to the same text.

// nameProblems finds what is wrong with the names that an assignment's objects
// get. Kubernetes takes 63 characters in most places.
func nameProblems(p pair) []Problem {
	var problems []Problem
	report := func(position model.Position, message, hint string) {
		problems = append(problems, Problem{Reason: InvalidName, Severity: model.Error, Position: position, Message: message, Hint: hint})
	}
	const limit = validation.DNS1123LabelMaxLength
	if len(p.clusterType.Name) > limit {
		report(p.clusterType.At("metadata", "name"),
			fmt.Sprintf("the name of cluster type %s has %d characters, %d is the limit", p.clusterType.Name, len(p.clusterType.Name), limit), "shorten it")
	}
	problems = append(problems, targetProblems(p.target)...)
	return problems
}

// targetProblems finds what is wrong with a target wherever it is assigned.
func targetProblems(t *target) []Problem {
	const limit = validation.DNS1123LabelMaxLength
	problems := slices.Clone(t.unfit)
	if len(t.Name) > limit {
		problems = append(problems, Problem{
			Reason: InvalidName, Severity: model.Error, Position: t.Position,
			Message: fmt.Sprintf("the deployment target's name %s has %d characters, %d is the limit", t.Name, len(t.Name), limit),
			Hint:    "shorten the name of the workload or of its target",
		})
	}
	if len(t.twins) > 0 {
		var places []string
		for _, twin := range t.twins {
			places = append(places, twin.String())
		}
		problems = append(problems, Problem{
			Reason: InvalidName, Severity: model.Error, Position: t.Position,
			Message: fmt.Sprintf("the deployment target's name %s is ambiguous: it also stands for %s", t.Name, strings.Join(places, " and ")),
			Hint:    "rename one of the workloads or targets",
		})
	}
	return problems
}

// namespaceTwins warns of assignments whose .Namespace is the same: cluster type
// a-b with target c, and a with b-c. That is no error as long as no cluster is
// of both types, which only people know, and none at all when no template uses
// the value. Each is compared with the first of its name.
func namespaceTwins(s *state) []Problem {
	if !s.templates.useNamespace {
		return nil
	}
	var problems []Problem
	for name, r := range s.rows {
		for i := range name {
			first := s.rows[name[:i]]
			if name[i] != '-' || first == nil {
				continue
			}
			for _, c := range r.cells {
				twin, found := first.cell(name[i+1:] + "-" + c.target.Name)
				if !found || s.earlierTwin(name[:i], twin) {
					continue
				}
				problems = append(problems, Problem{
					Reason: InvalidName, Severity: model.Warning, Position: c.target.Position,
					Message: fmt.Sprintf("namespace %s is ambiguous: it stands for %s/%s and for %s/%s", namespaceOf(s.env.Name, c.pair),
						first.clusterType.Name, twin.target.Name, name, c.target.Name),
					Hint: "rename a cluster type, a workload or a target before a cluster follows both",
				})
			}
		}
	}
	return problems
}

// earlierTwin says whether an assignment on a cluster type has a twin on one
// with a shorter name.
func (s *state) earlierTwin(name string, c *cell) bool {
	for i := range name {
		if r := s.rows[name[:i]]; name[i] == '-' && r != nil {
			if _, found := r.cell(name[i+1:] + "-" + c.target.Name); found {
				return true
			}
		}
	}
	return false
}

// namespaceOf is what templates get as .Namespace, as the original scheduler
// makes it.
func namespaceOf(environment string, p pair) string {
	return environment + "-" + p.clusterType.Name + "-" + p.target.Name
}

func usesNamespace(templates []model.Template) bool {
	for _, t := range templates {
		for _, manifest := range t.Spec.Manifests {
			if strings.Contains(manifest.Text, ".Namespace") {
				return true
			}
		}
	}
	return false
}
