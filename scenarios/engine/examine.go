package engine

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scenarios"
	"github.com/rogpeppe/go-internal/txtar"
)

// Fault is what is wrong with the text of a scenario, before it is run.
type Fault struct {
	Line    int
	Message string
}

// checkers are the commands of testscript that change nothing but variables.
var checkers = []string{"stdout", "stderr", "grep", "cmp", "cmpenv", "exists", "env"}

// actors are testscript's other commands.
var actors = []string{"cat", "cd", "chmod", "cp", "exec", "mkdir", "mv", "rm", "skip", "stdin", "stop", "symlink", "ttyin", "ttyout", "unix2dos", "unquote", "wait"}

// Examine says what is wrong with the text of a scenario: commands that there are
// not, steps that are not whole, checks that would change something, and files
// that cannot be read or are not used.
func Examine(workshop, name string, text []byte) []Fault {
	e := &examination{}
	archive := txtar.Parse(text)
	number := 0
	for line := range strings.Lines(string(archive.Comment)) {
		number++
		e.line(number, strings.TrimSpace(line))
	}
	info := scenarios.Parse(workshop, name, text)
	if len(info.Steps) == 0 {
		e.add(1, "it has no steps: a step begins with the line `step TITLE`")
	}
	for other, wanted := range info.Spellings {
		if other == "" || wanted == "" {
			e.add(1, "Spellings has %q: write OTHER=TEXT, where checks take OTHER for TEXT", other+wanted)
		}
	}
	for _, step := range info.Steps {
		e.step(step)
	}
	for _, f := range archive.Files {
		if ext := path.Ext(f.Name); ext == ".yaml" || ext == ".yml" {
			if _, err := parseObjects(f.Name, f.Data); err != nil {
				e.add(fileLine(text, f.Name), "%v", err)
			}
		}
		if !strings.Contains(string(archive.Comment), f.Name) {
			e.add(fileLine(text, f.Name), "no line uses the file %s", f.Name)
		}
	}
	slices.SortStableFunc(e.faults, func(a, b Fault) int { return a.Line - b.Line })
	return e.faults
}

// fileLine is the line at which a file of an archive begins.
func fileLine(text []byte, name string) int {
	before, _, _ := strings.Cut(string(text), "\n-- "+name+" --")
	return strings.Count(before, "\n") + 2
}

type examination struct{ faults []Fault }

func (e *examination) add(line int, format string, args ...any) {
	e.faults = append(e.faults, Fault{line, fmt.Sprintf(format, args...)})
}

func (e *examination) line(number int, line string) {
	if line == "" || strings.HasPrefix(line, "#") {
		return
	}
	if strings.Count(line, "'")%2 != 0 {
		e.add(number, "a quote is open: write '' for one within quotes")
		return
	}
	words := splitLine(line)
	for len(words) > 0 && (words[0] == "!" || words[0] == "?" || strings.HasPrefix(words[0], "[")) {
		words = words[1:]
	}
	if len(words) == 0 || slices.Contains(checkers, words[0]) || slices.Contains(actors, words[0]) {
		return
	}
	if _, _, err := findCommand(words); err != nil {
		e.add(number, "%v", err)
	}
}

// step holds a step to its form: something to do and a check of it, or something
// to look at. A check does nothing.
func (e *examination) step(step scenarios.StepInfo) {
	solve, check, look := step.Has(scenarios.Solve), step.Has(scenarios.Check), step.Has(scenarios.Look)
	switch {
	case solve && !check:
		e.add(step.Line.Number, "step %q has solve without check: nothing would tell whether a user has done it", step.Title)
	case check && !solve:
		e.add(step.Line.Number, "step %q has check without solve: write look, where there is nothing to do", step.Title)
	case !solve && !look:
		e.add(step.Line.Number, "step %q has nothing to do and nothing to look at", step.Title)
	case solve && look:
		e.add(step.Line.Number, "step %q has both solve and look: make two steps of it", step.Title)
	}
	for _, l := range slices.Concat(step.Sections[scenarios.Check], step.Sections[scenarios.Look]) {
		words := splitLine(l.Text)
		for len(words) > 0 && (words[0] == "!" || words[0] == "?") {
			words = words[1:]
		}
		if len(words) == 0 || slices.Contains(checkers, words[0]) {
			continue
		}
		if c, _, err := findCommand(words); err == nil && !c.isReadOnly(words) || slices.Contains(actors, words[0]) {
			e.add(l.Number, "a check changes nothing, and this does: %s", l.Text)
		}
	}
}
