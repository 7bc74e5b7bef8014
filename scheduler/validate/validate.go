// Package validate finds everything that is wrong or doubtful about a control
// plane before it is published: what the model reports, what the plan reports,
// and what neither reports, such as a policy that selects nothing because of a
// misspelled label.
//
// [Validate] takes environments and returns a [Report] of findings, each with a
// stable rule ID (see [Rules]) and a position. It reads nothing; [Trees] reads
// beforehand what it needs beyond the model.
//
// Environments share a base, so one mistake there is found once in each of them,
// and what one environment does not use another one may. Therefore equal
// findings are merged into one that lists its environments, and an object counts
// as unused only when no environment that has it uses it.
package validate

import (
	"cmp"
	"context"
	"errors"
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
	// Planner plans the environment; nil for a new one. It plans nothing else: what is on
	// the GitOps branch is no matter of validation.
	Planner *plan.Planner
}

// Source is a repository that an environment was read from.
type Source struct {
	Reference model.Reference
	Tree      *model.Tree
}

// Validate applies all rules. The same input gives the same report. The only
// error is that ctx has ended.
func Validate(ctx context.Context, in Input) (Report, error) {
	known := in.Known
	if len(model.Errors(in.Diagnostics)) > 0 {
		known = nil // one that cannot be read may be missing among them
	}
	var all []*examination
	environments := []string{}
	for _, s := range in.Subjects {
		e, err := examine(ctx, s, known)
		if err != nil {
			return Report{}, err
		}
		if err := e.tests(ctx, in.RunTests); err != nil {
			return Report{}, err
		}
		all = append(all, e)
		environments = append(environments, s.Model.Name)
	}
	slices.Sort(environments)
	sharedGitOps(all)
	var findings []Finding
	for _, d := range in.Diagnostics {
		findings = append(findings, fromDiagnostic(d))
	}
	var tests []policytest.Result
	notRun := map[model.Position]int{} // environments share base repositories
	for _, e := range all {
		findings = append(findings, e.findings...)
		tests = append(tests, e.results...)
		maps.Copy(notRun, e.unread)
	}
	slices.SortFunc(tests, func(a, b policytest.Result) int {
		return cmp.Or(model.ComparePositions(a.Position, b.Position), cmp.Compare(a.Environment, b.Environment))
	})
	report := newReport(environments, merge(findings, all), tests, in.Subjects)
	for _, tests := range notRun {
		report.Summary.TestsNotRun += tests
	}
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
	planner := s.Planner
	if planner == nil {
		planner = new(plan.Planner)
	}
	p, err := planner.New(ctx, s.Model, nil)
	if err != nil {
		return nil, err
	}
	e := &examination{Subject: s, known: known, plan: p, objects: objectsOf(s.Model), unread: map[model.Position]int{}}
	for _, rule := range []func(){
		e.diagnostics,
		e.problems,
		e.policies,
		e.clusterTypes,
		e.rollouts,
		func() { e.templateTexts(ctx) },
		e.templates,
		e.configKeys,
		e.secretKeys,
		e.configs,
		func() { e.schemaTexts(ctx) },
		func() { e.schemas(ctx) },
		e.workloads,
		e.labels,
		e.references,
		e.passedOver,
		e.rendered,
	} {
		if rule(); ctx.Err() != nil {
			return nil, fmt.Errorf("validating environment %s: %w", s.Model.Name, context.Cause(ctx))
		}
	}
	return e, nil
}

func (e *examination) report(f Finding) {
	f.Environments = []string{e.Model.Name}
	e.findings = append(e.findings, f)
}

// branch is the place of what concerns the environment as a whole.
func (e *examination) branch() model.Position {
	ref := e.Model.ControlPlane
	return model.Position{Repo: ref.Repo, Branch: ref.Branch, File: model.CleanFolder(ref.Path)}
}

// exists reports whether there is, or may be, an environment of that name.
func (e *examination) exists(environment string) bool {
	return len(e.known) == 0 || slices.Contains(e.known, environment)
}

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
		e.secretKeys,
		e.labels,
		e.placeholders,
		e.passedOver,
	} {
		if rule(); ctx.Err() != nil {
			return Report{}, fmt.Errorf("validating %s: %w", s.Reference.Repo, context.Cause(ctx))
		}
	}
	for i := range e.findings {
		e.findings[i].Environments = nil
	}
	return newReport([]string{}, merge(e.findings, []*examination{e}), nil, []Subject{subject}), nil
}

// Trees reads once more what an environment was loaded from: its own branch
// and its base repositories, but not those of its workloads, which belong to
// others. The reader should be the one that the environment was loaded with;
// a repository that is not there is left out, because the model has reported
// it.
func Trees(ctx context.Context, r model.Reader, env *model.Environment) ([]Source, error) {
	var sources []Source
	for _, ref := range env.Sources {
		if isWorkload(env, ref) {
			continue
		}
		tree, err := r.Read(ctx, ref)
		if errors.Is(err, model.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s of environment %s: %w", ref, env.Name, err)
		}
		sources = append(sources, Source{Reference: ref, Tree: tree})
	}
	return sources, nil
}

// isWorkload reports whether a source was read for a registration only: for what
// that says, or for what somebody has given in its place.
func isWorkload(env *model.Environment, ref model.Reference) bool {
	if sameFolder(ref, env.ControlPlane) {
		return false
	}
	registered := slices.ContainsFunc(env.Registrations, func(r model.WorkloadRegistration) bool {
		w := r.Spec.Workload
		return sameFolder(ref, model.Reference{Repo: w.Repo, Branch: w.Branch, Path: w.Path})
	})
	return registered || slices.ContainsFunc(env.Workloads, func(w model.Workload) bool {
		at := w.Position
		return at.Repo != w.Registration.Spec.Workload.Repo && at.Repo == ref.Repo && at.Branch == ref.Branch && model.Within(at.File, ref.Path)
	})
}

// sameFolder reports whether two references name the same place, at whatever
// commit.
func sameFolder(a, b model.Reference) bool {
	return a.Repo == b.Repo && a.Branch == b.Branch && model.CleanFolder(a.Path) == model.CleanFolder(b.Path)
}

func unique(names []string) []string {
	names = slices.Sorted(slices.Values(names))
	return slices.Compact(names)
}
