package validate

import (
	"context"
	"fmt"
	"strconv"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
	"github.com/kalypso-dev/kalypso/scheduler/validate/whatif"
)

// schemaTexts reports ConfigSchemas whose schema is none, whether or not they
// are used.
func (e *examination) schemaTexts(ctx context.Context) {
	for _, s := range e.Model.ConfigSchemas {
		e.schema(ctx, s.Spec.Schema, s.At("spec", "schema"), Finding{object: objectOf(v1alpha1.KindConfigSchema, s)})
	}
}

// schemas reports workloads' schemas that are none, and ConfigSchemas that ask
// nothing of anybody.
func (e *examination) schemas(ctx context.Context) {
	for _, s := range e.Model.ConfigSchemas {
		like := Finding{object: objectOf(v1alpha1.KindConfigSchema, s)}
		if why, bad := e.unmatched(s.Labels); bad {
			like.Rule, like.Severity, like.unused = UnmatchedSchema, Warning, true
			like.Position = s.At(append([]string{"metadata", "labels"}, why.path...)...)
			like.Message = fmt.Sprintf("ConfigSchema %s applies to nothing: %s", s.Name, why.message)
			like.Hint = why.hint
			e.report(like)
		}
	}
	for _, w := range e.Model.Workloads {
		like := Finding{object: objectOf(v1alpha1.KindWorkload, w.Object)}
		for i, text := range w.Spec.ConfigSchemas {
			e.schema(ctx, text, w.At("spec", "configSchemas", strconv.Itoa(i)), like)
		}
		for n, t := range w.Spec.DeploymentTargets {
			if t.Environment != e.Model.Name {
				continue
			}
			for i, text := range t.ConfigSchemas {
				e.schema(ctx, text, w.At("spec", "deploymentTargets", strconv.Itoa(n), "configSchemas", strconv.Itoa(i)), like)
			}
		}
	}
}

// schema reports what is wrong with one JSON schema. An empty one stands for
// a schema that could not be read, which the model has reported.
func (e *examination) schema(ctx context.Context, text string, position model.Position, like Finding) {
	if text == "" {
		return
	}
	problems, err := whatif.SchemaProblems(ctx, text, position)
	if err != nil {
		return
	}
	for _, p := range problems {
		e.report(e.fromProblem(p))
	}
	if len(problems) > 0 {
		return
	}
	for _, m := range misspelledKeywords(text) {
		f := like
		f.Rule, f.Severity, f.Position = SchemaKeyword, Warning, position
		f.Message = fmt.Sprintf("%s is no keyword of JSON schema, so it asks for nothing", m.path)
		f.Hint = fmt.Sprintf("did you mean %s?", m.near)
		e.report(f)
	}
}
