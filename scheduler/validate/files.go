package validate

import (
	"context"
	"fmt"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// Files applies the rules about what is wrong with objects in themselves to
// those of one repository or folder. What they name is not looked for, and
// whether they fit each other is not asked: a change of what all environments
// share is judged by itself, whatever else is wrong at the time. The only error
// is that ctx has ended.
func Files(ctx context.Context, s Source) (Report, error) {
	subject := Subject{Model: model.LoadFiles(s.Tree, s.Reference.Path), Trees: []Source{s}}
	e := &examination{Subject: subject, objects: objectsOf(subject.Model)}
	for _, rule := range []func(){
		e.diagnostics,
		func() { e.templateTexts(ctx) },
		func() { e.schemaTexts(ctx) },
		e.configKeys,
		e.labels,
		e.placeholders,
	} {
		if rule(); ctx.Err() != nil {
			return Report{}, fmt.Errorf("validating %s: %w", s.Reference.Repo, context.Cause(ctx))
		}
	}
	for i := range e.findings {
		e.findings[i].Environments = nil
	}
	report := Report{Environments: []string{}}
	report.Findings, report.Suppressed = suppress(merge(e.findings, []*examination{e}), []Subject{subject})
	fingerprint(report.Findings)
	return report, nil
}
