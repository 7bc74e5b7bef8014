package validate

import (
	"cmp"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
)

// fromDiagnostic is a finding of the rule that the code names.
func fromDiagnostic(d model.Diagnostic) Finding {
	return Finding{Rule: d.Code, Severity: d.Severity, Position: d.Position, Message: d.Message, Hint: d.Hint}
}

func (e *examination) diagnostics() {
	for _, d := range e.Model.Diagnostics {
		e.report(fromDiagnostic(d))
	}
}

// reasonRules are the rules of problems without a code.
var reasonRules = map[plan.Reason]string{
	plan.InvalidConfig:   InvalidConfig,
	plan.InvalidSchema:   InvalidSchema,
	plan.UnknownTemplate: MissingTemplate,
	plan.TemplateFailed:  TemplateError,
	plan.InvalidText:     InvalidText,
	plan.InvalidName:     LongName,
}

// problems reports what the plan says beyond the model's diagnostics. What is
// held back until these are corrected is no finding of its own.
func (e *examination) problems() {
	for _, p := range e.plan.Problems {
		if p.Reason != plan.InvalidModel && p.Reason != plan.Held {
			e.report(e.fromProblem(p))
		}
	}
}

func (e *examination) fromProblem(p plan.Problem) Finding {
	f := Finding{Rule: cmp.Or(p.Code, reasonRules[p.Reason], InvalidModel), Severity: p.Severity, Position: p.Position, Message: p.Message, Hint: p.Hint}
	if p.Fix != (model.Position{}) { // one finding for all assignments that lack the value
		f.Hint = "provide the value in a ConfigMap labelled platform-config: \"true\" whose other labels match"
	}
	if p.ClusterType != "" {
		f.Assignments = []Assignment{{Environment: e.Model.Name, ClusterType: p.ClusterType, Target: p.Target}}
	}
	return f
}
