package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/kalypso-dev/kalypso/internal/retry"
)

const (
	readyPoll     = 20 * time.Millisecond
	crashWindow   = time.Minute
	crashLimit    = 5
	longStart     = crashWindow / crashLimit
	startLimit    = 3 // of long starts in a row, which the window does not hold together
	firstPause    = 200 * time.Millisecond
	longestPause  = 5 * time.Second
	logTailLines  = 12
	stopLimit     = 20 * time.Second
	probeLimit    = 3 * time.Second
	silentLimit   = 2 * time.Second
	subscriberCap = 256
)

// Supervisor runs units. The zero value is of no use; call New.
type Supervisor struct {
	log    *slog.Logger
	ending chan struct{} // closed when Run begins to stop everything
	ended  chan struct{} // closed when Run has stopped everything

	mu          sync.Mutex
	units       []*unit // a new slice with each change
	groups      []*group
	subscribers map[chan Status]struct{}
	ctx         context.Context // of Run, nil before
	running     sync.WaitGroup  // the units' own goroutines
	closing     bool            // ctx has ended: nothing is started any more
}

type unit struct {
	Unit
	needs   []*unit
	group   *group             // nil for none
	repair  chan struct{}      // a request to leave Failed
	restart chan chan struct{} // see Restart; taken by the unit's own goroutine
	probe   chan chan struct{} // see Repair; closed when the unit has been probed at
	ask     chan chan error    // see Silent

	// guarded by Supervisor.mu
	status Status
	ready  chan struct{} // see readyOf

	// only touched by the unit's own goroutine
	crashes []time.Time
	inVain  int  // long starts without success since it was ready last
	started bool // since the last failure, so that the log's end is about it
}

// New checks that the needs of the units name units, without a cycle.
func New(log *slog.Logger, units ...Unit) (*Supervisor, error) {
	s := &Supervisor{log: log, ending: make(chan struct{}), ended: make(chan struct{}), subscribers: map[chan Status]struct{}{}}
	if err := s.takeLocked(units); err != nil { // nobody else has it yet
		return nil, err
	}
	return s, nil
}

func newUnit(u Unit) *unit {
	n := &unit{Unit: u, repair: make(chan struct{}, 1), restart: make(chan chan struct{}), probe: make(chan chan struct{}), ask: make(chan chan error), ready: make(chan struct{})}
	_, oneShot := u.Component.(Task)
	n.status = Status{Name: u.Name, Title: u.Title, Group: u.Group, OneShot: oneShot, State: Waiting, Since: time.Now(), Log: u.Log}
	return n
}

// Run starts everything and keeps it running until ctx ends; then it stops
// everything, last started first, and returns the errors of stopping.
func (s *Supervisor) Run(ctx context.Context) error {
	s.mu.Lock()
	s.ctx = ctx
	for _, u := range s.units {
		s.running.Go(func() { s.keep(ctx, u) })
	}
	s.mu.Unlock()
	<-ctx.Done()
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.running.Wait()
	close(s.ending)
	err := s.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.ended)
	for c := range s.subscribers {
		s.dropLocked(c)
	}
	return err
}

