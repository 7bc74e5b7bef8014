// Package attempts is the scenarios of one sandbox for many readers at once: a page of the
// hub, which a teacher projects, and the phones of those who follow.
//
// All readers share one attempt at each scenario, which is the one of `kalypso scenario
// learn`: the same checks, and the same file with the progress. However many ask, one check is
// made at a time, and each not more often than every two seconds: who asks in between
// gets what the last one has found, with its time.
package attempts

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/kalypso-dev/kalypso/scenarios"
	"github.com/kalypso-dev/kalypso/scenarios/engine"
)

const (
	// fresh is how old what a check has found may be for it not to be made again. Readers
	// ask every two seconds.
	fresh = 1900 * time.Millisecond
	// checkLimit is for one check with all that it has to catch up with.
	checkLimit = time.Minute
	// answerLimit is how long a reader waits for a check; then it gets what is known.
	answerLimit = 10 * time.Second
	// accessFresh is how long the access to the sandbox is used without asking for it again:
	// that asks all of the sandbox how it is.
	accessFresh = 10 * time.Second
	// lackFresh is how long it is not asked again what a scenario builds on.
	lackFresh = 10 * time.Second
	// mostOutput is how much of a step's output is kept, in bytes: the end of it.
	mostOutput = 64 << 10
)

var (
	// ErrStep is returned for a step that a scenario does not have, or that has nothing
	// to do.
	ErrStep = errors.New("there is no such step")
	// ErrBusy is returned where a step is being done already.
	ErrBusy = errors.New("a step is being done already")
)

// Options of New.
type Options struct {
	// Library returns the scenarios, with the address of the forge's organisation.
	Library func() (library scenarios.Library, orgURL string, err error)
	// Access returns the access to the sandbox; the error is why there is none now.
	Access func(context.Context) (engine.Access, error)
	// Progress is the file with the user's progress.
	Progress string
	// Now is the time; time.Now when nil.
	Now func() time.Time
}

// Attempts are the attempts at the scenarios of a sandbox. They are for any number of
// goroutines.
type Attempts struct {
	o Options

	running context.Context // ends with Close
	stop    context.CancelFunc

	checking sync.Mutex // a check is made, or a step done: one at a time
	open     map[string]*attempt
	access   engine.Access // the last one
	accessed time.Time     // when it was asked for

	mu      sync.Mutex
	looks   map[position]*look
	solving *Solving // the step that is being done, or was done last
	waiting map[position]chan struct{}
}

// position is a step of a scenario.
type position struct {
	scenario string
	step     int
}

// attempt is an attempt with what it was begun with.
type attempt struct {
	*engine.Attempt
	access engine.Access
	lack   *engine.Lack
	asked  time.Time // when lack was found
}

// look is what the last check of a step has found.
type look struct {
	Look
	ended time.Time
}

// Look is how a step is.
type Look struct {
	engine.Probe
	// Lack is what the scenario builds on that is not done, so that the check was not
	// made; nil for nothing.
	Lack *engine.Lack
	At   time.Time // when the check was made; zero for never
}

// Solving is a step that is being done for the user, or was.
type Solving struct {
	Scenario     string
	Step         int
	Began, Ended time.Time // Ended is zero while it goes on
	Output       string    // commands with what they print
	Waits        string    // what is waited for now
	Error        string    // why it did not work
}

// Listed is a scenario with which of its steps are done.
type Listed struct {
	scenarios.Info
	Done []bool
}

// New returns the attempts of a sandbox. Nothing is looked at before somebody asks.
func New(o Options) *Attempts {
	if o.Now == nil {
		o.Now = time.Now
	}
	running, stop := context.WithCancel(context.Background())
	return &Attempts{o: o, running: running, stop: stop, open: map[string]*attempt{}, looks: map[position]*look{}, waiting: map[position]chan struct{}{}}
}

// Close ends what runs, and waits for it.
func (a *Attempts) Close() {
	a.stop()
	a.checking.Lock()
	defer a.checking.Unlock()
	for name, one := range a.open {
		one.Close()
		delete(a.open, name)
	}
}

// List returns the scenarios in the order of the workshop.
func (a *Attempts) List() ([]Listed, error) {
	library, _, err := a.o.Library()
	if err != nil {
		return nil, err
	}
	infos, err := library.List()
	if err != nil {
		return nil, err
	}
	progress, err := scenarios.LoadProgress(a.o.Progress)
	if err != nil {
		return nil, err
	}
	all := make([]Listed, len(infos))
	for i, info := range infos {
		all[i] = Listed{info, doneOf(progress, info)}
	}
	return all, nil
}

