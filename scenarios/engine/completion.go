package engine

import (
	"context"
	"math"
	"slices"

	"github.com/kalypso-dev/kalypso/scenarios"
)

// Done is how far a scenario is done, by kalypso or by a user.
type Done struct {
	Workshop string     `json:"workshop"`
	Name     string     `json:"name"`
	Title    string     `json:"title"`
	Done     bool       `json:"done"` // every step is, or cannot be checked here
	Steps    []DoneStep `json:"steps"`
}

// DoneStep is one box of the list.
type DoneStep struct {
	Title string `json:"title"`
	Done  bool   `json:"done"`
	// Reason says what is not so yet; of a step that is done, why that is known
	// or what could not be checked.
	Reason string `json:"reason,omitempty"`
	// Simulated is set when the check needs pods that really run.
	Simulated bool `json:"simulated,omitempty"`

	transient, action bool
	waits             bool // a step before it is not done
}

// Check finds out how far scenarios are done. It looks once, does nothing, and
// knows nothing of who ran or learned what: only what is so counts. What passes
// by counts as done when an action that builds on it is done. Steps build on
// each other, so that none is done after an action that is not.
func Check(ctx context.Context, o Options, names []string) ([]Done, error) {
	all := make([]Done, len(names))
	for i, name := range names {
		o.Name = name
		var err error
		if all[i], err = checkOne(ctx, o); err != nil {
			return nil, err
		}
	}
	acted := map[string]bool{}
	for _, d := range all {
		acted[d.Name] = slices.ContainsFunc(d.Steps, func(box DoneStep) bool { return box.Done && box.lastingAction() })
	}
	for i := range all {
		later := func() (bool, error) { return laterDone(ctx, o, all[i].Name, acted) }
		if err := all[i].conclude(later); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// laterDone says whether a user has done anything that lasts in the scenarios
// that build on one. Those that are not in acted are looked at, by the first of
// their actions, and are added to it.
func laterDone(ctx context.Context, o Options, name string, acted map[string]bool) (bool, error) {
	names, err := o.Library.NeededBy(name)
	if err != nil {
		return false, err
	}
	for _, later := range names {
		done, known := acted[later]
		if !known {
			o.Name = later
			if done, err = firstDone(ctx, o); err != nil {
				return false, err
			}
			acted[later] = done
		}
		if done {
			return true, nil
		}
	}
	return false, nil
}

// firstDone says whether the first action of a scenario that lasts is done.
func firstDone(ctx context.Context, o Options) (bool, error) {
	s, err := newScript(ctx, o)
	if err != nil {
		return false, err
	}
	defer s.close()
	next, ok := nextAction(s.info, 0)
	return ok && s.simulated(s.info.Steps[next].RealPods) == "" && s.probe(next) == nil, nil
}

func checkOne(ctx context.Context, o Options) (Done, error) {
	s, err := newScript(ctx, o)
	if err != nil {
		return Done{}, err
	}
	defer s.close()
	d := Done{Workshop: s.info.Workshop, Name: s.info.Name, Title: s.info.Title}
	blocker := ""
	for i, step := range s.info.Steps {
		s.begin(i)
		box := DoneStep{Title: step.Title, transient: step.Transient, action: step.Has(scenarios.Solve)}
		if blocker != "" {
			box.waitFor(blocker)
		} else if why := s.simulated(step.RealPods); why != "" {
			box.Simulated, box.Reason = true, why
		} else if f := s.probe(i); f != nil {
			box.Reason = scenarios.OneLine(f.reason)
		} else {
			box.Done = true
		}
		if ctx.Err() != nil {
			return Done{}, context.Cause(ctx)
		}
		if blocker == "" && !box.Done && !box.Simulated && !step.Transient {
			blocker = step.Title
		}
		d.Steps = append(d.Steps, box)
	}
	return d, nil
}

// probe makes a step's check once.
func (s *script) probe(i int) *failure {
	if f := s.run(i, scenarios.Setup, false); f != nil {
		return f
	}
	return s.run(i, s.info.Steps[i].Outcome(), false)
}

// firstUnmet returns the line of a step's check that is not so yet, 0 when that is
// not known. Each line before it is so.
func (s *script) firstUnmet(i int) int {
	step := s.info.Steps[i]
	if step.Reading || !step.Has(step.Outcome()) || s.simulated(step.RealPods) != "" {
		return 0
	}
	switch f := s.probe(i); {
	case f == nil:
		return math.MaxInt
	case f.broken:
		return 0
	default:
		return f.line
	}
}

// conclude decides about what passes by: in this scenario an action after it is
// done, or later finds one in another.
func (d *Done) conclude(later func() (bool, error)) error {
	acted := false
	for i := len(d.Steps) - 1; i >= 0; i-- {
		box := &d.Steps[i]
		if !box.Done && box.transient && !box.waits {
			passed := acted
			if !passed {
				var err error
				if passed, err = later(); err != nil {
					return err
				}
			}
			if passed {
				box.Done, box.Reason = true, "has passed by"
			}
		}
		acted = acted || box.Done && box.lastingAction()
	}
	d.Done = true
	blocker := ""
	for i := range d.Steps {
		box := &d.Steps[i]
		if blocker != "" && !box.waits {
			box.waitFor(blocker)
		}
		d.Done = d.Done && (box.Done || box.Simulated)
		if blocker == "" && box.action && !box.Done && !box.Simulated {
			blocker = box.Title
		}
	}
	return nil
}

// waitFor makes a step one that is not looked at, since one before it is not done.
func (b *DoneStep) waitFor(blocker string) {
	b.Done, b.Simulated, b.waits, b.Reason = false, false, true, "comes after: "+blocker
}

func (b *DoneStep) lastingAction() bool { return b.action && !b.transient }

// Lack is what a scenario builds on and is not done.
type Lack struct {
	Of       string // the scenario that builds on it
	Scenario string
	Step     string // the first that is not done, with the reason
}

// Missing finds the first thing that is lacking to run scenarios in this order:
// what one needs must be done, or be run before it. It is nil when nothing is.
// An unknown name is an *scenarios.UnknownError.
func Missing(ctx context.Context, o Options, names []string) (*Lack, error) {
	needs := make([][]string, len(names))
	var looked []string
	for i, name := range names {
		all, err := o.Library.Needs(name)
		if err != nil {
			return nil, err
		}
		needs[i] = without(all, names[:i])
		looked = append(looked, without(needs[i], looked)...)
	}
	all, err := Check(ctx, o, looked)
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		for _, needed := range needs[i] {
			if step := all[slices.Index(looked, needed)].lacking(); step != "" {
				return &Lack{Of: name, Scenario: needed, Step: step}, nil
			}
		}
	}
	return nil, nil
}

func without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}

// lacking is the first step that is not done, "" when there is none. What passes
// by may have done so without a trace.
func (d Done) lacking() string {
	for _, box := range d.Steps {
		if !box.Done && !box.Simulated && !box.transient {
			return box.Title + ": " + box.Reason
		}
	}
	return ""
}
