package supervisor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// group are the units that are stopped and started together while the others
// go on: all of one cluster.
type group struct {
	name  string
	units []*unit

	// guarded by Supervisor.mu
	absence *absence      // nil while the group is wanted
	leave   chan struct{} // closed when it is told to go; a new one when it is called back
}

// absence is one time of a group's being stopped.
type absence struct {
	reason string
	ended  map[*unit]chan struct{} // closed when the unit has ended
	over   chan struct{}           // closed when the group is called back
	errs   []error                 // of ending; guarded by Supervisor.mu
}

// UnknownGroupError is about a group that no unit belongs to.
type UnknownGroupError struct {
	Name  string
	Known []string
}

func (e *UnknownGroupError) Error() string {
	return fmt.Sprintf("there is no group %q: choose one of %s", e.Name, strings.Join(e.Known, ", "))
}

func (s *Supervisor) findGroup(name string) (*group, error) {
	unknown := &UnknownGroupError{Name: name}
	for _, g := range s.groups {
		if g.name == name {
			return g, nil
		}
		unknown.Known = append(unknown.Known, g.name)
	}
	return nil, unknown
}

// Hold tells a group to stay away, and returns at once. Called before Run, the
// group is not started at all. The reason is for people; it is kept in the
// status of the group's units. On a group that is away already it changes
// nothing.
//
// Units of other groups do not wait for a unit that is held. One that has been
// started without it is started again when it comes for the first time.
func (s *Supervisor) Hold(name, reason string) error {
	g, err := s.findGroup(name)
	if err == nil {
		s.hold(g, reason)
	}
	return err
}

func (s *Supervisor) hold(g *group, reason string) *absence {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g.absence == nil {
		g.absence = &absence{reason: reason, ended: map[*unit]chan struct{}{}, over: make(chan struct{})}
		for _, u := range g.units {
			g.absence.ended[u] = make(chan struct{})
		}
		close(g.leave)
	}
	return g.absence
}

// Stop ends a group, each unit after those of the group that need it, and
// keeps it from starting until Start. It returns when all of it has ended.
// When ctx ends before, the group goes on ending. On a group that is away it
// does nothing.
func (s *Supervisor) Stop(ctx context.Context, name, reason string) error {
	g, err := s.findGroup(name)
	if err != nil {
		return err
	}
	a := s.hold(g, reason)
	if err := s.awaitEnd(ctx, g, a); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(a.errs...)
}

// Start calls a group back, and returns as soon as its units are about to
// start; whether they become ready is for the caller to watch. A group that is
// still ending ends first. On a group that is not away it does nothing.
func (s *Supervisor) Start(ctx context.Context, name string) error {
	g, err := s.findGroup(name)
	if err != nil {
		return err
	}
	a := s.absenceOf(g)
	if a == nil {
		return nil
	}
	if err := s.awaitEnd(ctx, g, a); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if g.absence != a {
		return nil // somebody else was faster
	}
	for _, u := range g.units {
		s.setLocked(u, func(st *Status) { st.State, st.Held, st.Reason = Waiting, false, "" })
	}
	g.absence, g.leave = nil, make(chan struct{})
	close(a.over)
	return nil
}

func (s *Supervisor) awaitEnd(ctx context.Context, g *group, a *absence) error {
	// from the one that ends first, so that the error names who is at it
	for _, u := range slices.Backward(g.units) {
		select {
		case <-a.ended[u]:
		case <-s.ending:
			return fmt.Errorf("%s: everything is being stopped", g.name)
		case <-ctx.Done():
			return fmt.Errorf("stop %s: %s is %s: %w", g.name, u.Name, s.statusOf(u).State, ctx.Err())
		}
	}
	return nil
}

// absenceOf is nil for a group that is wanted, and for no group.
func (s *Supervisor) absenceOf(g *group) *absence {
	if g == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return g.absence
}

// leaveOf is closed while the group is to stay away. It is nil for no group.
func (s *Supervisor) leaveOf(g *group) <-chan struct{} {
	if g == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return g.leave
}

// readyOf is closed when the unit has been ready once since it was started or
// called back.
func (s *Supervisor) readyOf(u *unit) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return u.ready
}

// presence returns a context that ends when the unit's group is to go.
func (s *Supervisor) presence(ctx context.Context, u *unit) (context.Context, context.CancelFunc) {
	here, cancel := context.WithCancel(ctx)
	leave := s.leaveOf(u.group)
	if leave == nil {
		return here, cancel
	}
	select {
	case <-leave:
		cancel() // at once: it must not even begin
		return here, cancel
	default:
	}
	go func() {
		select {
		case <-leave:
			cancel()
		case <-here.Done():
		}
	}()
	return here, cancel
}

// goAway ends a unit once nothing of its group that needs it runs. It returns
// false when ctx ends before; then the supervisor's own end does the rest.
func (s *Supervisor) goAway(ctx context.Context, u *unit, a *absence) bool {
	for _, other := range u.group.units {
		if !slices.Contains(other.needs, u) {
			continue
		}
		select {
		case <-a.ended[other]:
		case <-ctx.Done():
			return false
		}
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
	defer cancel()
	if s.statusOf(u).State != Waiting {
		s.set(u, func(st *Status) { st.State, st.Reason, st.LogTail = Stopping, "", nil })
	}
	err := u.Component.Stop(stop)
	select {
	case <-u.repair: // it was for what has ended now
	default:
	}
	u.crashes, u.started = nil, false
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-u.ready:
		u.ready = make(chan struct{})
	default: // somebody may wait for it already
	}
	s.setLocked(u, func(st *Status) {
		st.State, st.Held, st.PID, st.Reason = Stopped, true, 0, a.reason
		if err != nil {
			st.State, st.Reason, st.LastFailure = Failed, err.Error(), err.Error()
		}
	})
	if err != nil {
		s.log.Error("does not end", "component", u.Name, "reason", err)
		a.errs = append(a.errs, fmt.Errorf("stop %s: %w", u.Name, err))
	}
	close(a.ended[u])
	return true
}

// hasEnded tells whether a unit has ended as a part of its group.
func (s *Supervisor) hasEnded(u *unit) bool {
	a := s.absenceOf(u.group)
	if a == nil {
		return false
	}
	select {
	case <-a.ended[u]:
		return true
	default:
		return false
	}
}
