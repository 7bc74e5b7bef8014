package validate

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"

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

// Finding is a mistake, or what is likely to be one.
type Finding struct {
	Rule         string         `json:"rule"` // the ID of one of Rules
	Severity     model.Severity `json:"severity"`
	Position     model.Position `json:"position"`
	Message      string         `json:"message"`
	Hint         string         `json:"hint,omitempty"`         // what to do, "" when the message says it
	Environments []string       `json:"environments,omitempty"` // that it concerns, sorted; none: the control plane as a whole
	Assignments  []Assignment   `json:"assignments,omitempty"`  // that it concerns, sorted; none: no single one
	// Fingerprint identifies the finding across runs. It does not change when
	// lines move.
	Fingerprint string `json:"fingerprint"`

	object object // that it is about; zero when unknown
	field  string // of the object that it is about; "" for the object as a whole
	unused bool   // it is about what is not used, which is known from all environments together
}

// Assignment is a deployment target on a cluster type.
type Assignment struct {
	Environment string `json:"environment"`
	ClusterType string `json:"clusterType"`
	Target      string `json:"target"`
}

func compareAssignments(a, b Assignment) int {
	return cmp.Or(
		cmp.Compare(a.Environment, b.Environment),
		cmp.Compare(a.ClusterType, b.ClusterType),
		cmp.Compare(a.Target, b.Target),
	)
}

// ReportVersion is the version of the form that a Report has as JSON. Fields
// may be added under the same version.
const ReportVersion = 1

// Report is the outcome of a validation.
type Report struct {
	Version      int                 `json:"version"`      // ReportVersion
	Environments []string            `json:"environments"` // that were validated, sorted
	Summary      Counts              `json:"summary"`
	Findings     []Finding           `json:"findings"`        // sorted by position
	Tests        []policytest.Result `json:"tests,omitempty"` // that were run, sorted by position, then environment
}

// Counts are the numbers of a report.
type Counts struct {
	Errors      int `json:"errors"`
	Warnings    int `json:"warnings"`
	Notes       int `json:"notes"`
	Suppressed  int `json:"suppressed"` // findings that a comment in the file silences
	TestsPassed int `json:"testsPassed"`
	TestsFailed int `json:"testsFailed"`
	TestsNotRun int `json:"testsNotRun"` // those of files with mistakes
}

// newReport makes a report of what was found in some environments. It drops
// the findings that comments silence.
func newReport(environments []string, findings []Finding, tests []policytest.Result, subjects []Subject) Report {
	r := Report{Version: ReportVersion, Environments: environments, Tests: tests}
	r.Findings, r.Summary.Suppressed = suppress(findings, subjects)
	fingerprint(r.Findings)
	for _, f := range r.Findings {
		switch f.Severity {
		case Error:
			r.Summary.Errors++
		case Warning:
			r.Summary.Warnings++
		case Note:
			r.Summary.Notes++
		}
	}
	for _, t := range tests {
		if t.Passed {
			r.Summary.TestsPassed++
		} else {
			r.Summary.TestsFailed++
		}
	}
	return r
}

// Reaches reports whether any finding is as bad as a severity, or worse.
func (r Report) Reaches(severity model.Severity) bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return rank(f.Severity) <= rank(severity) })
}

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

// merge makes one finding of equal ones, which lists all their environments
// and assignments, and drops what only some environments find unused. The
// result is sorted.
func merge(findings []Finding, all []*examination) []Finding {
	type key struct {
		rule          string
		severity      model.Severity
		position      model.Position
		message, hint string
	}
	var merged []*Finding
	byKey := map[key]*Finding{}
	used := usedSomewhere(findings, all)
	for _, f := range findings {
		if f.unused && used[unusedKey{f.Rule, f.object.id(), f.field}] {
			continue
		}
		k := key{f.Rule, f.Severity, f.Position, f.Message, f.Hint}
		if first := byKey[k]; first != nil {
			first.Environments = append(first.Environments, f.Environments...)
			first.Assignments = append(first.Assignments, f.Assignments...)
			continue
		}
		f.Environments, f.Assignments = slices.Clone(f.Environments), slices.Clone(f.Assignments)
		byKey[k] = &f
		merged = append(merged, &f)
	}
	out := make([]Finding, len(merged))
	for i, f := range merged {
		slices.Sort(f.Environments)
		f.Environments = slices.Compact(f.Environments)
		slices.SortFunc(f.Assignments, compareAssignments)
		f.Assignments = slices.Compact(f.Assignments)
		out[i] = *f
	}
	slices.SortFunc(out, compareFindings)
	return out
}

