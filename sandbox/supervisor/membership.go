package supervisor

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Add takes more units, each after those that it needs, of the ones that there are
// or of these. They are started as those of New are; whether they become ready is
// for the caller to watch. Units may not join a group that there is already. With an
// error none is taken.
func (s *Supervisor) Add(units ...Unit) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return errors.New("everything is being stopped")
	}
	for _, u := range units {
		if slices.ContainsFunc(s.groups, func(g *group) bool { return g.name == u.Group }) {
			return fmt.Errorf("unit %s: there is a group %s already", u.Name, u.Group)
		}
	}
	unitsBefore, groupsBefore := s.units, s.groups
	if err := s.takeLocked(units); err != nil {
		s.units, s.groups = unitsBefore, groupsBefore
		return err
	}
	if s.ctx != nil {
		for _, u := range s.units[len(unitsBefore):] {
			s.running.Go(func() { s.keep(s.ctx, u) })
		}
	}
	s.changedLocked()
	return nil
}

// Remove ends a group as Stop does, and forgets its units; the reason is their
// status meanwhile. What needs one of them goes on. The error is an
// *UnknownGroupError for one that there is not. With any other error the group is
// held, and Remove can be called again.
func (s *Supervisor) Remove(ctx context.Context, name, reason string) error {
	g, err := s.findGroup(name)
	if err != nil {
		return err
	}
	a := s.hold(g, reason)
	if err := s.awaitEnd(ctx, g, a); err != nil {
		return err
	}
	for _, u := range slices.Backward(g.units) {
		if s.statusOf(u).State == Failed { // it did not end; nothing else calls it now
			if err := u.Component.Stop(ctx); err != nil {
				return fmt.Errorf("stop %s: %w", u.Name, err)
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if g.stoppage != a {
		return fmt.Errorf("%s has been started again meanwhile", name)
	}
	s.units = slices.DeleteFunc(slices.Clone(s.units), func(u *unit) bool { return u.group == g })
	s.groups = slices.DeleteFunc(slices.Clone(s.groups), func(other *group) bool { return other == g })
	close(g.removed)
	s.changedLocked()
	return nil
}

// takeLocked appends units that are not there yet, in the order of their needs.
func (s *Supervisor) takeLocked(units []Unit) error {
	s.units, s.groups = slices.Clone(s.units), slices.Clone(s.groups)
	byName := map[string]*unit{}
	for _, u := range s.units {
		byName[u.Name] = u
	}
	for _, u := range units {
		n := newUnit(u)
		for _, need := range u.Needs {
			// needs must stand before: that is the order of starting, and rules out cycles
			d, ok := byName[need]
			if !ok {
				return fmt.Errorf("unit %s needs %s, which no unit before it is", u.Name, need)
			}
			n.needs = append(n.needs, d)
		}
		if byName[u.Name] != nil {
			return fmt.Errorf("two units are named %s", u.Name)
		}
		byName[u.Name] = n
		s.units = append(s.units, n)
		s.joinLocked(n)
	}
	return nil
}

// joinLocked puts a unit into the group that it names.
func (s *Supervisor) joinLocked(u *unit) {
	if u.Group == "" {
		return
	}
	i := slices.IndexFunc(s.groups, func(g *group) bool { return g.name == u.Group })
	if i < 0 {
		i = len(s.groups)
		s.groups = append(s.groups, &group{name: u.Group, held: make(chan struct{}), removed: make(chan struct{})})
	}
	u.group = s.groups[i]
	u.group.units = append(u.group.units, u)
}

// changedLocked lets the receivers of changes begin anew, with the units of now.
func (s *Supervisor) changedLocked() {
	for c := range s.subscribers {
		s.dropLocked(c)
	}
}

// all are the units of now. The slice is never changed.
func (s *Supervisor) all() []*unit {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.units
}

// Ended is closed when Run has stopped everything.
func (s *Supervisor) Ended() <-chan struct{} { return s.ended }