func doneOf(progress *scenarios.Progress, info scenarios.Info) []bool {
	done := make([]bool, len(info.Steps))
	for i, step := range info.Steps {
		done[i] = progress.Has(info, step.Title)
	}
	return done
}

// Page returns a scenario for a reader, and which of its steps are done. An unknown one
// is a [scenarios.UnknownError].
func (a *Attempts) Page(name string) (*engine.Page, []bool, error) {
	library, orgURL, err := a.o.Library()
	if err != nil {
		return nil, nil, err
	}
	page, err := engine.NewPage(library, name, engine.PageOptions{OrgURL: orgURL})
	if err != nil {
		return nil, nil, err
	}
	progress, err := scenarios.LoadProgress(a.o.Progress)
	if err != nil {
		return nil, nil, err
	}
	return page, doneOf(progress, page.Info), nil
}

// step is a step's page, when there is one.
func (a *Attempts) step(name string, step int) (*engine.Page, error) {
	page, _, err := a.Page(name)
	if err != nil {
		return nil, err
	}
	if step < 0 || step >= len(page.Info.Steps) {
		return nil, fmt.Errorf("%w: %s has %d", ErrStep, name, len(page.Info.Steps))
	}
	return page, nil
}

// Check says how a step is, counted from 0: it makes the check, unless it was made just
// now or something else is being done. What cannot be found out is said by the look, and is
// no error.
func (a *Attempts) Check(ctx context.Context, name string, step int) (Look, error) {
	if _, err := a.step(name, step); err != nil {
		return Look{}, err
	}
	at := position{name, step}
	a.mu.Lock()
	known := a.looks[at]
	busy := a.solving != nil && a.solving.Ended.IsZero()
	if busy || known != nil && a.o.Now().Sub(known.ended) < fresh {
		a.mu.Unlock()
		return known.orUnknown("another step is being done"), nil
	}
	made := a.waiting[at]
	if made == nil {
		made = make(chan struct{})
		a.waiting[at] = made
		go a.run(at, made)
	}
	a.mu.Unlock()
	late := time.NewTimer(answerLimit)
	defer late.Stop()
	select {
	case <-made:
	case <-late.C:
	case <-ctx.Done():
		return Look{}, context.Cause(ctx)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.looks[at].orUnknown(fmt.Sprintf("the check has not been made within %s", answerLimit)), nil
}

func (l *look) orUnknown(reason string) Look {
	if l == nil {
		return Look{Probe: engine.Probe{State: engine.CannotCheck, Reason: reason}}
	}
	return l.Look
}

// run makes a check for all who wait for it. None of them ends it by going away.
func (a *Attempts) run(at position, made chan struct{}) {
	defer close(made)
	a.checking.Lock()
	defer a.checking.Unlock()
	ctx, cancel := context.WithTimeoutCause(a.running, checkLimit, fmt.Errorf("the check has taken more than %s", checkLimit))
	defer cancel()
	found, err := a.look(ctx, at)
	if err != nil {
		found = Look{Probe: engine.Probe{State: engine.CannotCheck, Reason: err.Error()}}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	found.At = a.o.Now()
	a.looks[at] = &look{found, found.At}
	delete(a.waiting, at)
}

func (a *Attempts) look(ctx context.Context, at position) (Look, error) {
	one, err := a.attempt(ctx, at.scenario)
	if err != nil {
		return Look{}, err
	}
	if one.lack != nil {
		reason := fmt.Sprintf("it builds on %s, which is not done: %s", one.lack.Scenario, one.lack.Step)
		return Look{Probe: engine.Probe{State: engine.NotYet, Reason: reason}, Lack: one.lack}, nil
	}
	g, err := one.Probe(ctx, at.step)
	return Look{Probe: g}, err
}

// attempt returns the attempt at a scenario: a new one where the sandbox is not the same
// any more. What it builds on is looked for as long as something is lacking.
func (a *Attempts) attempt(ctx context.Context, name string) (*attempt, error) {
	if a.accessed.IsZero() || a.o.Now().Sub(a.accessed) > accessFresh {
		access, err := a.o.Access(ctx)
		if err != nil {
			a.accessed = time.Time{}
			return nil, err
		}
		a.access, a.accessed = access, a.o.Now()
	}
	one := a.open[name]
	if one != nil && !reflect.DeepEqual(one.access, a.access) {
		one.Close()
		delete(a.open, name)
		one = nil
	}
	if one == nil {
		library, _, err := a.o.Library()
		if err != nil {
			return nil, err
		}
		progress, err := scenarios.LoadProgress(a.o.Progress)
		if err != nil {
			return nil, err
		}
		begun, err := engine.NewAttempt(a.running, engine.Options{Library: library, Name: name, Access: a.access}, progress)
		if err != nil {
			return nil, err
		}
		one = &attempt{Attempt: begun, access: a.access}
		a.open[name] = one
	}
	if one.asked.IsZero() || one.lack != nil && a.o.Now().Sub(one.asked) > lackFresh {
		lack, err := one.Lacking(ctx)
		if err != nil {
			return nil, err
		}
		one.lack, one.asked = lack, a.o.Now()
	}
	return one, nil
}

// Acknowledge notes a step as done: the user has looked.
func (a *Attempts) Acknowledge(name string, step int) error {
	page, err := a.step(name, step)
	if err != nil {
		return err
	}
	progress, err := scenarios.LoadProgress(a.o.Progress)
	if err != nil {
		return err
	}
	return progress.Add(page.Info, page.Info.Steps[step].Title)
}

// Solve begins to do a step for the user; Solving says how it goes. The error wraps
// ErrBusy where one is being done already, and ErrStep for a step without anything to do.
func (a *Attempts) Solve(name string, step int) error {
	page, err := a.step(name, step)
	if err != nil {
		return err
	}
	if !page.Info.Steps[step].Has(scenarios.Solve) {
		return fmt.Errorf("%w that something is done in: %q is only looked at", ErrStep, page.Info.Steps[step].Title)
	}
	if a.running.Err() != nil {
		return context.Cause(a.running)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.solving; s != nil && s.Ended.IsZero() {
		return fmt.Errorf("%w: step %d of %s", ErrBusy, s.Step+1, s.Scenario)
	}
	a.solving = &Solving{Scenario: name, Step: step, Began: a.o.Now()}
	go a.solve(position{name, step})
	return nil
}

// Solving is the step that is being done or was done last; false for none.
func (a *Attempts) Solving() (Solving, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.solving == nil {
		return Solving{}, false
	}
	return *a.solving, true
}

func (a *Attempts) solve(at position) {
	a.checking.Lock()
	defer a.checking.Unlock()
	err := a.do(at)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.solving.Ended, a.solving.Waits = a.o.Now(), ""
	if err != nil {
		a.solving.Error = err.Error()
	}
	clear(a.looks) // all may be otherwise now
}

func (a *Attempts) do(at position) error {
	one, err := a.attempt(a.running, at.scenario)
	if err != nil {
		return err
	}
	if one.lack != nil {
		return fmt.Errorf("it builds on %s, which is not done: %s", one.lack.Scenario, one.lack.Step)
	}
	// what the step builds on is seen first
	ctx, cancel := context.WithTimeoutCause(a.running, checkLimit, fmt.Errorf("the check before it has taken more than %s", checkLimit))
	g, err := one.Probe(ctx, at.step)
	cancel()
	switch {
	case err != nil:
		return err
	case g.State == engine.CannotCheck:
		return errors.New(g.Reason)
	case g.Done():
		return nil // somebody has done it meanwhile
	}
	return one.Solve(a.running, at.step, a.report)
}

// report adds to the output of the step that is being done.
func (a *Attempts) report(e scenarios.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	text := ""
	switch e.Kind {
	case scenarios.CommandBegins:
		text, a.solving.Waits = "$ "+e.Command+"\n", ""
	case scenarios.CommandEnds:
		text, a.solving.Waits = e.Output, ""
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
	case scenarios.StepWaits:
		a.solving.Waits = e.Reason
	}
	all := a.solving.Output + text
	if len(all) > mostOutput {
		all = all[len(all)-mostOutput:]
		if i := strings.IndexByte(all, '\n'); i >= 0 {
			all = all[i+1:]
		}
	}
	a.solving.Output = all
}

// Hint returns a step's hint, from 0. After the last comes what there is to do.
func (a *Attempts) Hint(name string, step, n int) ([]engine.Block, error) {
	page, err := a.step(name, step)
	if err != nil {
		return nil, err
	}
	if n < 0 || n >= len(page.Info.Steps[step].Hints) {
		return page.ToDo(step), nil
	}
	return page.Hint(step, n), nil
}

// ToDo returns what there is to do in a step.
func (a *Attempts) ToDo(name string, step int) ([]engine.Block, error) {
	page, err := a.step(name, step)
	if err != nil {
		return nil, err
	}
	return page.ToDo(step), nil
}

// File returns a file that a step has a user write; the error wraps ErrStep for another.
func (a *Attempts) File(name, file string) (string, error) {
	page, _, err := a.Page(name)
	if err != nil {
		return "", err
	}
	content, ok := page.File(file)
	if !ok {
		return "", fmt.Errorf("%w that has a file %s", ErrStep, file)
	}
	return content, nil
}
