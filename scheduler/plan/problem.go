package plan

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Reason says what kind of thing went wrong, for those who word it for people.
type Reason string

// The reasons of problems.
const (
	InvalidModel    Reason = "InvalidModel"    // a diagnostic of the model
	InvalidConfig   Reason = "InvalidConfig"   // the composed configuration breaks a schema
	InvalidSchema   Reason = "InvalidSchema"   // a schema is none
	UnknownTemplate Reason = "UnknownTemplate" // a cluster type names a template that is not there
	TemplateFailed  Reason = "TemplateFailed"  // a template does not render
	InvalidName     Reason = "InvalidName"     // a computed name is ambiguous or too long
	Held            Reason = "Held"            // something is kept because the model is incomplete
)

func compareProblems(a, b Problem) int {
	return cmp.Or(
		cmp.Compare(a.ClusterType, b.ClusterType),
		cmp.Compare(a.Target, b.Target),
		cmp.Compare(a.Severity, b.Severity),
		model.ComparePositions(a.Position, b.Position),
		cmp.Compare(a.Reason, b.Reason),
		cmp.Compare(a.Message, b.Message),
		cmp.Compare(a.Hint, b.Hint),
	)
}

func modelProblems(diagnostics []model.Diagnostic) []Problem {
	problems := make([]Problem, len(diagnostics))
	for i, d := range diagnostics {
		problems[i] = Problem{
			Reason:   InvalidModel,
			Severity: d.Severity,
			Position: d.Position,
			Message:  d.Message,
			Hint:     d.Hint,
		}
	}
	return problems
}

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
	problems = append(problems, targetNameProblems(p.target)...)
	return problems
}

func targetNameProblems(t *target) []Problem {
	const limit = validation.DNS1123LabelMaxLength
	var problems []Problem
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

// unassignedProblems warns of what will go wrong as soon as a policy selects
// it.
func unassignedProblems(env *model.Environment, targets []*target, pairs []pair) []Problem {
	clusterTypes, assigned := map[string]bool{}, map[string]bool{}
	for _, p := range pairs {
		clusterTypes[p.clusterType.Name] = true
		assigned[p.target.Name] = true
	}
	var problems []Problem
	for _, c := range env.ClusterTypes {
		if !clusterTypes[c.Name] {
			_, found := templatesOf(env, c)
			problems = append(problems, found...)
		}
	}
	for _, t := range targets {
		if !assigned[t.Name] {
			problems = append(problems, targetNameProblems(t)...)
		}
	}
	for i := range problems {
		problems[i].Severity = model.Warning
	}
	return problems
}
