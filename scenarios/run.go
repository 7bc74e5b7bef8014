package scenarios

import (
	"context"
	"fmt"
	"io/fs"
	"time"
)

// limit is for a whole scenario; each wait in it has its own, shorter one.
const limit = 10 * time.Minute

// Options of Run.
type Options struct {
	Workshop string
	Name     string
	World    World
	Report   func(Event) // may be nil; called from one goroutine at a time
	Keep     bool        // leave the folder that the scenario worked in
	// Honest makes each check before what it is a check of: it must fail then,
	// or it proves nothing. That needs a world where nothing is done yet.
	Honest bool
	// Dumps is the folder for what is to be known of a failure; "" is nowhere.
	Dumps string

	files fs.FS // in place of the library, for tests
}

// Run runs a scenario. When one of its checks fails, the error is a
// *CheckError and the result says what was done up to there.
func Run(ctx context.Context, o Options) (Result, error) {
	if o.files == nil {
		o.files = library
	}
	deadline := time.Now().Add(limit)
	ctx, cancel := context.WithDeadlineCause(ctx, deadline, fmt.Errorf("scenario %s: not done after %s", o.Name, limit))
	defer cancel()
	s, err := newScript(ctx, o)
	if err != nil {
		return Result{}, err
	}
	if !o.Keep {
		defer s.close()
	}
	s.deadline = deadline
	s.say(Event{Kind: ScenarioBegins, Scenario: s.info})
	var f *failure
	for i := range s.info.Steps {
		s.begin(i)
		if f = s.perform(i, o.Honest); f != nil {
			s.blame(f)
			s.step().Reason, s.step().Output = f.reason, f.output
			s.end(Failed)
			break
		}
		if s.step().State != Simulated {
			s.step().State = Passed
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
	s.say(Event{Kind: ScenarioEnds, Scenario: s.info})
	return r, err
}

// perform does a step and checks it.
func (s *script) perform(i int, honest bool) *failure {
	step := s.info.Steps[i]
	if f := s.run(i, setup, true); f != nil {
		return f
	}
	if step.Momentary && !honest {
		if f := s.glance(i); f != nil && s.movedOn(i) {
			s.repeated = true
			s.note("has passed by")
			return nil
		}
	}
	if step.has(solve) {
		done, f := s.before(i, honest)
		if f == nil && !done && honest {
			f = s.looksBefore(i)
		}
		if f == nil && !done {
			f = s.run(i, solve, true)
		}
		if f != nil || done {
			return f
		}
	}
	if why := s.simulated(step.RealPods); why != "" {
		s.step().State = Simulated
		s.note("%s", why)
		return nil
	}
	return s.run(i, step.seen(), true)
}

// result is what has become of a script that has ended.
func (s *script) result(f *failure) (Result, error) {
	r := Result{
		Workshop: s.info.Workshop, Name: s.info.Name, Title: s.info.Title, State: Passed,
		Began: s.began.UTC().Truncate(time.Second), Took: time.Since(s.began),
		Steps: s.steps, Measurements: s.measured,
	}
	for _, step := range s.steps {
		if step.State == Simulated {
			r.State = Simulated
		}
	}
	for i := len(r.Steps); i < len(s.info.Steps); i++ {
		r.Steps = append(r.Steps, Step{Title: s.info.Steps[i].Title, State: Skipped})
	}
	if f == nil {
		return r, nil
	}
	r.State = Failed
	if s.ctx.Err() != nil {
		return r, context.Cause(s.ctx)
	}
	return r, &CheckError{Scenario: s.info.Name, Step: s.step().Title, Reason: f.reason}
}

// RunAll runs scenarios one after another. Each builds on those before it, so
// after the first failure, which is returned, the rest is skipped. There are no
// results when a scenario could not even begin.
func RunAll(ctx context.Context, o Options, names []string) ([]Result, error) {
	if o.files == nil {
		o.files = library
	}
	infos := make([]Info, len(names))
	for i, name := range names {
		text, err := source(o.files, o.Workshop, name)
		if err != nil {
			return nil, err
		}
		infos[i] = describe(o.Workshop, name, text)
	}
	results := make([]Result, 0, len(names))
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

func skipped(info Info) Result {
	r := Result{Workshop: info.Workshop, Name: info.Name, Title: info.Title, State: Skipped}
	for _, step := range info.Steps {
		r.Steps = append(r.Steps, Step{Title: step.Title, State: Skipped})
	}
	return r
}
