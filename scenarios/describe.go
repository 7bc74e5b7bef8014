package scenarios

import (
	"strings"

	"github.com/rogpeppe/go-internal/txtar"
)

// StepInfo is a step as it is written.
type StepInfo struct {
	Title       string   `json:"title"`
	Explanation string   `json:"explanation"`
	Hints       []string `json:"hints,omitempty"` // from a nudge to nearly the answer
	// Reading is set when there is nothing to do in the step but to look.
	Reading bool `json:"reading,omitempty"`
	// Momentary is set when what the check sees passes by: later steps change
	// it, and rightly so.
	Momentary bool `json:"momentary,omitempty"`
	// RealPods names the clusters whose pods must really run for the check.
	RealPods []string `json:"realPods,omitempty"`
	// HoldsBefore is set when what there is to see is so before the deed, too:
	// it is about what the deed does not change.
	HoldsBefore bool `json:"holdsBefore,omitempty"`

	line     string // of the script
	number   int    // of that line, from 1
	sections map[section][]scriptLine
}

// scriptLine is a line of a script with its number, from 1.
type scriptLine struct {
	number int
	text   string
}

// section is a part of a step.
type section string

const (
	setup section = "setup" // what the engine prepares for the step
	solve section = "solve" // what a person does
	check section = "check" // what must be so afterwards, and was not before
	look  section = "look"  // what there is to see in a step without solve
)

// has tells whether the step has something in a section.
func (i StepInfo) has(s section) bool { return len(i.sections[s]) > 0 }

// seen is the section that tells whether the step is done.
func (i StepInfo) seen() section {
	if i.Reading {
		return look
	}
	return check
}

// describe reads the head and the steps of a scenario.
func describe(workshop, name string, text []byte) Info {
	info := Info{Workshop: workshop, Name: name}
	d := describer{info: &info}
	number := 0
	for line := range strings.Lines(string(txtar.Parse(text).Comment)) {
		number++
		line = strings.TrimSuffix(line, "\n")
		if title, ok := strings.CutPrefix(line, "step "); ok {
			d.beginStep(strings.TrimSpace(title), line, number)
		} else if len(info.Steps) == 0 {
			d.head(line)
		} else {
			d.step(&info.Steps[len(info.Steps)-1], line, number)
		}
	}
	info.Explanation = paragraphs(d.explanation)
	for i := range info.Steps {
		step := &info.Steps[i]
		step.Explanation = paragraphs(strings.Split(step.Explanation, "\n"))
		step.Reading = step.has(look)
	}
	return info
}

// describer holds what is known of the lines before.
type describer struct {
	info        *Info
	explanation []string
	section     section // "" before the step's first
	headEnded   bool
}

func (d *describer) head(line string) {
	comment, isComment := strings.CutPrefix(line, "#")
	comment = strings.TrimSpace(comment)
	key, value, _ := strings.Cut(comment, ":")
	switch {
	case !isComment:
		d.headEnded = true
	case d.headEnded:
	case d.info.Title == "":
		d.info.Title = comment
	case key == "Persona":
		d.info.Persona = strings.TrimSpace(value)
	case key == "Follows":
		d.info.Follows = strings.TrimSpace(value)
	default:
		d.explanation = append(d.explanation, comment)
	}
}

func (d *describer) beginStep(title, line string, number int) {
	d.section = ""
	d.info.Steps = append(d.info.Steps, StepInfo{
		Title: title, line: line, number: number, sections: map[section][]scriptLine{},
	})
}

// step reads a line of a step. What stands in no section is looked at, so that
// a short script needs none.
func (d *describer) step(step *StepInfo, line string, number int) {
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	rest = strings.TrimSpace(rest)
	if comment, ok := strings.CutPrefix(line, "#"); ok && d.section == "" {
		step.Explanation += strings.TrimSpace(comment) + "\n"
		return
	}
	switch s := section(word); {
	case word == "hint":
		step.Hints = append(step.Hints, rest)
	case word == "momentary":
		step.Momentary = true
	case word == "needs":
		step.RealPods = append(step.RealPods, strings.Fields(strings.TrimPrefix(rest, "real-pods"))...)
	case rest == "" && (s == setup || s == solve || s == check || s == look):
		d.section = s
	case s == look && rest == "(holds before)":
		d.section, step.HoldsBefore = s, true
	case word == "" || strings.HasPrefix(word, "#"):
	default:
		s := d.section
		if s == "" {
			s = look
		}
		step.sections[s] = append(step.sections[s], scriptLine{number, line})
	}
}

// paragraphs joins lines that follow each other.
func paragraphs(lines []string) string {
	var all []string
	for p := range strings.SplitSeq(strings.Join(lines, "\n"), "\n\n") {
		if p = strings.Join(strings.Fields(p), " "); p != "" {
			all = append(all, p)
		}
	}
	return strings.Join(all, "\n\n")
}
