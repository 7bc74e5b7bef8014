package scenarios

import (
	"strings"

	"github.com/rogpeppe/go-internal/txtar"
)

// Info says what a scenario is about.
type Info struct {
	Workshop string `json:"workshop"`
	Name     string `json:"name"`
	Title    string `json:"title"`
	Persona  string `json:"persona"` // who acts: platform team or application team
	Follows  string `json:"follows"` // the sections of the tutorial
	// Needs are the scenarios that must have been done before.
	Needs []string `json:"needs,omitempty"`
	// Spellings are texts for which checks take another one as well, by that: what
	// editions of a tutorial write differently.
	Spellings   map[string]string `json:"spellings,omitempty"`
	Explanation string            `json:"explanation"` // paragraphs, divided by empty lines
	Steps       []StepInfo        `json:"steps"`
	// Apart is set when the scenario is not run with all others, since it ends
	// what they build on.
	Apart bool `json:"apart,omitempty"`
}

// StepInfo is a step as it is written.
type StepInfo struct {
	Title       string   `json:"title"`
	Explanation string   `json:"explanation"`
	Hints       []string `json:"hints,omitempty"` // from a nudge to nearly the answer
	// Reading is set when there is nothing to do in the step but to look.
	Reading bool `json:"reading,omitempty"`
	// Transient is set when later steps change what the check sees, and rightly
	// so. Its JSON name is older than the command.
	Transient bool `json:"momentary,omitempty"`
	// RealPods names the clusters whose pods must really run for the check.
	RealPods []string `json:"realPods,omitempty"`
	// HoldsBefore is set when what there is to see is so before the action,
	// too: it is about what the action does not change.
	HoldsBefore bool `json:"holdsBefore,omitempty"`

	Line     Line               `json:"-"` // "step TITLE"
	Sections map[Section][]Line `json:"-"`
}

// Line is a line of a scenario with its number, from 1.
type Line struct {
	Number int
	Text   string
}

// Section is a part of a step.
type Section string

const (
	Setup Section = "setup" // what the engine prepares for the step
	Solve Section = "solve" // what a user does
	Check Section = "check" // what must hold afterwards, and did not before
	Look  Section = "look"  // what there is to see in a step without solve
)

// Has says whether the step has something in a section.
func (i StepInfo) Has(s Section) bool { return len(i.Sections[s]) > 0 }

// Outcome is the section that says whether the step is done.
func (i StepInfo) Outcome() Section {
	if i.Reading {
		return Look
	}
	return Check
}

// Parse reads the head and the steps of a scenario. Commands are not looked at.
func Parse(workshop, name string, text []byte) Info {
	info := Info{Workshop: workshop, Name: name}
	p := parser{info: &info}
	number := 0
	for line := range strings.Lines(string(txtar.Parse(text).Comment)) {
		number++
		line = strings.TrimSuffix(line, "\n")
		if title, ok := strings.CutPrefix(line, "step "); ok {
			p.beginStep(strings.TrimSpace(title), line, number)
		} else if len(info.Steps) == 0 {
			p.head(line)
		} else {
			p.step(&info.Steps[len(info.Steps)-1], line, number)
		}
	}
	info.Explanation = paragraphs(p.explanation)
	for i := range info.Steps {
		step := &info.Steps[i]
		step.Explanation = paragraphs(strings.Split(step.Explanation, "\n"))
		step.Reading = step.Has(Look)
	}
	return info
}

// parser holds what is known of the lines before.
type parser struct {
	info        *Info
	explanation []string
	section     Section // "" before the step's first
	headEnded   bool
}

func (p *parser) head(line string) {
	comment, isComment := strings.CutPrefix(line, "#")
	comment = strings.TrimSpace(comment)
	key, value, _ := strings.Cut(comment, ":")
	switch {
	case !isComment:
		p.headEnded = true
	case p.headEnded:
	case p.info.Title == "":
		p.info.Title = comment
	case key == "Persona":
		p.info.Persona = strings.TrimSpace(value)
	case key == "Follows":
		p.info.Follows = strings.TrimSpace(value)
	case key == "Needs":
		p.info.Needs = fields(value)
	case key == "Spellings":
		p.info.Spellings = map[string]string{}
		for _, f := range fields(value) {
			other, text, _ := strings.Cut(f, "=")
			p.info.Spellings[other] = text
		}
	default:
		p.explanation = append(p.explanation, comment)
	}
}

func fields(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ' ' || r == ',' })
}

func (p *parser) beginStep(title, line string, number int) {
	p.section = ""
	p.info.Steps = append(p.info.Steps, StepInfo{
		Title: title, Line: Line{number, line}, Sections: map[Section][]Line{},
	})
}

// step reads a line of a step. What stands in no section is looked at, so that
// a short script needs none.
func (p *parser) step(step *StepInfo, line string, number int) {
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	rest = strings.TrimSpace(rest)
	if comment, ok := strings.CutPrefix(line, "#"); ok && p.section == "" {
		step.Explanation += strings.TrimSpace(comment) + "\n"
		return
	}
	switch s := Section(word); {
	case word == "hint":
		step.Hints = append(step.Hints, rest)
	case word == "transient":
		step.Transient = true
	case word == "needs":
		step.RealPods = append(step.RealPods, strings.Fields(strings.TrimPrefix(rest, "real-pods"))...)
	case rest == "" && (s == Setup || s == Solve || s == Check || s == Look):
		p.section = s
	case s == Look && rest == "(holds before)":
		p.section, step.HoldsBefore = s, true
	case word == "" || strings.HasPrefix(word, "#"):
	default:
		s := p.section
		if s == "" {
			s = Look
		}
		step.Sections[s] = append(step.Sections[s], Line{number, line})
	}
}

// paragraphs joins lines that follow each other.
func paragraphs(lines []string) string {
	var all []string
	for text := range strings.SplitSeq(strings.Join(lines, "\n"), "\n\n") {
		if text = strings.Join(strings.Fields(text), " "); text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, "\n\n")
}
