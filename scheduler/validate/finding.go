package validate

import (
	"cmp"
	"slices"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/validate/policytest"
)

// The severities of findings.
const (
	Error   = model.Error   // something is left out or will not work
	Warning = model.Warning // it works, and probably not as it was meant
	Note    = model.Severity("note")
)

// Severities lists all severities, the worst first.
func Severities() []model.Severity { return []model.Severity{Error, Warning, Note} }

// Finding is one thing that somebody should look at.
type Finding struct {
	Rule         string // the ID of one of Rules
	Severity     model.Severity
	Position     model.Position
	Message      string
	Hint         string       // what to do, "" when the message says it
	Environments []string     // that it concerns, sorted; none: the control plane as a whole
	Assignments  []Assignment // that it concerns, sorted; none: no single one
	// Fingerprint identifies the finding across runs. It does not change when
	// lines move.
	Fingerprint string

	object object // that it is about; zero when unknown
	field  string // of the object that it is about; "" for the object as a whole
	unused bool   // it says that this is not used, which only all environments together can know
}

// Assignment is a deployment target on a cluster type.
type Assignment struct {
	Environment string
	ClusterType string
	Target      string
}

func compareAssignments(a, b Assignment) int {
	return cmp.Or(
		cmp.Compare(a.Environment, b.Environment),
		cmp.Compare(a.ClusterType, b.ClusterType),
		cmp.Compare(a.Target, b.Target),
	)
}

// Report is the outcome of a validation.
type Report struct {
	Environments []string            // that were looked at, sorted
	Findings     []Finding           // sorted by place
	Tests        []policytest.Result // that were run, sorted by place, then environment
	TestsNotRun  int                 // those of files with mistakes
	Suppressed   int                 // findings that a comment in the file silences
}

// Count returns how many findings have a severity.
func (r Report) Count(severity model.Severity) int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == severity {
			n++
		}
	}
	return n
}

// Reaches says whether any finding is as bad as a severity, or worse.
func (r Report) Reaches(severity model.Severity) bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return rank(f.Severity) <= rank(severity) })
}

// rank orders severities, the worst first.
func rank(severity model.Severity) int { return slices.Index(Severities(), severity) }

func compareFindings(a, b Finding) int {
	return cmp.Or(
		model.ComparePositions(a.Position, b.Position),
		cmp.Compare(rank(a.Severity), rank(b.Severity)),
		cmp.Compare(a.Rule, b.Rule),
		cmp.Compare(a.Message, b.Message),
		cmp.Compare(a.Hint, b.Hint),
	)
}