// stop ends the units in layers: a unit once nothing that needs it runs.
func (s *Supervisor) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	var all []error
	var mu sync.Mutex
	units := s.all()
	stopped := map[*unit]chan struct{}{}
	for _, u := range units {
		stopped[u] = make(chan struct{})
	}
	var wait sync.WaitGroup
	for _, u := range units {
		wait.Go(func() {
			defer close(stopped[u])
			for _, other := range units {
				if slices.Contains(other.needs, u) {
					<-stopped[other]
				}
			}
			if s.hasEnded(u) {
				return
			}
			s.set(u, func(st *Status) { st.State = Stopping })
			err := u.Component.Stop(ctx)
			s.set(u, func(st *Status) { st.State, st.PID = Stopped, 0 })
			if err != nil {
				mu.Lock()
				all = append(all, fmt.Errorf("stop %s: %w", u.Name, err))
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	return errors.Join(all...)
}

// keep brings one unit up, and up again, until ctx ends. While its group is
// held it is ended, and waits.
func (s *Supervisor) keep(ctx context.Context, u *unit) {
	for ctx.Err() == nil {
		wanted, cancel := s.wantedContext(ctx, u)
		s.keepWanted(wanted, u)
		cancel()
		stoppage := s.stoppageOf(u.group)
		if ctx.Err() != nil || stoppage == nil || !s.stopHeld(ctx, u, stoppage) {
			return
		}
		select {
		case <-stoppage.over:
		case <-u.group.removed:
			return
		case <-ctx.Done():
			return
		}
	}
}

// keepWanted is keep as long as the unit's group is wanted, which ctx is for.
func (s *Supervisor) keepWanted(ctx context.Context, u *unit) {
	missed, ok := s.awaitNeeds(ctx, u)
	if !ok {
		return
	}
	for ctx.Err() == nil {
		began := time.Now()
		err := s.bringUp(ctx, u)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			u.inVain = 0
			missed, err = s.stay(ctx, u, missed)
		} else if time.Since(began) >= longStart {
			u.inVain++
		}
		if errors.Is(err, errRestart) {
			err = s.endForRestart(ctx, u)
		}
		if err != nil && !s.afterFailure(ctx, u, err) {
			return
		}
	}
}

// stay keeps a unit that is ready until something must be done about it. It
// returns what the unit still has missed.
func (s *Supervisor) stay(ctx context.Context, u *unit, missed []*unit) ([]*unit, error) {
	for {
		var back, removed <-chan struct{} // never, where nothing is missed
		if len(missed) > 0 {
			back, removed = s.readyOf(missed[0]), missed[0].group.removed
		}
		select {
		case <-ctx.Done():
			return missed, nil
		case <-u.Component.Exited(): // never, where that is nil
			return missed, causeOf(u.Component)
		case taken := <-u.restart:
			s.takeRestart(u, taken)
			return missed, errRestart
		case <-back:
			s.log.Info("done again with what was missed", "component", u.Name, "missed", missed[0].Name)
			s.set(u, func(st *Status) { st.State, st.PID = Stopping, 0 })
			return missed[1:], errRestart
		case <-removed:
			missed = missed[1:]
		case answer := <-u.ask:
			short, cancel := context.WithTimeout(ctx, silentLimit)
			answer <- u.Component.Ready(short)
			cancel()
		case probed := <-u.probe:
			if err := s.probeAgain(ctx, u, probed); err != nil {
				return missed, err
			}
		}
	}
}

// probeAgain probes a unit whose status is ready, and sets its status before it
// closes probed. One that is not has the time of a start
// to become so.
func (s *Supervisor) probeAgain(ctx context.Context, u *unit, probed chan struct{}) error {
	began := time.Now()
	short, cancel := context.WithTimeout(ctx, probeLimit)
	last := u.Component.Ready(short)
	cancel()
	ended := false
	if last == nil {
		select {
		case <-u.Component.Exited():
			last, ended = causeOf(u.Component), true
		default:
			close(probed)
			return nil
		}
	}
	s.set(u, func(st *Status) { st.State, st.Reason = Starting, last.Error() })
	close(probed)
	if ended {
		return last
	}
	ctx, cancel = context.WithTimeout(ctx, u.Deadline)
	defer cancel()
	return s.awaitReady(ctx, u, began)
}

// awaitNeeds waits until all that the unit needs has been ready once. What is
// held, with another group than the unit's, is not waited for; it is missed.
func (s *Supervisor) awaitNeeds(ctx context.Context, u *unit) (missed []*unit, ok bool) {
	for _, need := range u.needs {
		var held <-chan struct{}
		if need.group != u.group {
			held = s.heldOf(need.group)
		}
		select {
		case <-s.readyOf(need):
		case <-held:
			missed = append(missed, need)
		case <-ctx.Done():
			return nil, false
		}
	}
	return missed, true
}

// bringUp takes a unit from nothing to ready.
func (s *Supervisor) bringUp(ctx context.Context, u *unit) error {
	if s.isReady(u) {
		return nil
	}
	began := time.Now()
	s.set(u, func(st *Status) { st.State, st.PID = Starting, 0 })
	ctx, cancel := context.WithTimeout(ctx, u.Deadline)
	defer cancel()
	if err := u.Component.Init(ctx); err != nil {
		return err
	}
	if err := u.Component.Start(ctx); err != nil {
		return err
	}
	u.started = true
	s.set(u, func(st *Status) { st.PID = pidOf(u.Component) })
	return s.awaitReady(ctx, u, began)
}

// awaitReady waits until a unit that runs is ready, for as long as ctx lasts.
func (s *Supervisor) awaitReady(ctx context.Context, u *unit, began time.Time) error {
	exited := u.Component.Exited()
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	var last error
	for {
		err := u.Component.Ready(ctx)
		if err == nil {
			break
		}
		// once the time is over, that hides the reason
		if !retry.Expired(ctx) || last == nil {
			last = err
		}
		s.set(u, func(st *Status) { st.Reason = last.Error() })
		select {
		case <-exited:
			return causeBeforeReady(u.Component, last)
		case taken := <-u.restart:
			s.takeRestart(u, taken)
			return errRestart
		case <-ctx.Done():
			return fmt.Errorf("not ready after %s: %w", u.Deadline, last)
		case <-tick.C:
		}
	}
	s.set(u, func(st *Status) {
		st.State, st.Took, st.Reason, st.LogTail = Ready, time.Since(began), "", nil
	})
	s.log.Info("ready", "component", u.Name, "took", time.Since(began).Round(time.Millisecond))
	return nil
}

// afterFailure decides between another start and giving up. It returns false
// when ctx has ended.
func (s *Supervisor) afterFailure(ctx context.Context, u *unit, cause error) bool {
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
	defer cancel()
	if err := u.Component.Stop(stop); err != nil {
		cause = errors.Join(cause, err)
	}
	now := time.Now()
	u.crashes = append(u.crashes, now)
	u.crashes = slices.DeleteFunc(u.crashes, func(t time.Time) bool { return now.Sub(t) > crashWindow })
	var tail []string
	if u.started {
		tail, u.started = Tail(u.Log, logTailLines), false
	}
	var permanent *PermanentError
	if len(u.crashes) >= crashLimit || u.inVain >= startLimit || errors.As(cause, &permanent) {
		s.log.Error("failed", "component", u.Name, "reason", cause, "crashes", len(u.crashes))
		s.set(u, func(st *Status) {
			st.State, st.PID, st.Reason, st.LogTail = Failed, 0, cause.Error(), tail
			st.LastFailure = st.Reason
		})
		select {
		case <-u.repair:
			u.crashes, u.inVain = nil, 0
			return true
		case taken := <-u.restart:
			s.takeRestart(u, taken) // it has ended already
			return true
		case <-ctx.Done():
			return false
		}
	}
	pause := min(firstPause<<(len(u.crashes)-1), longestPause)
	s.log.Warn("restarting", "component", u.Name, "reason", cause, "pause", pause)
	s.set(u, func(st *Status) {
		st.State, st.PID, st.Reason, st.LogTail = Restarting, 0, cause.Error(), tail
		st.LastFailure = st.Reason
		st.Restarts++
	})
	select {
	case <-time.After(pause):
		return true
	case <-u.repair:
		return true
	case taken := <-u.restart:
		s.takeRestart(u, taken) // it has ended already
		return true
	case <-ctx.Done():
		return false
	}
}

// Repair starts every failed unit again, but none that is held, and probes
// again at those that are said to be ready: one may have died so lately that
// it is not known. It returns when all have been probed, or ctx ends.
func (s *Supervisor) Repair(ctx context.Context) {
	var probes sync.WaitGroup
	for _, u := range s.all() {
		st := s.statusOf(u)
		switch {
		case st.Held:
		case st.State == Failed || st.State == Restarting:
			select {
			case u.repair <- struct{}{}:
			default:
			}
		case st.State == Ready:
			probes.Go(func() { s.requestProbe(ctx, u) })
		}
	}
	probes.Wait()
}

func (s *Supervisor) requestProbe(ctx context.Context, u *unit) {
	probed := make(chan struct{})
	select {
	case u.probe <- probed:
	case <-s.heldOf(u.group):
		return
	case <-s.ending:
		return
	case <-ctx.Done():
		return
	}
	select {
	case <-probed:
	case <-ctx.Done():
	}
}

// Silent probes all units that are ready, all at once and within two seconds,
// and returns why those that do not answer do not. It changes nothing.
func (s *Supervisor) Silent(ctx context.Context) map[string]error {
	ctx, cancel := context.WithTimeout(ctx, silentLimit+silentLimit/10) // the probe's own reason comes first
	defer cancel()
	silent := map[string]error{}
	var mu sync.Mutex
	var probes sync.WaitGroup
	for _, u := range s.all() {
		if st := s.statusOf(u); st.State != Ready || st.OneShot {
			continue
		}
		probes.Go(func() {
			answer := make(chan error, 1)
			select {
			case u.ask <- answer:
			case <-ctx.Done():
				return // it is busy: its status says with what
			case <-s.ending:
				return
			}
			err := <-answer
			if err != nil && (retry.Expired(ctx) || errors.Is(err, context.DeadlineExceeded)) {
				err = fmt.Errorf("does not answer within %s", silentLimit)
			}
			if err != nil {
				mu.Lock()
				defer mu.Unlock()
				silent[u.Name] = err
			}
		})
	}
	probes.Wait()
	return silent
}

// Status returns all units in the order in which they were given to New and Add.
func (s *Supervisor) Status() []Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.statusLocked()
}

func (s *Supervisor) statusLocked() []Status {
	all := make([]Status, len(s.units))
	for i, u := range s.units {
		all[i] = u.status
	}
	return all
}

// Watch returns the present status of all units, and a channel of every change
// from then on. A receiver that falls far behind loses the oldest changes, so
// it must not count them. The channel is closed by cancel, when units are added or
// removed, and when Run ends.
func (s *Supervisor) Watch() (now []Status, changes <-chan Status, cancel func()) {
	c := make(chan Status, subscriberCap)
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.ended:
		close(c)
		return s.statusLocked(), c, func() {}
	default:
	}
	s.subscribers[c] = struct{}{}
	return s.statusLocked(), c, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.dropLocked(c)
	}
}

