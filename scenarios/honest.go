package scenarios

import (
	"fmt"
	"slices"
	"strings"
)

// before makes a step's check before the step is done, and tells whether it has
// been done already. Then nothing must be done again. An honest run cannot tell
// that from a check that always passes, and fails.
func (s *script) before(i int, honest bool) (done bool, f *failure) {
	if s.simulated(s.info.Steps[i].RealPods) != "" || !s.info.Steps[i].has(check) {
		return false, nil
	}
	switch f := s.run(i, check, false); {
	case f == nil && honest:
		return false, &failure{reason: "the check passes before the step is done, so it proves nothing" +
			" (or somebody has done the step before: `kalypso reset` brings a new world)"}
	case f == nil:
		s.repeated, s.pushed = true, false
		delete(s.happened, "push")
		s.note("done already")
		return true, nil
	case f.broken && honest:
		return false, &failure{reason: "before the step is done, the check cannot even be made: " + f.reason, output: f.output}
	case honest:
		s.note("before: %s", inOneLine(f.reason))
	}
	return false, nil
}

// looksBefore glances, before a deed, at what there is to see after it, up to
// the next deed: it must not be so yet, or seeing it proves nothing.
func (s *script) looksBefore(deed int) *failure {
	defer s.remembered()()
	s.foresee(s.info.Steps[deed])
	if f, more := s.mustNotHold(deed + 1); f != nil || !more {
		return f
	}
	name, first := s.next()
	if name == "" || len(first.Steps) == 0 || first.Steps[0].has(solve) {
		return nil
	}
	later, err := newScript(s.ctx, Options{Workshop: s.info.Workshop, Name: name, World: s.world, files: s.library})
	if err != nil {
		return &failure{reason: err.Error(), broken: true}
	}
	defer later.close()
	later.foresee(s.info.Steps[deed])
	f, _ := later.mustNotHold(0)
	return f
}

// mustNotHold glances at the looks from a step on. more is set when no deed
// comes after them.
func (s *script) mustNotHold(from int) (f *failure, more bool) {
	for i := from; i < len(s.info.Steps); i++ {
		step := s.info.Steps[i]
		if step.has(solve) {
			return nil, false
		}
		if step.HoldsBefore || s.simulated(step.RealPods) != "" {
			continue
		}
		where := fmt.Sprintf("what is to be seen in %q of %s", step.Title, s.info.Name)
		switch f := s.glance(i); {
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

// foresee gives the variables that a deed is going to set, and those that are
// not set yet, the name of what is not there. An empty text would be found
// everywhere, and what is not to be found would be.
func (s *script) foresee(deed StepInfo) {
	does := func(word string) bool {
		return slices.ContainsFunc(deed.sections[solve], func(l scriptLine) bool { return strings.HasPrefix(l.text, word) })
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

// next is the scenario that comes after this one, "" when none does.
func (s *script) next() (string, Info) {
	names, err := order(s.library, s.info.Workshop)
	if err != nil {
		return "", Info{}
	}
	i := slices.Index(names, s.info.Name)
	if i < 0 || i+1 >= len(names) {
		return "", Info{}
	}
	text, err := source(s.library, s.info.Workshop, names[i+1])
	if err != nil {
		return "", Info{}
	}
	return names[i+1], describe(s.info.Workshop, names[i+1], text)
}
