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
	name    string
	units   []*unit       // all come at once
	removed chan struct{} // closed when the group is removed

	// guarded by Supervisor.mu
	stoppage *stoppage     // nil while the group is wanted
	held     chan struct{} // closed when the group is held; a new one when it is started
}

// stoppage is one time that a group is stopped, from Hold to Start.
type stoppage struct {
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
	s.mu.Lock()
	defer s.mu.Unlock()
	unknown := &UnknownGroupError{Name: name}
	for _, g := range s.groups {
		if g.name == name {
			return g, nil
		}
		unknown.Known = append(unknown.Known, g.name)
	}
	return nil, unknown
}

// Hold stops a group for good, and returns at once. Called before Run, the
// group is not started at all. The reason is for messages; it is kept in the
// status of the group's units. On a group that is held already it changes
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

func (s *Supervisor) hold(g *group, reason string) *stoppage {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g.stoppage == nil {
		g.stoppage = &stoppage{reason: reason, ended: map[*unit]chan struct{}{}, over: make(chan struct{})}
		for _, u := range g.units {
			g.stoppage.ended[u] = make(chan struct{})
		}
		close(g.held)
	}
	return g.stoppage
}

// Stop ends a group, each unit after those of the group that need it, and
// keeps it from starting until Start. It returns when all of it has ended.
// When ctx ends before, the group goes on ending. On a group that is held it
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
// still ending ends first. On a group that is not held it does nothing.
func (s *Supervisor) Start(ctx context.Context, name string) error {
	g, err := s.findGroup(name)
	if err != nil {
		return err
	}
	a := s.stoppageOf(g)
	if a == nil {
		return nil
	}
	if err := s.awaitEnd(ctx, g, a); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if g.stoppage != a {
		return nil // another caller was faster
	}
	for _, u := range g.units {
		s.setLocked(u, func(st *Status) { st.State, st.Held, st.Reason = Waiting, false, "" })
	}
	g.stoppage, g.held = nil, make(chan struct{})
	close(a.over)
	return nil
}

func (s *Supervisor) awaitEnd(ctx context.Context, g *group, a *stoppage) error {
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

// stoppageOf is nil for a group that is wanted, and for no group.
func (s *Supervisor) stoppageOf(g *group) *stoppage {
	if g == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return g.stoppage
}

// heldOf returns a channel that is closed while the group is held; nil for no
// group.
func (s *Supervisor) heldOf(g *group) <-chan struct{} {
	if g == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return g.held
}

// readyOf is closed when the unit has been ready once since it was started or
// called back.
func (s *Supervisor) readyOf(u *unit) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return u.ready
}

// wantedContext returns a context that ends when the unit's group is held.
func (s *Supervisor) wantedContext(ctx context.Context, u *unit) (context.Context, context.CancelFunc) {
	wanted, cancel := context.WithCancel(ctx)
	held := s.heldOf(u.group)
	if held == nil {
		return wanted, cancel
	}
	select {
	case <-held:
		cancel() // at once: it must not even begin
		return wanted, cancel
	default:
	}
	go func() {
		select {
		case <-held:
			cancel()
		case <-wanted.Done():
		}
	}()
	return wanted, cancel
}

// stopHeld ends a unit once nothing of its group that needs it runs. It returns
// false when ctx ends before; then the supervisor's own end does the rest.
func (s *Supervisor) stopHeld(ctx context.Context, u *unit, a *stoppage) bool {
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
	default: // another unit may wait for it already
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

// hasEnded reports whether a unit has ended as a part of its group.
func (s *Supervisor) hasEnded(u *unit) bool {
	a := s.stoppageOf(u.group)
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

// errRestart is the end of a unit that has been asked to restart. It never leaves
// the package.
var errRestart = errors.New("asked to restart")

// UnknownUnitError is about a unit that does not exist.
type UnknownUnitError struct {
	Name  string
	Known []string // in the order of starting
}

func (e *UnknownUnitError) Error() string {
	return fmt.Sprintf("there is no component %q: choose one of %s", e.Name, strings.Join(e.Known, ", "))
}

// Restart ends a unit and starts it again, whatever state it is in. It returns
// as soon as the unit has begun to end, so that the next [Supervisor.Watch]
// cannot show the time before; whether it becomes ready again is for the
// caller to watch. A unit that does something which cannot be interrupted
// takes the request when it is done, and the error says what it does when ctx
// ends before.
//
// What needs the unit is left as it is. A unit that has not been started yet, or
// is held, cannot be restarted, and a task is done once more.
func (s *Supervisor) Restart(ctx context.Context, name string) error {
	u, err := s.find(name)
	if err != nil {
		return err
	}
	if a := s.stoppageOf(u.group); a != nil {
		return s.heldError(u, a)
	}
	held := s.heldOf(u.group)
	if s.statusOf(u).State == Waiting {
		return fmt.Errorf("%s has not been started yet: %s", name, s.waitsFor(u))
	}
	taken := make(chan struct{})
	select {
	case u.restart <- taken:
		<-taken
		return nil
	case <-held:
		if a := s.stoppageOf(u.group); a != nil {
			return s.heldError(u, a)
		}
		return fmt.Errorf("%s has just been stopped and started with all of %s", name, u.Group)
	case <-s.ending:
		return fmt.Errorf("%s is not restarted: everything is being stopped", name)
	case <-ctx.Done():
		st := s.statusOf(u)
		reason := ""
		if st.Reason != "" {
			reason = " (" + st.Reason + ")"
		}
		return fmt.Errorf("%s is %s%s and does not take the request: %w", name, st.State, reason, ctx.Err())
	}
}

func (s *Supervisor) heldError(u *unit, a *stoppage) error {
	return fmt.Errorf("%s belongs to %s, which is stopped: %s", u.Name, u.Group, a.reason)
}

func (s *Supervisor) find(name string) (*unit, error) {
	unknown := &UnknownUnitError{Name: name}
	for _, u := range s.all() {
		if u.Name == name {
			return u, nil
		}
		unknown.Known = append(unknown.Known, u.Name)
	}
	return nil, unknown
}

func (s *Supervisor) waitsFor(u *unit) string {
	var all []string
	for _, need := range u.needs {
		if st := s.statusOf(need); st.State != Ready {
			all = append(all, fmt.Sprintf("%s, which is %s", need.Name, st.State))
		}
	}
	if len(all) == 0 {
		return "it is about to be"
	}
	return "it waits for " + strings.Join(all, ", and for ")
}

// takeRestart lets the caller of Restart go. Crashes of before do not count
// any more: the user looks after the unit.
func (s *Supervisor) takeRestart(u *unit, taken chan<- struct{}) {
	s.log.Info("restart asked for", "component", u.Name)
	u.crashes = nil
	s.set(u, func(st *Status) { st.State, st.PID, st.Reason, st.LogTail = Stopping, 0, "", nil })
	close(taken)
}

// endForRestart ends what a unit is to be started anew from.
func (s *Supervisor) endForRestart(ctx context.Context, u *unit) error {
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
	defer cancel()
	if err := u.Component.Stop(stop); err != nil {
		return fmt.Errorf("stop for a restart: %w", err)
	}
	return nil
}
