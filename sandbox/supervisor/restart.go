package supervisor

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// errRestart is how a unit's goroutine tells itself that it has been asked to
// restart the unit. It never leaves the package.
var errRestart = errors.New("asked to restart")

// UnknownUnitError is about a unit that there is not.
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
	if a := s.absenceOf(u.group); a != nil {
		return s.heldError(u, a)
	}
	leave := s.leaveOf(u.group)
	if s.statusOf(u).State == Waiting {
		return fmt.Errorf("%s has not been started yet: %s", name, s.waitsFor(u))
	}
	taken := make(chan struct{})
	select {
	case u.restart <- taken:
		<-taken
		return nil
	case <-leave:
		if a := s.absenceOf(u.group); a != nil {
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

func (s *Supervisor) heldError(u *unit, a *absence) error {
	return fmt.Errorf("%s belongs to %s, which is away: %s", u.Name, u.Group, a.reason)
}

func (s *Supervisor) find(name string) (*unit, error) {
	unknown := &UnknownUnitError{Name: name}
	for _, u := range s.units {
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
// any more: somebody looks after the unit.
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
