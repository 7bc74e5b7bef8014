package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/kalypso-dev/kalypso/scenarios"
)

// limit is for a whole scenario; each wait in it has its own, shorter one.
const limit = 10 * time.Minute

// Options of Run.
type Options struct {
	Library scenarios.Library
	Name    string
	Access  Access
	Report  func(scenarios.Event) // may be nil; called from one goroutine at a time
	Keep    bool                  // leave the folder that the scenario worked in
	// VerifyChecks makes each check before what it is a check of: it must fail then,
	// or it proves nothing. That needs a sandbox where nothing is done yet.
	VerifyChecks bool
	// Dumps is the folder for what is to be known of a failure; "" is nowhere.
	Dumps string
}

// Run runs a scenario. When one of its checks fails, the error is a
// *scenarios.CheckError and the result says what was done up to there.
func Run(ctx context.Context, o Options) (scenarios.Result, error) {
	deadline := time.Now().Add(limit)
	ctx, cancel := context.WithDeadlineCause(ctx, deadline, fmt.Errorf("scenario %s: not done after %s", o.Name, limit))
	defer cancel()
	s, err := newScript(ctx, o)
	if err != nil {
		return scenarios.Result{}, err
	}
	if !o.Keep {
		defer s.close()
	}
	s.deadline = deadline
	s.onEvent(scenarios.Event{Kind: scenarios.ScenarioBegins, Scenario: s.info})
	var f *failure
	for i := range s.info.Steps {
		s.begin(i)
		if f = s.perform(i, o.VerifyChecks); f != nil {
			s.addStopped(f)
			s.step().Reason, s.step().Output = f.reason, f.output
			s.end(scenarios.Failed)
			break
		}
		if s.step().State != scenarios.Simulated {
			s.step().State = scenarios.Passed
		}
		s.end(s.step().State)
	}
	r, err := s.result(f)
	if o.Keep {
		r.WorkDir = s.dir
	}
	if f != nil && o.Dumps != "" && context.Cause(ctx) == nil {
		r.Dump, r.DumpError = s.dump(o.Dumps, r)
	}
	s.onEvent(scenarios.Event{Kind: scenarios.ScenarioEnds, Scenario: s.info})
	return r, err
}

// perform does a step and checks it.
func (s *script) perform(i int, verify bool) *failure {
	step := s.info.Steps[i]
	if f := s.run(i, scenarios.Setup, true); f != nil {
		return f
	}
	if step.Transient && !verify {
		if f := s.probe(i); f != nil && s.passedBy(i) {
			s.repeated = true
			s.note("has passed by")
			return nil
		}
	}
	if step.Has(scenarios.Solve) {
		done, f := s.probeBefore(i, verify)
		if f == nil && !done && verify {
			f = s.verifyLooks(i)
		}
		if f == nil && !done {
			f = s.run(i, scenarios.Solve, true)
		}
		if f != nil || done {
			return f
		}
	}
	if why := s.simulated(step.RealPods); why != "" {
		s.step().State = scenarios.Simulated
		s.note("%s", why)
		return nil
	}
	return s.run(i, step.Outcome(), true)
}

// result is what has become of a script that has ended.
func (s *script) result(f *failure) (scenarios.Result, error) {
	r := scenarios.Result{
		Workshop: s.info.Workshop, Name: s.info.Name, Title: s.info.Title, State: scenarios.Passed,
		Began: s.began.UTC().Truncate(time.Second), Took: time.Since(s.began),
		Steps: s.steps, Measurements: s.measured,
	}
	for _, step := range s.steps {
		if step.State == scenarios.Simulated {
			r.State = scenarios.Simulated
		}
	}
	for i := len(r.Steps); i < len(s.info.Steps); i++ {
		r.Steps = append(r.Steps, scenarios.Step{Title: s.info.Steps[i].Title, State: scenarios.Skipped})
	}
	if f == nil {
		return r, nil
	}
	r.State = scenarios.Failed
	if s.ctx.Err() != nil {
		return r, context.Cause(s.ctx)
	}
	return r, &scenarios.CheckError{Scenario: s.info.Name, Step: s.step().Title, Reason: f.reason}
}

// RunAll runs scenarios one after another. Each builds on those before it, so
// after the first failure, which is returned, the rest is skipped. There are no
// results when a scenario could not even begin.
func RunAll(ctx context.Context, o Options, names []string) ([]scenarios.Result, error) {
	infos := make([]scenarios.Info, len(names))
	for i, name := range names {
		var err error
		if infos[i], err = o.Library.Get(name); err != nil {
			return nil, err
		}
	}
	results := make([]scenarios.Result, 0, len(names))
	var failure error
	for i, name := range names {
		if failure != nil {
			results = append(results, skipped(infos[i]))
			continue
		}
		o.Name = name
		r, err := Run(ctx, o)
		if r.Name == "" {
			return nil, err
		}
		results = append(results, r)
		failure = err
	}
	return results, failure
}

func skipped(info scenarios.Info) scenarios.Result {
	r := scenarios.Result{Workshop: info.Workshop, Name: info.Name, Title: info.Title, State: scenarios.Skipped}
	for _, step := range info.Steps {
		r.Steps = append(r.Steps, scenarios.Step{Title: step.Title, State: scenarios.Skipped})
	}
	return r
}
