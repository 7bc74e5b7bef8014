package validate_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/internal/testkit/validatetest"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/model/modeltest"
	"github.com/kalypso-dev/kalypso/scheduler/validate"
	"github.com/kalypso-dev/kalypso/scheduler/validate/report"
	"github.com/rogpeppe/go-internal/txtar"
)

// broken returns the sound model with the changes of some rules' archives.
func broken(t *testing.T, rules ...string) *modeltest.Repositories {
	t.Helper()
	repos := sound(t)
	for _, rule := range rules {
		archive, err := txtar.ParseFile("testdata/rules/" + rule + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		if err := validatetest.Change(repos, archive, ""); err != nil {
			t.Fatal(err)
		}
	}
	return repos
}

func fingerprints(r validate.Report) []string {
	var all []string
	for _, f := range r.Findings {
		all = append(all, f.Rule+" "+f.Fingerprint)
	}
	slices.Sort(all)
	return all
}

func TestFingerprintsStayWhenLinesMove(t *testing.T) {
	repos := broken(t, "duplicate-object", "template-error", "not-kubernetes", "ambiguous-name", "policy-no-target")
	before := validated(t, repos)
	all := fingerprints(before)
	if len(slices.Compact(slices.Clone(all))) != len(all) || len(all) < 8 {
		t.Fatalf("findings share fingerprints: %v", all)
	}
	for _, branch := range []string{"control@main", "control@dev", "a@main", "a-b@main"} {
		repo, name, _ := strings.Cut(branch, "@")
		for path, content := range repos.Tree(repo, name).Files {
			if strings.HasSuffix(path, ".yaml") {
				repos.Write(repo, name, path, slices.Concat([]byte("# a line more\n\n"), content))
			}
		}
	}
	after := validated(t, repos)
	if diff := cmp.Diff(all, fingerprints(after)); diff != "" {
		t.Errorf("fingerprints (-before +after):\n%s", diff)
	}
	if before.Findings[0].Position == after.Findings[0].Position {
		t.Error("no line has moved")
	}
}

func TestTheOrderOfEnvironmentsDoesNotMatter(t *testing.T) {
	repos := broken(t, "unmatched-config", "invalid-config", "unused-template", "policy-test", "unknown-environment")
	in, err := validatetest.Input(repos, "control")
	if err != nil {
		t.Fatal(err)
	}
	in.RunTests = true
	forth, err := report.JSON(mustValidate(t, in))
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(in.Subjects)
	back, err := report.JSON(mustValidate(t, in))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(forth, back) {
		t.Errorf("reports (-forth +back):\n%s", cmp.Diff(string(forth), string(back)))
	}
}

// TestUnusedIsWhatNoEnvironmentUses looks at a template of the base that only
// stage names.
func TestUnusedIsWhatNoEnvironmentUses(t *testing.T) {
	in, err := validatetest.Input(broken(t, "unused-template"), "control")
	if err != nil {
		t.Fatal(err)
	}
	unused := func(in validate.Input) []string {
		var names []string
		for _, f := range mustValidate(t, in).Findings {
			if f.Rule == validate.UnusedTemplate {
				names = append(names, f.Message+" in "+strings.Join(f.Environments, ", "))
			}
		}
		return names
	}
	if diff := cmp.Diff([]string{"no cluster type names template unused in dev, stage"}, unused(in)); diff != "" {
		t.Errorf("both environments (-want +got):\n%s", diff)
	}
	in.Subjects = in.Subjects[:1]
	if diff := cmp.Diff([]string{"no cluster type names template argocd in dev", "no cluster type names template unused in dev"}, unused(in)); diff != "" {
		t.Errorf("dev alone (-want +got):\n%s", diff)
	}
}

// TestErrorsCannotBeSilenced puts a comment where an error is, and where it
// belongs to another line.
func TestComments(t *testing.T) {
	for _, c := range []struct {
		name, line   string
		rule         string
		found, gone  int
		rest, policy string
	}{
		{name: "same line", line: "    labelSelector: {} # kalypso:ignore empty-selector\n", rule: validate.EmptySelector, gone: 1},
		{name: "line above, with a reason", line: "    # all of them, see #12: kalypso:ignore unused-template, empty-selector\n    labelSelector: {}\n", rule: validate.EmptySelector, gone: 1},
		{name: "another rule", line: "    labelSelector: {} # kalypso:ignore unused-template\n", rule: validate.EmptySelector, found: 1},
		{name: "line below", line: "    labelSelector: {}\n    # kalypso:ignore empty-selector\n", rule: validate.EmptySelector, found: 1},
		{name: "end of the line above", line: "    # a\n    labelSelector: {} \n", rule: validate.EmptySelector, found: 1},
		{name: "an error", line: "    labelSelecter: {} # kalypso:ignore unknown-field\n", rule: model.UnknownField, found: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			repos := sound(t)
			repos.Write("control", "stage", "policies/uat.yaml", []byte("apiVersion: scheduler.kalypso.io/v1alpha1\nkind: SchedulingPolicy\nmetadata: {name: uat-policy}\nspec:\n"+
				"  deploymentTargetSelector:\n    labelSelector: {matchLabels: {purpose: uat-test}}\n  clusterTypeSelector:\n"+c.line))
			r := validated(t, repos)
			found := 0
			for _, f := range r.Findings {
				if f.Rule == c.rule {
					found++
				}
			}
			if found != c.found || r.Summary.Suppressed != c.gone {
				t.Errorf("%d findings and %d silenced, want %d and %d", found, r.Summary.Suppressed, c.found, c.gone)
			}
		})
	}
}