func (s *Supervisor) dropLocked(c chan Status) {
	if _, ok := s.subscribers[c]; ok {
		delete(s.subscribers, c)
		close(c)
	}
}

func (s *Supervisor) isReady(u *unit) bool { return s.statusOf(u).State == Ready }

func (s *Supervisor) statusOf(u *unit) Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return u.status
}

// set changes a unit's status and sends it to the subscribers, unless nothing has
// changed.
func (s *Supervisor) set(u *unit, change func(*Status)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setLocked(u, change)
}

func (s *Supervisor) setLocked(u *unit, change func(*Status)) {
	before := u.status
	change(&u.status)
	if u.status.State != before.State {
		u.status.Since = time.Now()
		if u.status.State == Ready {
			select {
			case <-u.ready:
			default:
				close(u.ready)
			}
		}
	} else if u.status.Reason == before.Reason && u.status.PID == before.PID {
		return
	}
	for c := range s.subscribers {
		for sent := false; !sent; {
			select {
			case c <- u.status:
				sent = true
			default:
				select {
				case <-c:
				default:
				}
			}
		}
	}
}

func pidOf(c Component) int {
	if p, ok := c.(hasPID); ok {
		return p.PID()
	}
	return 0
}

// PermanentError is an error that another try cannot mend, such as a port that
// another program holds: the unit fails at once.
type PermanentError struct{ Err error }

func (e *PermanentError) Error() string { return e.Err.Error() }
func (e *PermanentError) Unwrap() error { return e.Err }
