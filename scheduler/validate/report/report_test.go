package report_test

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/kalypso-dev/kalypso/internal/testkit/validatetest"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/model/modeltest"
	"github.com/kalypso-dev/kalypso/scheduler/validate"
	"github.com/kalypso-dev/kalypso/scheduler/validate/report"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// mistakes validates a model that has findings of all severities in several
// repositories, silenced ones, and policy tests that pass and fail.
func mistakes(t *testing.T) validate.Report {
	t.Helper()
	archive, err := os.ReadFile("../testdata/sound.txtar")
	if err != nil {
		t.Fatal(err)
	}
	repos := modeltest.Parse(string(archive))
	for _, rule := range []string{"policy-test", "unused-template", "duplicate-object", "invalid-schema", "missing-object"} {
		changes, err := txtar.ParseFile("../testdata/rules/" + rule + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		if err := validatetest.Change(repos, changes, ""); err != nil {
			t.Fatal(err)
		}
	}
	in, err := validatetest.Input(repos, "control")
	if err != nil {
		t.Fatal(err)
	}
	in.RunTests = true
	r, err := validate.Validate(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// golden compares a text with a file of testdata, or rewrites the file.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := "testdata/" + name
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; run go test -update to write it", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func TestText(t *testing.T) {
	golden(t, "report.txt", report.Text(mistakes(t), report.Style{}))
}

func TestTextWithAStyle(t *testing.T) {
	r := validate.Report{Environments: []string{"dev"}, Findings: []validate.Finding{
		{Rule: "a", Severity: validate.Warning, Position: model.Position{Repo: "r", Branch: "dev", File: "f.yaml", Line: 3}, Message: "first\nsecond", Hint: "hint", Environments: []string{"dev"}},
		{Rule: "b", Severity: validate.Note, Position: model.Position{Repo: "r", Branch: "dev", File: "g.yaml"}, Message: "third",
			Assignments: []validate.Assignment{{Environment: "dev", ClusterType: "c", Target: "t"}}},
	}}
	got := report.Text(r, report.Style{
		Path:  func(p model.Position) string { return "clone/" + p.File },
		Paint: func(s model.Severity, text string) string { return strings.ToUpper(text) + string(s[0]) },
		Faint: func(text string) string { return "(" + text + ")" },
	})
	want := `(# r@dev)

clone/f.yaml:3: WARNING:w first ([a])
    second
    hint

clone/g.yaml: NOTE:n third ([b])
    (concerns c/t)
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

func TestJSON(t *testing.T) {
	r := mistakes(t)
	got, err := report.JSON(r)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "report.json", got)
	var d validate.Report
	if err := json.Unmarshal(got, &d); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, d, cmpopts.IgnoreUnexported(validate.Finding{})); diff != "" {
		t.Errorf("what is read is not what was written (-want +got):\n%s", diff)
	}
	s := d.Summary
	if s.Errors+s.Warnings+s.Notes != len(d.Findings) || s.TestsPassed+s.TestsFailed != len(d.Tests) || s.Errors == 0 || s.Notes == 0 || s.TestsPassed == 0 || s.TestsFailed == 0 {
		t.Errorf("summary %+v of %d findings and %d tests", s, len(d.Findings), len(d.Tests))
	}
}

func TestNothingFoundIsAnEmptyList(t *testing.T) {
	nothing, err := validate.Validate(t.Context(), validate.Input{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := report.JSON(nothing)
	if err != nil || !strings.Contains(string(got), `"findings": []`) || !strings.Contains(string(got), `"environments": []`) {
		t.Errorf("%s: %v", got, err)
	}
	if text := report.Text(validate.Report{}, report.Style{}); len(text) > 0 {
		t.Errorf("text %q", text)
	}
}

func TestSummary(t *testing.T) {
	one, two := []string{"dev"}, []string{"dev", "stage"}
	for _, c := range []struct {
		environments []string
		counts       validate.Counts
		want         string
	}{
		{nil, validate.Counts{}, "no findings in the files"},
		{one, validate.Counts{Suppressed: 2}, "no findings in 1 environment (dev); 2 silenced by comments"},
		{two, validate.Counts{Errors: 2, Notes: 1, TestsPassed: 2, TestsFailed: 1}, "2 errors, 1 note in 2 environments (dev, stage); 2 of 3 policy tests passed"},
		{one, validate.Counts{Warnings: 1, TestsFailed: 1}, "1 warning in 1 environment (dev); 0 of 1 policy test passed"},
		{one, validate.Counts{TestsPassed: 1, TestsNotRun: 2}, "no findings in 1 environment (dev); 1 of 3 policy tests passed, 2 not run for mistakes in their files"},
	} {
		if got := report.Summary(validate.Report{Environments: c.environments, Summary: c.counts}); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