func TestEnvironmentObjects(t *testing.T) {
	repos := sound(t)
	repos.Write("control", "main", ".environments/stage.yaml", []byte("apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Environment\nmetadata: {name: stage}\nspec: {controlPlan: {}}\n"))
	r := validated(t, repos)
	var got []string
	for _, f := range r.Findings {
		got = append(got, f.Rule+" "+strings.Join(f.Environments, ", "))
	}
	// Whether stage exists is not known, so a target for it is no finding.
	if diff := cmp.Diff([]string{"missing-field ", "unknown-field "}, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

func TestSeveritiesOfAReport(t *testing.T) {
	for _, c := range []struct {
		rule                    string
		errors, warnings, notes bool // Reaches
	}{
		{"invalid-config", true, true, true},
		{"empty-selector", false, true, true},
		{"unused-template", false, false, true},
	} {
		r := validated(t, broken(t, c.rule))
		if r.Reaches(validate.Error) != c.errors || r.Reaches(validate.Warning) != c.warnings || r.Reaches(validate.Note) != c.notes {
			t.Errorf("%s: %d errors, %d warnings, %d notes", c.rule, r.Summary.Errors, r.Summary.Warnings, r.Summary.Notes)
		}
	}
	if (validate.Report{}).Reaches(validate.Note) {
		t.Error("an empty report reaches something")
	}
}

func TestTestsAreOnlyRunWhenAsked(t *testing.T) {
	in, err := validatetest.Input(broken(t, "policy-test"), "control")
	if err != nil {
		t.Fatal(err)
	}
	if r := mustValidate(t, in); len(r.Findings)+len(r.Tests) > 0 {
		t.Errorf("findings %v, tests %v", r.Findings, r.Tests)
	}
	in.RunTests = true
	r := mustValidate(t, in)
	if len(r.Tests) != 6 || !has(r, validate.FailedTest) {
		t.Errorf("findings %v, tests %v", r.Findings, r.Tests)
	}
}

func TestTrees(t *testing.T) {
	repos := sound(t)
	in, err := validatetest.Input(repos, "control")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range in.Subjects[0].Trees {
		ref := s.Reference
		ref.Commit = ""
		got = append(got, ref.String())
	}
	if diff := cmp.Diff([]string{"control@dev", "control@main"}, got); diff != "" {
		t.Errorf("sources of dev (-want +got):\n%s", diff)
	}
	given := func(_ context.Context, kind, _ string, ref model.Reference) (model.Reference, error) {
		if kind == "WorkloadRegistration" {
			ref.Repo, ref.Path = modeltest.Forge+"given", ""
		}
		return ref, nil
	}
	repos.Write("given", "main", "workload.yaml", repos.Tree("hello", "main").Files["workload/workload.yaml"])
	substituted, err := model.LoadEnvironment(t.Context(), repos, "dev", model.Reference{Repo: modeltest.Forge + "control", Branch: "dev"}, model.Substitute(given))
	if err != nil {
		t.Fatal(err)
	}
	if trees, err := validate.Trees(t.Context(), repos, substituted); err != nil || len(substituted.Workloads) != 1 || len(trees) != 2 {
		t.Errorf("with a workload that somebody has given: %d sources, %v", len(trees), err)
	}
	env := *in.Subjects[0].Model
	env.Sources = append(slices.Clone(env.Sources), model.Reference{Repo: modeltest.Forge + "gone", Branch: "main"})
	if trees, err := validate.Trees(context.Background(), repos, &env); err != nil || len(trees) != 2 {
		t.Errorf("with one that is gone: %d sources, %v", len(trees), err)
	}
	repos.Errors["control@main"] = errors.New("no network")
	if _, err := validate.Trees(context.Background(), repos, &env); err == nil || !strings.Contains(err.Error(), "environment dev: no network") {
		t.Errorf("a read error is %v", err)
	}
}

// mustValidate validates, and fails the test when there is an error.
func mustValidate(t testing.TB, in validate.Input) validate.Report {
	t.Helper()
	r, err := validate.Validate(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
