package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scenarios"
)

// probeBefore makes a step's check before the step is done, and says whether it has
// been done already. Then nothing must be done again. A run that verifies
// cannot distinguish that from a check that always passes, and fails.
func (s *script) probeBefore(i int, verify bool) (done bool, f *failure) {
	if s.simulated(s.info.Steps[i].RealPods) != "" || !s.info.Steps[i].Has(scenarios.Check) {
		return false, nil
	}
	switch f := s.run(i, scenarios.Check, false); {
	case f == nil && verify:
		return false, &failure{reason: "the check passes before the step is done, so it proves nothing" +
			" (or somebody has done the step before: `kalypso reset` brings a new sandbox)"}
	case f == nil:
		s.repeated, s.pushed = true, false
		delete(s.happened, "push")
		s.note("done already")
		return true, nil
	case f.broken && verify:
		return false, &failure{reason: "before the step is done, the check cannot even be made: " + f.reason, output: f.output}
	case verify:
		s.note("before: %s", scenarios.OneLine(f.reason))
	}
	return false, nil
}

// verifyLooks probes, before an action, at what there is to see after it, up to
// the next action: it must not be so yet, or seeing it proves nothing.
func (s *script) verifyLooks(action int) *failure {
	defer s.remembered()()
	s.setUnknown(s.info.Steps[action])
	if f, more := s.mustNotHold(action + 1); f != nil || !more {
		return f
	}
	names := s.after()
	if len(names) == 0 {
		return nil
	}
	later, err := newScript(s.ctx, Options{Library: s.library, Name: names[0], Access: s.access})
	if err != nil {
		return &failure{reason: err.Error(), broken: true}
	}
	defer later.close()
	later.setUnknown(s.info.Steps[action])
	f, _ := later.mustNotHold(0)
	return f
}

// mustNotHold probes at the looks from a step on. more is set when no action
// comes after them.
func (s *script) mustNotHold(from int) (f *failure, more bool) {
	for i := from; i < len(s.info.Steps); i++ {
		step := s.info.Steps[i]
		if step.Has(scenarios.Solve) {
			return nil, false
		}
		if step.HoldsBefore || s.simulated(step.RealPods) != "" {
			continue
		}
		where := fmt.Sprintf("what is to be seen in %q of %s", step.Title, s.info.Name)
		switch f := s.probe(i); {
		case f == nil:
			return &failure{reason: where + " is so before this step is done, so it proves nothing" +
				" (where that is right, the mark (holds before) says so)"}, false
		case f.broken:
			return &failure{reason: "before this step is done, " + where + " cannot even be looked for: " + f.reason, output: f.output}, false
		}
	}
	return nil, true
}

// noCommit is how git spells a commit that is not there.
var noCommit = strings.Repeat("0", 40)

// setUnknown gives the variables that an action is going to set, and those that are
// not set yet, the name of what is not there. An empty text would be found
// everywhere, and what is not to be found would be.
func (s *script) setUnknown(action scenarios.StepInfo) {
	does := func(command string) bool {
		return slices.ContainsFunc(action.Sections[scenarios.Solve], func(l scenarios.Line) bool { return strings.HasPrefix(l.Text, command) })
	}
	for name, made := range map[string]bool{
		"COMMIT":       does("push ") || does("workflow run "),
		"MERGE_COMMIT": does("pr merge"),
		"PR_HEAD":      false,
	} {
		if made || s.vars[name] == "" {
			s.vars[name] = noCommit
		}
	}
}

// after are the scenarios that come after this one in the tutorial; none after
// one that stands apart.
func (s *script) after() []string {
	here := slices.Index(s.library.Ordered, s.info.Name)
	if here < 0 {
		return nil
	}
	return s.library.Ordered[here+1:]
}

// passedBy says whether the sandbox has gone on since a step, so that what it
// would see may have passed by. Nothing has where this run has done all that
// there was to do so far: then the sandbox has gone on without anybody.
func (s *script) passedBy(i int) bool {
	return (len(s.happened) == 0 || s.repeated) && s.nextDone(i)
}

// nextDone says whether what a user does next after a step is done already.
// Only checks of what is done prove that; what there is to look at may be so
// anyway.
func (s *script) nextDone(i int) bool {
	defer s.remembered()()
	if next, ok := nextAction(s.info, i+1); ok {
		return s.probe(next) == nil
	}
	o := Options{Library: s.library, Access: s.access}
	done, err := laterDone(s.ctx, o, s.info.Name, map[string]bool{})
	return done && err == nil
}

// nextAction is the first step from one on that a user does and that lasts.
func nextAction(info scenarios.Info, from int) (int, bool) {
	for n := from; n < len(info.Steps); n++ {
		if info.Steps[n].Has(scenarios.Solve) && !info.Steps[n].Transient {
			return n, true
		}
	}
	return 0, false
}
