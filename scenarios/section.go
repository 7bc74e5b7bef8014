package scenarios

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// failLine begins the last entry of a failed script's log.
var failLine = regexp.MustCompile(`^FAIL: [^ ]+:\d+: `)

// sectionFolder has the section that runs, within the scenario's folder.
const sectionFolder = ".section"

// failure is why a section has not come to its end.
type failure struct {
	reason string // for people; can have several lines
	output string // the words and commands with what they printed
	// broken is set when a check could not be made, as opposed to one that was
	// made and found things otherwise.
	broken bool
}

// run runs one section of a step, as a script of its own in the scenario's
// folder. Sections share that folder and the variables, and otherwise only
// what the words remember: the current pull request, and what was pushed.
//
// patient means that words wait as long as they say; otherwise they look once.
func (s *script) run(index int, which section, patient bool) *failure {
	step := s.info.Steps[index]
	if !step.has(which) {
		return nil
	}
	file := filepath.Join(s.dir, sectionFolder, s.info.Name+".txtar")
	err := os.MkdirAll(filepath.Dir(file), 0o700)
	if err == nil {
		err = os.WriteFile(file, []byte(only(step, which)), 0o600)
	}
	if err != nil {
		return &failure{reason: err.Error(), broken: true}
	}
	s.patient, s.wordError, s.ts = patient, nil, nil
	if which == check || which == look {
		s.since = s.stepSince // a check can be made any number of times
	}
	h := &host{}
	h.run(func() {
		testscript.RunT(h, testscript.Params{
			Files:       []string{file},
			WorkdirRoot: filepath.Dir(file),
			Deadline:    s.deadline,
			Setup:       s.environment,
			Cmds:        s.commands(),
		})
	})
	if !h.failed && !h.skipped {
		return nil
	}
	f := s.failureOf(h.log, step)
	if f.broken {
		s.blame(f)
	}
	return f
}

// only is the script with nothing but a step's line and one of its sections,
// each line where it was: messages give its number.
func only(step StepInfo, which section) string {
	last := step.sections[which][len(step.sections[which])-1].number
	lines := make([]string, last)
	lines[step.number-1] = step.line
	for _, l := range step.sections[which] {
		lines[l.number-1] = l.text
	}
	return strings.Join(lines, "\n") + "\n"
}

// environment gives a section its folder and its variables. The token is not
// among them: the words that need it hand it on themselves.
func (s *script) environment(env *testscript.Env) error {
	env.Cd = s.dir
	set := func(name, value string) { env.Vars = append(env.Vars, name+"="+value) }
	set("WORK", s.dir)
	set("HOME", s.home)
	set("FORGE_URL", s.world.ForgeURL)
	set("ORG_URL", s.world.OrgURL())
	set("KUBECONFIG", s.world.Kubeconfig)
	set("KALYPSO_HOME", s.world.Home)
	env.Vars = append(env.Vars, gitSettings...)
	for name, value := range s.vars {
		set(name, value)
	}
	env.Defer(func() {
		if s.ts == nil {
			return
		}
		for _, name := range s.envNames {
			if value := s.ts.Getenv(name); value != "" {
				s.vars[name] = value
			}
		}
	})
	return nil
}

// setenv sets a variable for what comes after, in this section and others.
func (s *script) setenv(name, value string) {
	s.vars[name] = value
	s.ts.Setenv(name, value)
}

// envWord finds the variables that a script sets itself.
var envWord = regexp.MustCompile(`(?m)^env (\w+)=`)

// failureOf reads a section's log: what came before the step's line is the
// environment.
func (s *script) failureOf(log string, step StepInfo) *failure {
	here := s.dir + string(filepath.Separator)
	log = s.hide(strings.NewReplacer(here+sectionFolder+string(filepath.Separator), "", here, "").Replace(log))
	output := strings.TrimSpace(log)
	if _, after, ok := strings.Cut(log, "> "+step.line+"\n"); ok {
		output = strings.TrimSpace(after)
	} else if i := strings.LastIndex(log, "\nFAIL: "); i >= 0 {
		output = strings.TrimSpace(log[i:]) // the step's line itself is wrong
	}
	f := &failure{output: output, reason: output}
	var not *unmetError
	if s.wordError != nil {
		f.broken = !errors.As(s.wordError, &not)
	}
	var reason []string
	for line := range strings.SplitSeq(output, "\n") {
		if prefix := failLine.FindString(line); prefix != "" {
			reason = []string{strings.TrimPrefix(line, prefix)}
		} else if reason != nil {
			reason = append(reason, line)
		}
	}
	if reason != nil {
		f.reason = strings.TrimSpace(strings.Join(reason, "\n"))
		// testscript's words know nothing of what ours have shown, and its stdout
		// is empty when the script has ended: the log has it
		_, shown, _ := lastCut(output, "[stdout]\n")
		if s.printed.text != "" && strings.HasPrefix(shown, s.hide(strings.TrimSpace(s.printed.text))) {
			f.reason = strings.Replace(f.reason, " found in stdout", " found in "+s.printed.what, 1)
		}
	}
	return f
}

// lastCut cuts a text at the last separator.
func lastCut(text, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(text, sep)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(sep):], true
}

// hide takes what is secret out of a text.
func (s *script) hide(text string) string {
	for _, secret := range append([]string{s.world.Token}, s.world.Secrets...) {
		if len(secret) > 3 { // anything shorter is no secret, and would be everywhere
			text = strings.ReplaceAll(text, secret, "***")
		}
	}
	return text
}

// begin tells that a step begins.
func (s *script) begin(index int) {
	s.stepTime, s.stepSince = time.Now(), s.since
	s.steps = append(s.steps, Step{Title: s.info.Steps[index].Title})
	s.tell(Event{Kind: StepBegins})
}

func (s *script) end(state State) {
	s.step().State = state
	s.step().Took = time.Since(s.stepTime)
	s.tell(Event{Kind: StepEnds})
}

// step is the present one.
func (s *script) step() *Step {
	if len(s.steps) == 0 {
		return &Step{}
	}
	return &s.steps[len(s.steps)-1]
}

// note adds a remark to the present step.
func (s *script) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	step := s.step()
	switch {
	case step.Note == "":
		step.Note = text
	case !strings.Contains(step.Note, text):
		step.Note += "; " + text
	}
}

func (s *script) tell(e Event) {
	e.Scenario, e.Index, e.Step = s.info, len(s.steps)-1, *s.step()
	s.say(e)
}
