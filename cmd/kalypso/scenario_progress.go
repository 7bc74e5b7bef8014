package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/scenarios"
)

// scenarioProgress shows a line per step as it ends, with what it has done
// only when it fails. On a terminal a last line says what goes on.
type scenarioProgress struct {
	p   *progress // where the last line is
	say func(format string, args ...any)
	style
}

// newScenarioProgress shows to the data's side, or beside JSON to the talk's.
func newScenarioProgress(a *app, asJSON bool) *scenarioProgress {
	s := &scenarioProgress{p: newProgress(a.err, time.Now())}
	w := a.out
	if asJSON {
		w = a.err
	}
	s.style = newStyle(w)
	s.say = func(format string, args ...any) {
		s.p.clear()
		fmt.Fprintf(w, format+"\n", args...)
	}
	return s
}

func (s *scenarioProgress) end() { s.p.clear() }

// last rewrites the last line on a terminal.
func (s *scenarioProgress) last(text string) {
	if !s.p.style.terminal {
		return
	}
	s.p.clear()
	text, _, _ = strings.Cut(text, "\n")
	if r := []rune(text); s.p.width > 1 && len(r) >= s.p.width {
		text = string(r[:s.p.width-1])
	}
	fmt.Fprint(s.p.w, s.p.style.faint(text))
	s.p.live = true
}

func (s *scenarioProgress) event(e scenarios.Event) {
	number := fmt.Sprintf("%d/%d", e.Index+1, len(e.Scenario.Steps))
	switch e.Kind {
	case scenarios.ScenarioBegins:
		s.say("%s %s", s.bold(e.Scenario.Name+":"), e.Scenario.Title+s.faint(" ("+e.Scenario.Persona+")"))
	case scenarios.StepBegins:
		s.last(fmt.Sprintf("  ...   %s %s", number, e.Step.Title))
	case scenarios.StepWaits:
		s.last(fmt.Sprintf("  %4.1fs %s %s: %s", e.Elapsed.Seconds(), number, e.Step.Title, e.Reason))
	case scenarios.StepEnds:
		word := s.good("ok  ")
		switch e.Step.State {
		case scenarios.Failed:
			word = s.bad("FAIL")
		case scenarios.Skipped:
			word = s.warn("skip")
		case scenarios.Simulated:
			word = s.warn("sim ")
		}
		note := ""
		if e.Step.Note != "" {
			note = ", " + e.Step.Note
		}
		s.say("  %s  %s %-40s %s", word, number, e.Step.Title, s.faint(fmt.Sprintf("%.2f s%s", e.Step.Took.Seconds(), note)))
		what := e.Step.Output
		if what == "" {
			what = e.Step.Reason
		}
		if what != "" {
			s.say("        %s", strings.ReplaceAll(what, "\n", "\n        "))
		}
	}
}
