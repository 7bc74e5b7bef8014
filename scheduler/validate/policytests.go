package validate

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/kalypso-dev/kalypso/scheduler/clause"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/validate/policytest"
)

// tests reads the policy tests of the environment's repositories, reports
// files that are not as they must be, and runs the tests when asked to. A test
// that fails is a finding too.
func (e *examination) tests(ctx context.Context, run bool) error {
	read := map[model.Position]bool{} // folders may lie in each other
	for _, s := range e.Trees {
		exposed := model.Files(s.Tree, s.Reference.Path)
		for _, file := range slices.Sorted(maps.Keys(s.Tree.Files)) {
			if !policytest.IsFile(file) || !model.Within(file, s.Reference.Path) {
				continue
			}
			at := model.Position{Repo: s.Reference.Repo, Branch: s.Reference.Branch, File: file}
			if read[at] {
				continue
			}
			read[at] = true
			if slices.Contains(exposed, file) {
				e.report(Finding{
					Rule: ExposedTests, Severity: Warning, Position: at,
					Message: "Flux would try to apply this file of policy tests, and fail",
					Hint:    "write *.policytest.yaml into .sourceignore",
				})
			}
			tests, diagnostics := policytest.Load(at, s.Tree.Files[file])
			for _, d := range diagnostics {
				e.report(Finding{Rule: InvalidTest, Severity: Error, Position: d.Position, Message: d.Message, Hint: d.Hint})
			}
			if run && len(diagnostics) > 0 {
				e.unread[at] = policytest.Count(s.Tree.Files[file])
			}
			e.wrongEnvironments(tests, s)
			if run {
				if err := e.run(ctx, tests); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// wrongEnvironments reports tests that will never be run: for an environment
// that does not exist, or on the branch of another one.
func (e *examination) wrongEnvironments(tests []policytest.Test, s Source) {
	own := sameFolder(s.Reference, e.Model.ControlPlane)
	for _, t := range tests {
		name := t.Environment.Text
		f := Finding{Rule: InvalidTest, Severity: Error, Position: t.Environment.Position}
		switch {
		case name == "" || name == e.Model.Name:
			continue
		case !e.exists(name):
			f.Message = fmt.Sprintf("policy test %q is for environment %s, which does not exist", t.Name, name)
			f.Hint = clause.Suggest([]string{name}, "environments are", e.known)
		case own:
			f.Message = fmt.Sprintf("policy test %q is for environment %s, and this is the branch of %s", t.Name, name, e.Model.Name)
			f.Hint = "move it to that environment's branch, or to the base repository"
		default:
			continue
		}
		e.report(f)
	}
}

func (e *examination) run(ctx context.Context, tests []policytest.Test) error {
	results, err := policytest.Run(ctx, tests, e.Model, e.plan)
	if err != nil {
		return err
	}
	for _, r := range results {
		e.results = append(e.results, r)
		for _, f := range r.Failures {
			e.report(Finding{
				Rule: FailedTest, Severity: Error, Position: f.Position,
				Message: fmt.Sprintf("policy test %q fails: %s", r.Name, f.Message),
				Hint:    f.Reason,
			})
		}
	}
	return nil
}
