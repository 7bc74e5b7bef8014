package engine

import (
	"context"
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

	transient bool
}

// Check finds out how far scenarios are done. It looks once, does nothing, and
// knows nothing of who ran or learned what: only what is so counts. What passes
// by counts as done when anything after it is done. Steps build on each other,
// so that none is done after one that is not.
func Check(ctx context.Context, o Options, names []string) ([]Done, error) {
	o = o.withDefaults()
	all := make([]Done, len(names))
	for i, name := range names {
		o.Name = name
		var err error
		if all[i], err = checkOne(ctx, o); err != nil {
			return nil, err
		}
	}
	return all, concludeAll(ctx, o, all)
}

// concludeAll decides about what passes by. What comes later is so in the
// tutorial, in whatever order it was asked for, and whether or not it was. What
// stands apart is judged by itself: its checks are of things that are gone, and
// say nothing about others.
func concludeAll(ctx context.Context, o Options, all []Done) error {
	ordered, err := o.Library.Order(o.Workshop)
	if err != nil {
		return err
	}
	asked := map[string][]int{}
	for i, d := range all {
		asked[d.Name] = append(asked[d.Name], i)
		if !slices.Contains(ordered, d.Name) {
			all[i].conclude(false)
		}
	}
	later, behind := false, ordered[len(ordered):] // behind is not asked for
	for i, name := range slices.Backward(ordered) {
		if asked[name] == nil {
			behind = ordered[i : i+len(behind)+1]
			continue
		}
		if !later {
			if later, err = laterDone(ctx, o, behind); err != nil {
				return err
			}
		}
		was := later
		for _, n := range asked[name] {
			later = all[n].conclude(was)
		}
		behind = ordered[i:i]
	}
	return nil
}

// laterDone says whether a user has done the first thing that lasts in the
// scenarios that come after.
func laterDone(ctx context.Context, o Options, names []string) (bool, error) {
	for _, name := range names {
		o.Name = name
		s, err := newScript(ctx, o)
		if err != nil {
			return false, err
		}
		next, ok := nextAction(s.info, 0)
		done := ok && s.simulated(s.info.Steps[next].RealPods) == "" && s.probe(next) == nil
		s.close()
		if ok {
			return done, nil
		}
	}
	return false, nil
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
		box := DoneStep{Title: step.Title, transient: step.Transient}
		if blocker != "" {
			box.Reason = "comes after: " + blocker
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

// conclude decides about what passes by, and returns whether anything from
// here on is done.
func (d *Done) conclude(later bool) bool {
	d.Done = true
	for i := len(d.Steps) - 1; i >= 0; i-- {
		box := &d.Steps[i]
		if !box.Done && box.transient && later {
			box.Done, box.Reason = true, "has passed by"
		}
		d.Done = d.Done && (box.Done || box.Simulated)
		later = later || box.Done && !box.transient
	}
	return later
}

// Lack is what a scenario builds on and is not done.
type Lack struct {
	Of       string // the scenario that builds on it
	Scenario string
	Step     string // the first that is not done, with the reason
}

// Missing finds the first thing that is lacking to run scenarios in this order:
// what comes before one in the tutorial must be done, or be run before it. It is
// nil when nothing is. An unknown name is an *scenarios.UnknownError.
func Missing(ctx context.Context, o Options, names []string) (*Lack, error) {
	o = o.withDefaults()
	ordered, err := o.Library.Order(o.Workshop)
	if err != nil {
		return nil, err
	}
	builtOn := make([][]string, len(names))
	var looked []string
	for i, name := range names {
		if _, err := o.Library.Source(o.Workshop, name); err != nil {
			return nil, err
		}
		builtOn[i] = without(before(ordered, name), names[:i])
		looked = append(looked, without(builtOn[i], looked)...)
	}
	all, err := Check(ctx, o, looked)
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		for n, needed := range builtOn[i] {
			done := all[slices.Index(looked, needed)]
			// what passes by is not known from what comes after it, in the last one
			if step := done.lacking(n == len(builtOn[i])-1); step != "" {
				return &Lack{Of: name, Scenario: needed, Step: step}, nil
			}
		}
	}
	return nil, nil
}

// before is what comes before a scenario; one that stands apart comes after all.
func before(ordered []string, name string) []string {
	if i := slices.Index(ordered, name); i >= 0 {
		return ordered[:i]
	}
	return ordered
}

func without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}

// lacking is the first step that is not done, "" when there is none.
func (d Done) lacking(last bool) string {
	for _, box := range d.Steps {
		if !box.Done && !box.Simulated && !(box.transient && last) {
			return box.Title + ": " + box.Reason
		}
	}
	return ""
}
