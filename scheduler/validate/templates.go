package validate

import (
	"context"
	"fmt"

	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
	"github.com/kalypso-dev/kalypso/scheduler/validate/whatif"
)

// templateTexts reports templates that do not parse, whether or not they are
// used.
func (e *examination) templateTexts(ctx context.Context) {
	for _, t := range e.Model.Templates {
		problems, err := whatif.TemplateProblems(ctx, t)
		if err != nil {
			return
		}
		for _, p := range problems {
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
