package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kalypso-dev/kalypso/internal/retry"
	"github.com/kalypso-dev/kalypso/scenarios"
)

// poll is the pause between two tries. A measured time is longer than the true
// one by up to this.
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
