package engine

import (
	"context"
	"errors"
	"time"

	"github.com/kalypso-dev/kalypso/scenarios"
)

// Attempt is a user's way through a scenario, wherever they do it: it makes the checks
// of the steps, does a step for the user, and keeps the progress. A lesson in a terminal
// is one, and so is a scenario on the hub's pages.
//
// Steps build on each other: a check uses what those before it have found, such as the
// commit that was pushed. So an attempt makes, besides the check that it is asked for, the
// earlier ones that it has not made yet. It is for one goroutine at a time.
type Attempt struct {
	*Page
	progress *scenarios.Progress
	script   *script
	before   []memory // what commands remember when each step begins, and after the last
	looks    []look   // the last check of each step
}

// look is what a check of an attempt has found.
type look struct {
	made bool
	so   bool
	had  bool // the step counted as done after it
}

// Probe is what a step's check finds.
type Probe struct {
	State ProbeState
	// Reason says why it is not so yet, or why that cannot be found out; it may have
	// several lines.
	Reason string
	// Unmet is the line of the check that is not so yet, when it is known. Each line
	// before it is so.
	Unmet int
}

// ProbeState is how a step is.
type ProbeState string

const (
	Holds    ProbeState = "done"    // what the step is about is so
	PassedBy ProbeState = "passed"  // it was: what comes after it is done already
	NotYet   ProbeState = "waiting" // the check was made, and it is not so yet
	// CannotCheck is when the check could not be made: nothing is known of the step.
	CannotCheck ProbeState = "unknown"
	// Simulated is when the check needs pods that really run, and here they do not.
	Simulated ProbeState = "simulated"
)

// Done says whether the step is done, as far as a check can say it.
func (g Probe) Done() bool { return g.State == Holds || g.State == PassedBy }

// NewAttempt prepares an attempt, which goes on where the progress is. The context is
// that of its requests to the forge; Close ends the attempt. An unknown scenario is a
// [scenarios.UnknownError].
func NewAttempt(ctx context.Context, o Options, progress *scenarios.Progress) (*Attempt, error) {
	page, err := NewPage(o.Library, o.Name, PageOptions{OrgURL: o.Access.OrgURL()})
	if err != nil {
		return nil, err
	}
	s, err := newScript(ctx, o)
	if err != nil {
		return nil, err
	}
	n := len(s.info.Steps)
	return &Attempt{Page: page, progress: progress, script: s, before: make([]memory, n+1), looks: make([]look, n)}, nil
}

// Close removes what the attempt has on disk besides the progress.
func (a *Attempt) Close() { a.script.close() }

// Probe makes a step's check once, and notes the step as done when it is, or not any
// more. What there is only to look at is done when the user says so, by [Attempt.Acknowledge].
// An error says that the check was cut off, or that the progress cannot be kept.
func (a *Attempt) Probe(ctx context.Context, i int) (Probe, error) {
	if err := a.progress.Reload(); err != nil {
		return Probe{}, err
	}
	for j, l := range a.looks[:i] {
		// one that others have done meanwhile is looked at again
		if l.made && (l.so || l.had == a.has(j)) {
			continue
		}
		if _, err := a.check(ctx, j); err != nil {
			return Probe{}, err
		}
	}
	return a.check(ctx, i)
}

func (a *Attempt) has(i int) bool { return a.progress.Has(a.Info, a.Info.Steps[i].Title) }

// check is Probe for a step whose predecessors were looked at.
func (a *Attempt) check(ctx context.Context, i int) (Probe, error) {
	step := a.Info.Steps[i]
	a.begin(ctx, i)
	g := Probe{State: Holds}
	if why := a.script.simulated(step.RealPods); why != "" {
		g = Probe{State: Simulated, Reason: why}
	} else if f := a.script.probe(i); f != nil {
		switch {
		case step.Transient && a.script.nextDone(i): // somebody has gone on
			g.State = PassedBy
		case f.broken:
			g = Probe{State: CannotCheck, Reason: f.reason}
		default:
			g = Probe{State: NotYet, Reason: f.reason, Unmet: f.line}
		}
	}
	if ctx.Err() != nil { // what was cut off says nothing
		return Probe{}, context.Cause(ctx)
	}
	var err error
	switch {
	case g.Done() && !step.Reading:
		err = a.progress.Add(a.Info, step.Title)
	case g.State == NotYet && !step.Transient && a.has(i):
		err = a.progress.Remove(a.Info, step.Title)
	}
	a.before[i+1] = a.script.memory()
	if l := a.looks[i]; l.so != g.Done() || !l.made {
		clear(a.looks[i+1:]) // they have seen something else
	}
	a.looks[i] = look{made: true, so: g.Done(), had: a.has(i)}
	return g, err
}

// begin makes a step the present one.
func (a *Attempt) begin(ctx context.Context, i int) {
	a.script.ctx = ctx
	a.script.deadline, _ = ctx.Deadline()
	a.script.remember(a.before[i])
	a.script.steps = make([]scenarios.Step, i, i+1)
	a.script.begin(i)
}

// firstUnmet is that of the script, for a step whose predecessors were looked at.
func (a *Attempt) firstUnmet(ctx context.Context, i int) int {
	a.begin(ctx, i)
	return a.script.firstUnmet(i)
}

// Acknowledge notes a step as done that a check does not: the user has looked, or has
// gone on where nothing can be checked.
func (a *Attempt) Acknowledge(i int) error {
	return a.progress.Add(a.Info, a.Info.Steps[i].Title)
}

// Solve does a step for the user. It takes as long as the step does; report gets each
// command and what is waited for, and may be nil. The error is why it did not work.
func (a *Attempt) Solve(ctx context.Context, i int, report func(scenarios.Event)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errors.New("not done after "+limit.String()))
	defer cancel()
	if report != nil {
		defer func(before func(scenarios.Event)) { a.script.onEvent = before }(a.script.onEvent)
		a.script.onEvent = report
	}
	a.begin(ctx, i)
	f := a.script.run(i, scenarios.Setup, true)
	if f == nil {
		f = a.script.run(i, scenarios.Solve, true)
	}
	// the check is about all that has come since the step began
	m := a.script.memory()
	m.since = a.before[i].since
	a.before[i] = m
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case f != nil:
		return errors.New(f.reason)
	}
	return nil
}

// Lacking says what a scenario builds on that is not done, nil for nothing.
func (a *Attempt) Lacking(ctx context.Context) (*Lack, error) {
	return Missing(ctx, Options{Library: a.script.library, Access: a.script.access}, []string{a.Info.Name})
}

// commandEvent reports a command of the script: that it runs, or with what it has printed.
func (s *script) commandEvent(kind scenarios.EventKind, line []string, output string) {
	s.report(scenarios.Event{Kind: kind, Command: s.hide(shellWords(line)), Output: s.hide(output), Elapsed: time.Since(s.stepTime)})
}
