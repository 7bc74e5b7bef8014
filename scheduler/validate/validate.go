package validate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/validate/policytest"
)

// Input is a control plane to validate.
type Input struct {
	Known       []string           // the names of all environments, validated or not; none: unknown
	Diagnostics []model.Diagnostic // about the Environment objects
	Subjects    []Subject          // the environments to validate
	RunTests    bool               // run policy tests, which are otherwise only read
	Explain     policytest.Explainer
}

// Subject is one environment and what it was made from.
type Subject struct {
	Model *model.Environment
	// Trees are the environment's branch and its base repositories, for what is
	// no part of the model. Without them the rules about such things find
	// nothing.
	Trees []Source
	// NoGitOps says that the GitOps branch was looked for and is not there.
	NoGitOps bool
}

// Source is a repository that an environment was read from.
type Source struct {
	Reference model.Reference
	Tree      *model.Tree
}

// Validate applies all rules. The same input gives the same report. The only
// error is that ctx has ended.
func Validate(ctx context.Context, in Input) (Report, error) {
	var all []*examination
	var findings []Finding
	for _, d := range in.Diagnostics {
		findings = append(findings, fromDiagnostic(d, Finding{}))
	}
	known := in.Known
	if slices.ContainsFunc(in.Diagnostics, func(d model.Diagnostic) bool { return d.Severity == Error }) {
		known = nil // one that cannot be read may be missing among them
	}
	report := Report{Environments: []string{}}
	unread := map[model.Position]int{} // environments share base repositories
	for _, s := range in.Subjects {
		e, err := examine(ctx, s, known)
		if err != nil {
			return Report{}, err
		}
		if err := e.tests(ctx, in.RunTests, in.Explain); err != nil {
			return Report{}, err
		}
		all = append(all, e)
		report.Environments = append(report.Environments, s.Model.Name)
		report.Tests = append(report.Tests, e.results...)
		maps.Copy(unread, e.unread)
	}
	sharedGitOps(all)
	for _, e := range all {
		findings = append(findings, e.findings...)
	}
	for _, tests := range unread {
		report.TestsNotRun += tests
	}
	slices.Sort(report.Environments)
	slices.SortFunc(report.Tests, func(a, b policytest.Result) int {
		return cmp.Or(model.ComparePositions(a.Test.Position, b.Test.Position), cmp.Compare(a.Environment, b.Environment))
	})
	findings = merge(findings, all)
	report.Findings, report.Suppressed = suppress(findings, in.Subjects)
	fingerprint(report.Findings)
	return report, nil
}

// examination is one environment while rules are applied to it.
type examination struct {
	Subject
	known    []string // all environments; none: unknown
	plan     *plan.Plan
	objects  []object
	findings []Finding
	results  []policytest.Result
	unread   map[model.Position]int // tests of files with mistakes, by file
}

// examine applies the rules that look at one environment. A rule that is cut
// short because ctx ends need not say so.
func examine(ctx context.Context, s Subject, known []string) (*examination, error) {
	p, err := plan.New(ctx, s.Model, nil)
	if err != nil {
		return nil, err
	}
	e := &examination{Subject: s, known: known, plan: p, objects: objectsOf(s.Model), unread: map[model.Position]int{}}
	for _, rule := range []func(){
		e.diagnostics,
		e.problems,
		e.policies,
		e.clusterTypes,
		func() { e.templateTexts(ctx) },
		e.templates,
		e.configKeys,
		e.configs,
		func() { e.schemaTexts(ctx) },
		func() { e.schemas(ctx) },
		e.workloads,
		e.labels,
		e.references,
		e.rendered,
	} {
		if rule(); ctx.Err() != nil {
			return nil, fmt.Errorf("validating environment %s: %w", s.Model.Name, context.Cause(ctx))
		}
	}
	return e, nil
}

// report keeps a finding about this environment.
func (e *examination) report(f Finding) {
	f.Environments = []string{e.Model.Name}
	e.findings = append(e.findings, f)
}

// branch is the place of what concerns the environment as a whole.
func (e *examination) branch() model.Position {
	ref := e.Model.ControlPlane
	return model.Position{Repo: ref.Repo, Branch: ref.Branch, File: cleanFolder(ref.Path)}
}

// exists says whether there is, or may be, an environment of that name.
func (e *examination) exists(environment string) bool {
	return len(e.known) == 0 || slices.Contains(e.known, environment)
}
