package scenario

import (
	"fmt"
	"io"
	"strings"

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

// newProgress prints to w; the last line of the terminal is on a's messages' side.
func newProgress(a *cmdutil.App, w io.Writer) *progress {
	s := &progress{p: cmdutil.NewProgress(a.Err), Style: cmdutil.NewStyle(w)}
	s.say = func(format string, args ...any) {
		s.p.Clear()
		fmt.Fprintf(w, format+"\n", args...)
	}
	return s
}

func (s *progress) event(e scenarios.Event) {
	number := fmt.Sprintf("%d/%d", e.Index+1, len(e.Scenario.Steps))
	switch e.Kind {
	case scenarios.ScenarioBegins:
		s.say("%s %s", s.Bold(e.Scenario.Name+":"), e.Scenario.Title+s.Faint(" ("+e.Scenario.Persona+")"))
	case scenarios.StepBegins:
		s.p.Last(fmt.Sprintf("  ...   %s %s", number, e.Step.Title))
	case scenarios.StepWaits:
		s.p.Last(fmt.Sprintf("  %4.1fs %s %s: %s", e.Elapsed.Seconds(), number, e.Step.Title, e.Reason))
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
