package report

import (
	"encoding/json"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/validate"
)

// Version is the version of the JSON document's form. Fields may be added
// under the same version.
const Version = 1

// Document is a report as JSON.
type Document struct {
	Version      int       `json:"version"`
	Environments []string  `json:"environments"`
	Summary      Counts    `json:"summary"`
	Findings     []Finding `json:"findings"`        // by place
	Tests        []Test    `json:"tests,omitempty"` // by place, then environment
}

// Counts are the numbers of a report.
type Counts struct {
	Errors      int `json:"errors"`
	Warnings    int `json:"warnings"`
	Notes       int `json:"notes"`
	Suppressed  int `json:"suppressed"`
	TestsPassed int `json:"testsPassed"`
	TestsFailed int `json:"testsFailed"`
	TestsNotRun int `json:"testsNotRun"`
}

// Position is a place in a repository.
type Position struct {
	Repo   string `json:"repo,omitempty"`
	Branch string `json:"branch,omitempty"`
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`   // from 1
	Column int    `json:"column,omitempty"` // from 1
}

// Finding is a finding as JSON.
type Finding struct {
	Rule         string         `json:"rule"`
	Severity     model.Severity `json:"severity"`
	Position     Position       `json:"position"`
	Message      string         `json:"message"`
	Hint         string         `json:"hint,omitempty"`
	Environments []string       `json:"environments,omitempty"`
	Assignments  []Assignment   `json:"assignments,omitempty"`
	Fingerprint  string         `json:"fingerprint"`
}

// Assignment is an assignment as JSON.
type Assignment struct {
	Environment string `json:"environment"`
	ClusterType string `json:"clusterType"`
	Target      string `json:"target"`
}

// Test is the result of a policy test in an environment.
type Test struct {
	Name        string    `json:"name"`
	Environment string    `json:"environment"`
	Position    Position  `json:"position"`
	Passed      bool      `json:"passed"`
	Failures    []Failure `json:"failures,omitempty"`
}

// Failure is an expectation that does not hold.
type Failure struct {
	Position Position `json:"position"`
	Message  string   `json:"message"`
	Reason   string   `json:"reason,omitempty"`
}

// NewDocument makes the document of a report.
func NewDocument(r validate.Report) Document {
	d := Document{
		Version:      Version,
		Environments: r.Environments,
		Findings:     []Finding{},
		Summary: Counts{
			Errors: r.Count(validate.Error), Warnings: r.Count(validate.Warning), Notes: r.Count(validate.Note),
			Suppressed: r.Suppressed, TestsNotRun: r.TestsNotRun,
		},
	}
	for _, f := range r.Findings {
		d.Findings = append(d.Findings, Finding{
			Rule: f.Rule, Severity: f.Severity, Position: Position(f.Position), Message: f.Message, Hint: f.Hint,
			Environments: f.Environments, Assignments: assignments(f), Fingerprint: f.Fingerprint,
		})
	}
	for _, t := range r.Tests {
		test := Test{Name: t.Test.Name, Environment: t.Environment, Position: Position(t.Test.Position), Passed: len(t.Failures) == 0}
		for _, f := range t.Failures {
			test.Failures = append(test.Failures, Failure{Position(f.Position), f.Message, f.Reason})
		}
		if test.Passed {
			d.Summary.TestsPassed++
		} else {
			d.Summary.TestsFailed++
		}
		d.Tests = append(d.Tests, test)
	}
	return d
}

func assignments(f validate.Finding) []Assignment {
	var all []Assignment
	for _, a := range f.Assignments {
		all = append(all, Assignment(a))
	}
	return all
}

// JSON writes a report as a Document.
func JSON(r validate.Report) ([]byte, error) { return encode(NewDocument(r)) }

func encode(v any) ([]byte, error) {
	content, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(content, '\n'), nil
}
