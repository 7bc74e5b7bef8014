package scenarios

import "maps"

// movedOn tells whether the world has gone on since a step: what a person does
// next is done already. Then what the step would see may have passed by. Only
// checks of what is done prove that; what there is to look at may be so anyway.
// Nothing has passed by where this run has done all that there was to do so far:
// then the world has gone on without anybody.
func (s *script) movedOn(i int) bool {
	if len(s.happened) > 0 && !s.repeated {
		return false
	}
	vars, pull, since := maps.Clone(s.vars), s.pull, s.since
	defer func() { s.vars, s.pull, s.since = vars, pull, since }()
	if next, ok := s.info.nextDeed(i + 1); ok {
		return s.glance(next) == nil
	}
	names, err := order(s.library, s.info.Workshop)
	if err != nil {
		return false
	}
	found := false
	for _, name := range names {
		if !found {
			found = name == s.info.Name
			continue
		}
		later, err := newScript(s.ctx, Options{Workshop: s.info.Workshop, Name: name, World: s.world, files: s.library})
		if err != nil {
			return false
		}
		next, ok := later.info.nextDeed(0)
		done := ok && later.simulated(later.info.Steps[next].RealPods) == "" && later.glance(next) == nil
		later.close()
		if ok {
			return done
		}
	}
	return false
}

// nextDeed is the first step from i on that a person does and that lasts.
func (i Info) nextDeed(from int) (int, bool) {
	for n := from; n < len(i.Steps); n++ {
		if i.Steps[n].has(solve) && !i.Steps[n].Momentary {
			return n, true
		}
	}
	return 0, false
}
