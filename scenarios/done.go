package scenarios

import (
	"context"
	"slices"
)

// Done is how far a scenario is done, whoever has done it.
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

	momentary bool
}

// Check finds out how far scenarios are done. It looks once, does nothing, and
// knows nothing of who ran or learned what: only what is so counts. What passes
// by counts as done when anything after it is done. Steps build on each other,
// so that none is done after one that is not.
func Check(ctx context.Context, o Options, names []string) ([]Done, error) {
	if o.files == nil {
		o.files = library
	}
	all := make([]Done, 0, len(names))
	for _, name := range names {
		o.Name = name
		d, err := checkOne(ctx, o)
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	later := false
	for i := len(all) - 1; i >= 0; i-- {
		later = all[i].conclude(later)
	}
	return all, nil
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
		box := DoneStep{Title: step.Title, momentary: step.Momentary}
		if blocker != "" {
			box.Reason = "comes after: " + blocker
		} else if why := s.simulated(step.RealPods); why != "" {
			box.Simulated, box.Reason = true, why
		} else if f := s.glance(i); f != nil {
			box.Reason = inOneLine(f.reason)
		} else {
			box.Done = true
		}
		if ctx.Err() != nil {
			return Done{}, context.Cause(ctx)
		}
		if blocker == "" && !box.Done && !box.Simulated && !step.Momentary {
			blocker = step.Title
		}
		d.Steps = append(d.Steps, box)
	}
	return d, nil
}

// glance makes a step's check once.
func (s *script) glance(i int) *failure {
	if f := s.run(i, setup, false); f != nil {
		return f
	}
	return s.run(i, s.info.Steps[i].seen(), false)
}

// conclude decides about what passes by, and returns whether anything from
// here on is done.
func (d *Done) conclude(later bool) bool {
	d.Done = true
	for i := len(d.Steps) - 1; i >= 0; i-- {
		box := &d.Steps[i]
		if !box.Done && box.momentary && later {
			box.Done, box.Reason = true, "has passed by"
		}
		d.Done = d.Done && (box.Done || box.Simulated)
		later = later || box.Done && !box.momentary
	}
	return later
}

// Missing is the first scenario before one that is not done, with the first
// step that it lacks; "" when there is none. An unknown name is an
// *UnknownError.
func Missing(ctx context.Context, o Options, name string) (scenario, step string, err error) {
	if o.files == nil {
		o.files = library
	}
	if _, err := source(o.files, o.Workshop, name); err != nil {
		return "", "", err
	}
	names, err := order(o.files, o.Workshop)
	if err != nil {
		return "", "", err
	}
	if i := slices.Index(names, name); i >= 0 { // one that stands apart comes after all
		names = names[:i]
	}
	all, err := Check(ctx, o, names)
	if err != nil {
		return "", "", err
	}
	for i, d := range all {
		for _, box := range d.Steps {
			// what passes by has nothing after it to be told by, in the last one
			if !box.Done && !box.Simulated && !(box.momentary && i == len(all)-1) {
				return d.Name, box.Title + ": " + box.Reason, nil
			}
		}
	}
	return "", "", nil
}