type unusedKey struct {
	rule   string
	object object
	field  string
}

// usedSomewhere returns what a rule calls unused in some of the environments
// that have it, and not in all.
func usedSomewhere(findings []Finding, all []*examination) map[unusedKey]bool {
	unusedIn := map[unusedKey]map[string]bool{}
	for _, f := range findings {
		if !f.unused {
			continue
		}
		k := unusedKey{f.Rule, f.object.id(), f.field}
		if unusedIn[k] == nil {
			unusedIn[k] = map[string]bool{}
		}
		for _, name := range f.Environments {
			unusedIn[k][name] = true
		}
	}
	has := map[object]map[string]bool{}
	for _, e := range all {
		for _, o := range e.objects {
			if has[o.id()] == nil {
				has[o.id()] = map[string]bool{}
			}
			has[o.id()][e.Model.Name] = true
		}
	}
	used := map[unusedKey]bool{}
	for k, environments := range unusedIn {
		used[k] = len(environments) < len(has[k.object])
	}
	return used
}

// ignoreMark in a comment silences the rules that are named after it, for the
// comment's line or, when the comment has a line of its own, for the next one.
const ignoreMark = "kalypso:ignore"

var ignoreComment = regexp.MustCompile(`#.*` + ignoreMark + `\s+([a-z0-9, -]+)`)

// suppress drops warnings and notes that a comment silences, and counts them.
// Errors cannot be silenced: what they are about does not work.
func suppress(findings []Finding, subjects []Subject) (kept []Finding, suppressed int) {
	kept = []Finding{}
	lines := map[model.Position][]string{}
	for _, f := range findings {
		if f.Severity != Error && slices.Contains(silenced(f.Position, subjects, lines), f.Rule) {
			suppressed++
			continue
		}
		kept = append(kept, f)
	}
	return kept, suppressed
}

// silenced returns the rules that comments silence at a position. Files that have
// been split into lines are kept in lines.
func silenced(at model.Position, subjects []Subject, lines map[model.Position][]string) []string {
	file := model.Position{Repo: at.Repo, Branch: at.Branch, File: at.File}
	text, known := lines[file]
	if !known {
		content, _ := Content(subjects, file)
		text = strings.Split(string(content), "\n")
		lines[file] = text
	}
	var rules []string
	for _, n := range []int{at.Line - 1, at.Line - 2} {
		if n < 0 || n >= len(text) {
			continue
		}
		if n == at.Line-2 && !strings.HasPrefix(strings.TrimSpace(text[n]), "#") {
			continue
		}
		if found := ignoreComment.FindStringSubmatch(text[n]); found != nil {
			rules = append(rules, strings.FieldsFunc(found[1], func(c rune) bool { return c == ',' || c == ' ' })...)
		}
	}
	return rules
}

// Content returns a file as it was validated, and false for one that is in none of the
// trees.
func Content(subjects []Subject, file model.Position) ([]byte, bool) {
	for _, s := range subjects {
		for _, source := range s.Trees {
			if source.Reference.Repo != file.Repo || source.Reference.Branch != file.Branch {
				continue
			}
			if content, ok := source.Tree.Files[file.File]; ok {
				return content, true
			}
		}
	}
	return nil, false
}

// fingerprint gives every finding of a sorted list its identity: what it says
// about what, without lines. Those that are equal so far are numbered.
func fingerprint(findings []Finding) {
	seen := map[string]int{}
	for i := range findings {
		f := &findings[i]
		id := fmt.Sprintf("%q %q %q %q %q %q", f.Rule, branchName(f.Position.Repo, f.Position.Branch), f.Position.File,
			f.object.kind, f.object.name, withoutLines(f.Message))
		seen[id]++
		sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", id, seen[id]))
		f.Fingerprint = hex.EncodeToString(sum[:12])
	}
}

var (
	positionInText = regexp.MustCompile(`(\.ya?ml):\d+(:\d+)?`)
	lineInText     = regexp.MustCompile(`\bline \d+`)
)

func withoutLines(message string) string {
	return lineInText.ReplaceAllString(positionInText.ReplaceAllString(message, "$1"), "line")
}

// branchName is a branch of a repository for users: "repository@branch".
func branchName(repo, branch string) string {
	return model.Position{Repo: repo, Branch: branch}.String()
}
