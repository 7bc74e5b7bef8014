package scenarios

import (
	"errors"
	"fmt"
	"time"
)

// poll is how long a wait pauses between two looks. A measured time is longer
// than the true one by up to this.
const poll = 100 * time.Millisecond

// retry calls look until it returns nil, or an error that another look cannot
// mend, or the limit has passed. The error then has look's last reason. Where
// nobody is patient, it looks once.
func (s *script) retry(limit time.Duration, look func() error) error {
	began := time.Now()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		err := look()
		var hopeless *hopelessError
		if err == nil || errors.As(err, &hopeless) || !s.patient {
			return err
		}
		if s.ctx.Err() != nil {
			return s.ctx.Err()
		}
		elapsed := time.Since(began)
		if elapsed >= limit {
			return unmet("not within %s: %w", limit, err)
		}
		s.tell(Event{Kind: StepWaits, Elapsed: elapsed, Reason: err.Error()})
		select {
		case <-s.ctx.Done():
		case <-tick.C:
		}
	}
}

// hopelessError is one that waiting does not mend.
type hopelessError struct{ error }

func (e *hopelessError) Unwrap() error { return e.error }

func hopeless(format string, args ...any) error {
	return &hopelessError{fmt.Errorf(format, args...)}
}

func (s *script) wordEventually(args []string) error {
	limit, err := time.ParseDuration(args[0])
	if err != nil {
		return fmt.Errorf("%q is not a duration such as 30s", args[0])
	}
	line, negated := args[1:], false
	if line[0] == "!" && len(line) > 1 {
		line, negated = line[1:], true
	}
	w, _, err := findWord(line)
	if err != nil {
		return err
	}
	if !w.onlyLooks(line) {
		return fmt.Errorf("%s cannot be tried again and again: it does something", w.name)
	}
	return s.retry(limit, func() error { return s.orStopped(line, s.call(line, negated)) })
}

func (s *script) wordMeasure(args []string) error {
	name, event := args[0], args[2]
	if args[1] != "since" || event != "push" && event != "merge" {
		return errors.New("usage: measure NAME since push|merge")
	}
	began, ok := s.happened[event]
	if !s.patient {
		return nil // a glance is no measurement
	}
	if !ok {
		fmt.Fprintf(&s.ran, "not measured: no %s in this run\n", event)
		return nil
	}
	s.measured = append(s.measured, Measurement{Name: name, Took: time.Since(began)})
	return nil
}
