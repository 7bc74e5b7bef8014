// Package report writes down what a validation found: as text for users and
// editors, as JSON for scripts, and as SARIF for code scanning.
package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/clause"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/validate"
)

// Style says how text is shown. The zero Style is plain.
type Style struct {
	// Path returns the path of a position's file as the reader's editor finds
	// it; nil leaves it relative to its repository.
	Path  func(model.Position) string
	Paint func(severity model.Severity, text string) string
	Faint func(text string) string
}

// Text writes findings by branch and file, each in one line that begins with
// file:line:column, and below it what to do and whom it concerns. Results of
// policy tests follow.
func Text(r validate.Report, style Style) []byte {
	w := &textWriter{style: style, several: len(r.Environments) > 1}
	for _, f := range r.Findings {
		if f.Rule != validate.FailedTest || len(r.Tests) == 0 {
			w.finding(f)
		}
	}
	w.tests(r)
	return w.out.Bytes()
}

type textWriter struct {
	out     bytes.Buffer
	style   Style
	several bool           // environments are worth mentioning
	last    model.Position // of the finding before
}

func (w *textWriter) finding(f validate.Finding) {
	branch := model.Position{Repo: f.Position.Repo, Branch: f.Position.Branch}
	if branch != (model.Position{Repo: w.last.Repo, Branch: w.last.Branch}) || w.out.Len() == 0 {
		w.heading(branch.String())
	} else if f.Position.File != w.last.File {
		w.out.WriteByte('\n')
	}
	w.last = f.Position
	w.line(f.Position, f.Severity, f.Message, f.Rule)
	w.below(f.Hint)
	w.below(w.concerns(f))
}

func (w *textWriter) heading(text string) {
	if w.out.Len() > 0 {
		w.out.WriteByte('\n')
	}
	if text == "" {
		text = "control plane"
	}
	fmt.Fprintf(&w.out, "%s\n\n", w.faint("# "+text))
}

func (w *textWriter) line(at model.Position, severity model.Severity, message, rule string) {
	word := string(severity) + ":"
	if w.style.Paint != nil {
		word = w.style.Paint(severity, word)
	}
	// One line per finding: what else a message has goes below.
	first, rest, _ := strings.Cut(message, "\n")
	fmt.Fprintf(&w.out, "%s: %s %s %s\n", w.position(at), word, first, w.faint("["+rule+"]"))
	w.below(rest)
}

// position is file:line:column, as far as it is known.
func (w *textWriter) position(at model.Position) string {
	file := at.File
	if w.style.Path != nil {
		file = w.style.Path(at)
	}
	switch {
	case file == "":
		return "."
	case at.Line == 0:
		return file
	case at.Column == 0:
		return fmt.Sprintf("%s:%d", file, at.Line)
	}
	return fmt.Sprintf("%s:%d:%d", file, at.Line, at.Column)
}

// below writes indented lines, none when there is nothing to say.
func (w *textWriter) below(text string) {
	for line := range strings.Lines(text) {
		fmt.Fprintf(&w.out, "    %s\n", strings.TrimRight(line, "\n"))
	}
}

// concerns lists the assignments or environments of a finding.
func (w *textWriter) concerns(f validate.Finding) string {
	var list []string
	for _, a := range f.Assignments {
		text := a.ClusterType + "/" + a.Target
		if w.several {
			text += " in " + a.Environment
		}
		list = append(list, text)
	}
	// An environment's branch mostly has its name, and then the heading says it.
	said := len(f.Environments) == 1 && f.Environments[0] == f.Position.Branch
	switch {
	case len(list) > 0:
		return w.faint("concerns " + clause.List(list))
	case w.several && len(f.Environments) > 0 && !said:
		return w.faint("in " + clause.List(f.Environments))
	}
	return ""
}

func (w *textWriter) faint(text string) string {
	if w.style.Faint == nil {
		return text
	}
	return w.style.Faint(text)
}

// tests writes one line per test, and below one that failed its failures as
// findings are written.
func (w *textWriter) tests(r validate.Report) {
	if len(r.Tests) == 0 {
		return
	}
	w.heading("policy tests")
	width := 0
	for _, name := range r.Environments {
		width = max(width, len(name))
	}
	for _, t := range r.Tests {
		word, severity := "pass", validate.Note
		if !t.Passed {
			word, severity = "FAIL", validate.Error
		}
		if w.style.Paint != nil {
			word = w.style.Paint(severity, word)
		}
		fmt.Fprintf(&w.out, "%s  %-*s  %s\n", word, width, t.Environment, t.Name)
		for _, f := range t.Failures {
			w.line(f.Position, validate.Error, f.Message, validate.FailedTest)
			w.below(f.Reason)
		}
	}
}

// Summary says in one line what was found.
func Summary(r validate.Report) string {
	n := r.Summary
	var found []string
	for _, c := range []struct {
		n    int
		noun string
	}{{n.Errors, "error"}, {n.Warnings, "warning"}, {n.Notes, "note"}} {
		if c.n > 0 {
			found = append(found, clause.Count(c.n, c.noun))
		}
	}
	text := "no findings"
	if len(found) > 0 {
		text = strings.Join(found, ", ")
	}
	if n := len(r.Environments); n > 0 {
		text += " in " + clause.Count(n, "environment") + " (" + clause.List(r.Environments) + ")"
	} else {
		text += " in the files" // no environment was validated
	}
	if n.Suppressed > 0 {
		text += fmt.Sprintf("; %d silenced by comments", n.Suppressed)
	}
	if all := n.TestsPassed + n.TestsFailed + n.TestsNotRun; all > 0 {
		text += fmt.Sprintf("; %d of %s passed", n.TestsPassed, clause.Count(all, "policy test"))
	}
	if n.TestsNotRun > 0 {
		text += fmt.Sprintf(", %d not run for mistakes in their files", n.TestsNotRun)
	}
	return text
}

// JSON writes a report for programs.
func JSON(r validate.Report) ([]byte, error) { return encode(r) }

func encode(v any) ([]byte, error) {
	content, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(content, '\n'), nil
}
