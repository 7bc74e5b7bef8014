package scenarios

import (
	"fmt"
	"strings"
	"time"
)

// State of a scenario or of a step.
type State string

const (
	Passed  State = "passed"
	Failed  State = "failed"
	Skipped State = "skipped" // not reached
	// Simulated is what was done and could not be checked, since it needs pods
	// that really run. A scenario with such a step is Simulated as a whole.
	Simulated State = "simulated"
)

// Result is what became of a scenario.
type Result struct {
	Workshop     string        `json:"workshop"`
	Name         string        `json:"name"`
	Title        string        `json:"title"`
	State        State         `json:"state"`
	Began        time.Time     `json:"began,omitzero"`
	Took         time.Duration `json:"tookNanoseconds,omitempty"`
	Steps        []Step        `json:"steps"`
	Measurements []Measurement `json:"measurements,omitempty"`
	WorkDir      string        `json:"workDir,omitempty"` // when kept
	// Dump is the folder with what is to be known of a failure; DumpError says
	// what could not be found out.
	Dump      string `json:"dump,omitempty"`
	DumpError error  `json:"-"`
}

// Step is what became of a step.
type Step struct {
	Title  string        `json:"title"`
	State  State         `json:"state"`
	Took   time.Duration `json:"tookNanoseconds,omitempty"`
	Note   string        `json:"note,omitempty"`   // e.g. that it was done already
	Reason string        `json:"reason,omitempty"` // of the failure
	// Output has the commands with what they printed; only of a
	// step that failed.
	Output string `json:"output,omitempty"`
}

// Measurement is a time that passed between two things the scenario did or saw.
type Measurement struct {
	Name string        `json:"name"`
	Took time.Duration `json:"tookNanoseconds"`
}

// CheckError says which check of a scenario failed.
type CheckError struct {
	Scenario string
	Step     string // title
	Reason   string // the failed command's; may have several lines
}

func (e *CheckError) Error() string {
	return fmt.Sprintf("scenario %s: %s: %s", e.Scenario, e.Step, OneLine(e.Reason))
}

// OneLine is a reason shortened to one line: what announces a
// list comes with the first of it.
func OneLine(reason string) string {
	first, rest, _ := strings.Cut(reason, "\n")
	if !strings.HasSuffix(first, ":") {
		return first
	}
	if next := strings.TrimSpace(firstLine(rest)); next != "" {
		return first + " " + next
	}
	return strings.TrimSuffix(first, ":")
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// Event is what happens in a running scenario.
type Event struct {
	Kind     EventKind
	Scenario Info
	Index    int  // of the step
	Step     Step // as far as it is known
	// Elapsed and Reason are of a wait that goes on.
	Elapsed time.Duration
	Reason  string
	// Command is the line that runs or has run, as a shell would have it, and Output
	// what it has printed. Secrets are in neither.
	Command, Output string
}

// EventKind is a kind of Event.
type EventKind int

const (
	ScenarioBegins EventKind = iota
	StepBegins
	StepWaits // the step looks again; Reason says what is not so yet
	StepEnds
	ScenarioEnds
	CommandBegins
	CommandEnds
)
