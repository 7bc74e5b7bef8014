package scenarios

import "slices"

// movedOn tells whether the world has gone on since a step, so that what it
// would see may have passed by. Nothing has where this run has done all that
// there was to do so far: then the world has gone on without anybody.
func (s *script) movedOn(i int) bool {
	return (len(s.happened) == 0 || s.repeated) && s.nextDone(i)
}

// nextDone tells whether what a person does next after a step is done already.
// Only checks of what is done prove that; what there is to look at may be so
// anyway.
func (s *script) nextDone(i int) bool {
	defer s.remembered()()
	if next, ok := s.info.nextDeed(i + 1); ok {
		return s.glance(next) == nil
	}
	names, err := order(s.library, s.info.Workshop)
	if err != nil {
		return false
	}
	// one that stands apart has nothing after it
	here := slices.Index(names, s.info.Name)
	if here < 0 {
		return false
	}
	done, err := doneAfter(s.ctx, Options{Workshop: s.info.Workshop, World: s.world, files: s.library}, names[here+1:])
	return done && err == nil
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
