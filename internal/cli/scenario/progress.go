package scenario

import (
	"fmt"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/scenarios"
)

// progress shows a line per step as it ends, with what it has done
// only when it fails. On a terminal a last line says what goes on.
type progress struct {
	p   *cmdutil.Progress // where the last line is
	say func(format string, args ...any)
	cmdutil.Style
}

// newScenarioProgress shows to the data's side, or beside JSON to the talk's.
func newScenarioProgress(a *cmdutil.App, asJSON bool) *progress {
	s := &progress{p: cmdutil.NewProgress(a.Err, time.Now())}
	w := a.Out
	if asJSON {
		w = a.Err
	}
	s.Style = cmdutil.NewStyle(w)
	s.say = func(format string, args ...any) {
		s.p.Clear()
		fmt.Fprintf(w, format+"\n", args...)
	}
	return s
}

func (s *progress) end() { s.p.Clear() }

// last rewrites the last line on a terminal.
func (s *progress) last(text string) {
	if !s.p.Style.Terminal {
		return
	}
	s.p.Clear()
	text, _, _ = strings.Cut(text, "\n")
	if r := []rune(text); s.p.Width > 1 && len(r) >= s.p.Width {
		text = string(r[:s.p.Width-1])
	}
	fmt.Fprint(s.p.W, s.p.Style.Faint(text))
	s.p.Live = true
}

func (s *progress) event(e scenarios.Event) {
	number := fmt.Sprintf("%d/%d", e.Index+1, len(e.Scenario.Steps))
	switch e.Kind {
	case scenarios.ScenarioBegins:
		s.say("%s %s", s.Bold(e.Scenario.Name+":"), e.Scenario.Title+s.Faint(" ("+e.Scenario.Persona+")"))
	case scenarios.StepBegins:
		s.last(fmt.Sprintf("  ...   %s %s", number, e.Step.Title))
	case scenarios.StepWaits:
		s.last(fmt.Sprintf("  %4.1fs %s %s: %s", e.Elapsed.Seconds(), number, e.Step.Title, e.Reason))
	case scenarios.StepEnds:
		word := s.Good("ok  ")
		switch e.Step.State {
		case scenarios.Failed:
			word = s.Bad("FAIL")
		case scenarios.Skipped:
			word = s.Warn("skip")
		case scenarios.Simulated:
			word = s.Warn("sim ")
		}
		note := ""
		if e.Step.Note != "" {
			note = ", " + e.Step.Note
		}
		s.say("  %s  %s %-40s %s", word, number, e.Step.Title, s.Faint(fmt.Sprintf("%.2f s%s", e.Step.Took.Seconds(), note)))
		what := e.Step.Output
		if what == "" {
			what = e.Step.Reason
		}
		if what != "" {
			s.say("        %s", strings.ReplaceAll(what, "\n", "\n        "))
		}
	}
}
