package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// Reason says what kind of thing went wrong, for those who word it for people.
type Reason string

// The reasons of problems.
const (
	InvalidModel    Reason = "InvalidModel"    // a diagnostic of the model
	InvalidConfig   Reason = "InvalidConfig"   // the composed configuration breaks a schema, or part of it cannot be read
	InvalidSchema   Reason = "InvalidSchema"   // a schema is none
	UnknownTemplate Reason = "UnknownTemplate" // a cluster type names a template that is not there, or not of that type
	TemplateFailed  Reason = "TemplateFailed"  // a template does not render
	InvalidName     Reason = "InvalidName"     // a computed name is ambiguous or too long
	InvalidText     Reason = "InvalidText"     // a workload's label or manifest must not go into a file
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
		model.ComparePositions(a.Schema, b.Schema),
	)
}

// unreadableProblems are about a ConfigMap that assignments need and that cannot
// be read.
func unreadableProblems(config model.PlatformConfig) []Problem {
	problems := modelProblems(config.Unreadable)
	for i := range problems {
		problems[i].Reason = InvalidConfig
		problems[i].Message = fmt.Sprintf("ConfigMap %s cannot be read: %s", config.Name, problems[i].Message)
	}
	return problems
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

// environmentProblems are the environment's diagnostics. What holds nothing is
// an error as soon as something is held back that may have come from it.
func environmentProblems(env *model.Environment, held bool) []Problem {
	if !held || len(env.Blank) == 0 {
		return modelProblems(env.Diagnostics)
	}
	blank := func(d model.Diagnostic) bool { return slices.Contains(env.Blank, d) }
	problems := modelProblems(slices.Concat(env.Blank, slices.DeleteFunc(slices.Clone(env.Diagnostics), blank)))
	for i := range env.Blank {
		problems[i].Severity = model.Error
	}
	return problems
}

// unassignedProblems warns of what will go wrong as soon as a policy selects
// it.
func unassignedProblems(s *state) []Problem {
	admits := make([]bool, len(s.policies.rules))
	var problems []Problem
	for _, r := range s.rows {
		for _, n := range r.admitting {
			admits[n] = true
		}
		problems = append(problems, r.misfits...)
		if len(r.cells) == 0 && !s.env.BaseUnreadable {
			problems = append(problems, r.unknown...)
		}
	}
	assigned := func(t *target) bool {
		return slices.ContainsFunc(t.selecting, func(n int32) bool { return admits[n] })
	}
	twinAssigned := map[string]bool{}
	for _, t := range s.targets.sorted {
		if len(t.twins) > 0 && assigned(t) {
			twinAssigned[t.Name] = true
		}
	}
	for _, t := range s.targets.sorted {
		if !assigned(t) && !twinAssigned[t.Name] {
			problems = append(problems, targetProblems(t)...)
		}
	}
	for i := range problems {
		problems[i].Severity = model.Warning
	}
	return problems
}

// unvalidated warns that an assignment stays as it is because a ConfigSchema
// could not be read, and with it, whom it concerns: nobody can say that the
// assignment's configuration is valid. It is a warning and no error of the
// assignment's, which would make an issue of each.
func unvalidated(place model.Position, p pair) Problem {
	return Problem{
		Reason:   Held,
		Severity: model.Warning,
		Position: place,
		Message: fmt.Sprintf("%s/%s stays as it is: a ConfigSchema could not be read, so that its configuration cannot be validated",
			p.clusterType.Name, p.target.Name),
		Hint: "correct the errors of the environment first",
	}
}
