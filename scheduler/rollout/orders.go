package rollout

import (
	"fmt"

	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// Command is what a user tells a rollout to do.
type Command string

// The commands of users.
const (
	Pause   Command = "pause"
	Resume  Command = "resume"
	Abort   Command = "abort"
	Promote Command = "promote"
)

// Give returns the state after a user's command, and what is decided in a line. The error
// is a usage.Error about a command that makes no sense in this state.
func Give(c Command, r model.Rollout, s *State, order Order) (*State, string, error) {
	next := s.clone()
	what := fmt.Sprintf("rollout %s of environment %s", r.Name, s.Environment)
	switch c {
	case Pause:
		if s.Paused != nil {
			return nil, "", usage.Errorf("%s is paused already", what)
		}
		next.Paused = &order
	case Resume:
		if s.Paused == nil && s.Stopped == nil && s.Aborted == nil {
			return nil, "", usage.Errorf("%s goes on: it is not paused, stopped or aborted", what)
		}
		next.Paused, next.Stopped, next.Aborted = nil, nil, nil
	case Abort:
		switch {
		case s.Aborted != nil:
			return nil, "", usage.Errorf("%s is aborted already", what)
		case s.Good == s.Target:
			return nil, "", usage.Errorf("%s has nothing to abort: all waves have commit %.8s; revert it on the environment's branch", what, s.Target)
		}
		next.Aborted, next.Paused, next.Stopped, next.Soak, next.Promoted = &order, nil, nil, nil, ""
		for wave := range next.Waves {
			next.Waves[wave] = s.Good
		}
	case Promote:
		if s.Good == s.Target || s.Paused != nil || s.Stopped != nil || s.Aborted != nil {
			return nil, "", usage.Errorf("%s waits in no wave: only one that is in progress can be promoted", what)
		}
		next.Promoted = present(r, s)
		return next, order.describe("wave " + next.Promoted + " is promoted"), nil
	default:
		return nil, "", usage.Errorf("%q is no command of rollouts", c)
	}
	return next, order.describe(map[Command]string{Pause: "paused", Resume: "resumed", Abort: fmt.Sprintf("aborted, back to commit %.8s", s.Good)}[c]), nil
}

// present is the last wave that has the target, and the first one before that.
func present(r model.Rollout, s *State) string {
	wave := ""
	for i, w := range r.Spec.Waves {
		if i > 0 && s.Waves[w.Name] != s.Target {
			break
		}
		wave = w.Name
	}
	return wave
}
