package validate

import (
	"regexp"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
)

// ruleTexts tell which rule a diagnostic of the model belongs to. The model
// says what is wrong in words only. The first one that matches counts.
var ruleTexts = []struct {
	text *regexp.Regexp
	rule string
}{
	{regexp.MustCompile(`^not valid YAML: `), InvalidYAML},
	{regexp.MustCompile(`^(the (file|document) is encrypted by |the file is a git-lfs pointer|the file holds no object$|this is a text and no object$)`), InvalidYAML},
	{regexp.MustCompile(`^this is no Workload$`), UnknownKind},
	{regexp.MustCompile(`^label \S+ is (not known|".*")$`), UnknownField},
	{regexp.MustCompile(` is too large: `), TooLarge},
	{regexp.MustCompile(`^unknown field `), UnknownField},
	{regexp.MustCompile(`^(apiVersion|kind) .* is (not known|computed, not read)$`), UnknownKind},
	{regexp.MustCompile(`^there is no \w+ on this branch$`), MissingObject},
	{regexp.MustCompile(`^repository .* or its (branch|commit) .* is not there$`), MissingReference},
	{regexp.MustCompile(`^there is no Workload at `), MissingWorkload},
	{regexp.MustCompile(`^a Workload is read only from `), MisplacedWorkload},
	{regexp.MustCompile(`^an environment has one GitOpsRepo`), DuplicateObject},
	{regexp.MustCompile(`^\w+ \S+ is already (defined|registered) at `), DuplicateObject},
	{regexp.MustCompile(`^Workload .* stands twice for environment `), DuplicateObject},
	{regexp.MustCompile(`^(metadata\.name|Workload .*: deployment target) ".*" is not a name$`), InvalidName},
	{regexp.MustCompile(`^SchedulingPolicy \S+: (deploymentTarget|clusterType)Selector: `), InvalidSelector},
	{regexp.MustCompile(`^Template \S+: \w+ ".*" is not known$`), InvalidValue},
	{regexp.MustCompile(`^ConfigMap \S+: key ".*" applies nowhere$`), AppConfigKey},
	{regexp.MustCompile(`^no workload is registered as `), NoEffect},
	{regexp.MustCompile(` is missing$`), MissingField},
	{regexp.MustCompile(` (must be (a|an) \w+( or an? \w+)?|stands twice|has a key that is no string|has a merge key that cannot be followed)$`), InvalidField},
	{regexp.MustCompile(`: reading manifest object: `), InvalidField},
}

// fromDiagnostic makes a finding of a diagnostic. The rest of it is taken from
// like.
func fromDiagnostic(d model.Diagnostic, like Finding) Finding {
	like.Rule, like.Severity = InvalidModel, d.Severity
	like.Position, like.Message, like.Hint = d.Position, d.Message, d.Hint
	for _, r := range ruleTexts {
		if r.text.MatchString(d.Message) {
			like.Rule = r.rule
			break
		}
	}
	return like
}

// diagnostics reports those of the model.
func (e *examination) diagnostics() {
	for _, d := range e.Model.Diagnostics {
		e.report(fromDiagnostic(d, Finding{}))
	}
}

var (
	wrongType          = regexp.MustCompile(` names template \S+, which is of type `)
	ambiguousNamespace = regexp.MustCompile(`^namespace \S+ is ambiguous: `)
	ambiguousName      = regexp.MustCompile(` is ambiguous: `)
)

// problemRule tells which rule a problem of the plan belongs to.
func problemRule(p plan.Problem) string {
	switch p.Reason {
	case plan.InvalidConfig:
		return InvalidConfig
	case plan.InvalidSchema:
		return InvalidSchema
	case plan.UnknownTemplate:
		if wrongType.MatchString(p.Message) {
			return WrongTemplate
		}
		return MissingTemplate
	case plan.TemplateFailed:
		return TemplateError
	case plan.InvalidText:
		return InvalidText
	case plan.InvalidName:
		switch {
		case ambiguousNamespace.MatchString(p.Message):
			return SharedNamespace
		case ambiguousName.MatchString(p.Message):
			return AmbiguousName
		}
		return LongName
	}
	return InvalidModel
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
	f := Finding{Rule: problemRule(p), Severity: p.Severity, Position: p.Position, Message: p.Message, Hint: p.Hint}
	if p.ClusterType != "" {
		f.Assignments = []Assignment{{Environment: e.Model.Name, ClusterType: p.ClusterType, Target: p.Target}}
	}
	return f
}
