package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/internal/retry"
	"github.com/kalypso-dev/kalypso/scenarios"
)

// poll is the pause between two tries. A measured time is longer than the true
// one by up to this, on a slow machine by up to what a try takes.
const poll = 100 * time.Millisecond

// retry calls check until it returns nil, or an error that another try cannot
// mend, or the limit has passed. The error then has check's last reason. A
// script that does not wait tries once.
func (s *script) retry(limit time.Duration, check func() error) error {
	if !s.waits {
		return check()
	}
	began := time.Now()
	report := retry.Notify(func(reason error) {
		s.report(scenarios.Event{Kind: scenarios.StepWaits, Elapsed: time.Since(began), Reason: reason.Error()})
	})
	err := retry.Until(s.ctx, "the step", limit, func(context.Context) error { return check() }, retry.Every(poll), report)
	var timeout *retry.TimeoutError
	switch {
	case s.ctx.Err() != nil:
		return s.ctx.Err()
	case errors.As(err, &timeout):
		return unmet("not within %s: %w", limit, timeout.Reason)
	}
	return err
}

func duration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a duration such as 30s", text)
	}
	return d, nil
}

func (s *script) runEventually(args []string) error {
	limit, err := duration(args[0])
	if err != nil {
		return err
	}
	line, negated := args[1:], false
	if line[0] == "!" && len(line) > 1 {
		line, negated = line[1:], true
	}
	w, _, err := findCommand(line)
	if err != nil {
		return err
	}
	if !w.isReadOnly(line) {
		return fmt.Errorf("%s cannot be tried again and again: it does something", w.name)
	}
	return s.retry(limit, func() error { return s.stoppedCluster(line, s.call(line, negated)) })
}

func (s *script) runMeasure(args []string) error {
	name, event := args[0], args[2]
	if args[1] != "since" || event != "push" && event != "merge" {
		return errors.New("usage: measure NAME since push|merge")
	}
	began, ok := s.happened[event]
	if !s.waits {
		return nil // a probe is no measurement
	}
	if !ok {
		fmt.Fprintf(&s.ran, "not measured: no %s in this run\n", event)
		return nil
	}
	s.measured = append(s.measured, scenarios.Measurement{Name: name, Took: time.Since(began)})
	return nil
}

// absent is a part of the sandbox that does not run.
type absent struct {
	name string
	what string // for a user, with what brings it back
}

const (
	statusLimit = 5 * time.Second
	// statusPause is between two looks at the sandbox while a command waits.
	statusPause = 3 * time.Second
	// restartTime is how long a part that is only restarted can be away.
	restartTime = 2 * time.Second
)

// absent asks the sandbox for its parts that have been stopped or given up, at
// least so long ago. Where it cannot be asked, nothing is known of any.
func (s *script) absent(ago time.Duration) []absent {
	ctx, cancel := context.WithTimeout(s.ctx, statusLimit)
	defer cancel()
	b, err := s.programCommand(ctx, s.access.Kalypso, "status", "-o", "json").Output()
	if err != nil {
		return nil
	}
	var status struct {
		Running    bool
		Components []struct {
			Name, Group, State string
			Since              time.Time
		}
	}
	if json.Unmarshal(b, &status) != nil {
		return nil
	}
	if !status.Running {
		return []absent{{what: "the sandbox is down: `kalypso up` brings it back"}}
	}
	var all []absent
	for _, c := range status.Components {
		if time.Since(c.Since) < ago {
			continue
		}
		a := absent{name: c.Name}
		switch {
		case c.State == "failed":
			a.what = fmt.Sprintf("%s has failed: `kalypso status` says why", c.Name)
		case c.State == "stopped" && c.Group != "":
			a.name = c.Group
			a.what = fmt.Sprintf("cluster %s is stopped: `kalypso start %[1]s` brings it back", c.Group)
		case c.State == "stopped":
			a.what = fmt.Sprintf("%s is stopped: `kalypso start %[1]s` brings it back", c.Name)
		default:
			continue
		}
		if !slices.Contains(all, a) {
			all = append(all, a)
		}
	}
	return all
}

// addStopped says in a failure what of the sandbox does not run: a program that
// needs it does not name it.
func (s *script) addStopped(f *failure) {
	if s.ctx.Err() != nil {
		return
	}
	for _, a := range s.absent(0) {
		if !strings.Contains(f.reason, a.what) {
			f.reason = a.what + "; " + f.reason
		}
		if !strings.Contains(f.output, a.what) {
			f.output += "\n" + a.what
		}
	}
}

// stoppedCluster ends the wait of a command that asks a cluster which does not answer
// since it is stopped.
func (s *script) stoppedCluster(line []string, err error) error {
	var not *unmetError
	if err == nil || !s.waits || errors.As(err, &not) && !strings.Contains(err.Error(), "refused") {
		return err
	}
	cluster := clusterOf(line)
	if !slices.Contains(line, "--context") || time.Since(s.askedStatus) < statusPause {
		return err
	}
	s.askedStatus = time.Now()
	for _, a := range s.absent(restartTime) {
		if a.name == cluster {
			return retry.Permanent(fmt.Errorf("%s; %w", a.what, err))
		}
	}
	return err
}
