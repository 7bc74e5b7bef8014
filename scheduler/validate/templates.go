package validate

import (
	"fmt"

	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
	"github.com/kalypso-dev/kalypso/scheduler/validate/whatif"
)

// templateTexts reports templates that do not parse, whether or not they are
// used.
func (e *examination) templateTexts() {
	for _, t := range e.Model.Templates {
		for _, p := range whatif.TemplateProblems(t) {
			e.report(e.fromProblem(p))
		}
	}
}

// templates reports templates that no cluster type names.
func (e *examination) templates() {
	named := map[string]bool{}
	for _, c := range e.Model.ClusterTypes {
		for _, use := range usesOf(c) {
			named[use.template] = true
		}
	}
	for _, t := range e.Model.Templates {
		if !named[t.Name] {
			e.report(Finding{
				Rule: UnusedTemplate, Severity: Note, Position: t.At("metadata", "name"),
				object: objectOf(v1alpha1.KindTemplate, t), unused: true,
				Message: fmt.Sprintf("no cluster type names template %s", t.Name),
			})
		}
	}
}
