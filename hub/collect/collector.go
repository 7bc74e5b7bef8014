// Package collect reads what the hub shows, and writes the differences to its store.
//
// A [Collector] has sources: the control planes and the repositories that they name, the
// parts of the fleet, the scheduler's status, the forge's pull requests. Each is looked at
// on its own, when something wakes it and else after its interval, and has its own state:
// one that fails keeps what was known of it, says why, and holds up no other. What the
// sources know is put together by one writer, which brings the store to it in one
// transaction.
//
// A webhook is a hint to look at a repository now. The slow look behind it finds what was
// lost.
package collect

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/controller"
	"github.com/kalypso-dev/kalypso/scheduler/rollout/driver"
)

const (
	// DefaultPoll is how often heads of branches are compared where Options does not say.
	DefaultPoll = 30 * time.Second
	// DefaultInterval is how often a part of the fleet is asked where it does not say.
	DefaultInterval = 30 * time.Second

	schedulerInterval    = 5 * time.Second
	pullRequestsInterval = 5 * time.Minute // each repository costs two requests
	// retryAfter is when a source that has failed is looked at again, unless its interval
	// is shorter.
	retryAfter = 5 * time.Second
	// lookLimit bounds one look at a source.
	lookLimit = 5 * time.Minute
	// gather is for how long the writer waits for other sources when one has changed:
	// several are looked at together.
	gather = 100 * time.Millisecond
	// writeLimit bounds one round of the writer.
	writeLimit = time.Minute
	// pruneInterval is how often what is too old is removed from the store.
	pruneInterval = 24 * time.Hour
)

// Options configure a Collector.
type Options struct {
	Store *store.Store
	// Scheduler is the scheduler's configuration: its forge and its control planes.
	Scheduler controller.Config
	// SchedulerURL is where the scheduler serves its status, "" for nowhere.
	SchedulerURL string
	Fleet        []Fleet
	// Mirrors is the folder with copies of the repositories that placements follow.
	Mirrors   string
	Chain     []string      // the environments in their order of promotion; may be empty
	Poll      time.Duration // DefaultPoll when zero
	Retention store.Retention
	Log       *slog.Logger
	Registry  prometheus.Registerer
}

// Collector keeps a store up to date.
type Collector struct {
	options Options
	log     *slog.Logger
	forge   controller.Repositories
	// followers shows clusters in the waves of rollouts as followers of their environments' branches.
	followers *driver.Followers
	secret    string // of the forge's webhooks
	metrics   *metrics

	planes    []*plane
	fleet     []*fleetSource
	scheduler *schedulerSource // nil where its status is not asked for
	pulls     *pullSource
	changes   *changeSource
	history   *historySource
	sources   []*source

	// turns are those of clusters that are watched.
	turns       struct{ answering, silent chan struct{} }
	corrections *corrections
	events      http.Handler

	changed chan struct{} // wakes the writer
	memory  clusterMemory // only touched by the writer

	mu      sync.Mutex                    // for what follows
	reports map[string]store.Source       // by source
	follows map[string]map[branchKey]bool // the application branches that an environment's placements come from
}

// source is something that is looked at again and again.
type source struct {
	name     string
	interval time.Duration
	look     func(ctx context.Context) error
	wake     chan struct{}
	// quiet says of the last look that it has asked nobody, and has not failed.
	quiet bool
}

// New makes a Collector. It makes no request yet.
func New(o Options) (*Collector, error) {
	o.Poll = cmp.Or(o.Poll, DefaultPoll)
	log := redact.Logger(cmp.Or(o.Log, slog.Default()))
	forge, err := o.Scheduler.Connect(log, nil)
	if err != nil {
		return nil, err
	}
	secret, err := o.Scheduler.Secret()
	if err != nil {
		return nil, err
	}
	c := &Collector{
		options: o, log: log, forge: forge, followers: driver.NewFollowers(forge), secret: secret, metrics: newMetrics(o.Registry),
		changed: make(chan struct{}, 1), reports: map[string]store.Source{}, follows: map[string]map[branchKey]bool{}, corrections: newCorrections(),
	}
	c.events = newHooks(c)
	c.turns.answering, c.turns.silent = make(chan struct{}, looksAtOnce), make(chan struct{}, looksAtOnce)
	for _, p := range o.Scheduler.Planes() {
		one := newPlane(c, p)
		c.planes = append(c.planes, one)
		c.add("control plane "+one.name, o.Poll, one.look, &one.source)
	}
	for _, f := range o.Fleet {
		one := &fleetSource{Fleet: f, collector: c}
		c.fleet = append(c.fleet, one)
		c.add("clusters by "+f.Name, cmp.Or(f.Interval, DefaultInterval), one.look, &one.source)
	}
	if o.SchedulerURL != "" {
		c.scheduler = &schedulerSource{url: o.SchedulerURL, secret: secret}
		c.add("scheduler", schedulerInterval, c.scheduler.look, &c.scheduler.source)
	}
	c.pulls = &pullSource{collector: c, tried: map[string]bool{}, asked: map[string]time.Time{}}
	c.add("pull requests", pullRequestsInterval, c.pulls.look, &c.pulls.source)
	c.changes = newChangeSource(c)
	c.add("changes", pullRequestsInterval, c.changes.look, &c.changes.source)
	c.history = newHistorySource(c)
	c.add("history", historyInterval, c.history.look, &c.history.source)
	return c, nil
}

func (c *Collector) add(name string, interval time.Duration, look func(context.Context) error, to **source) {
	s := &source{name: name, interval: interval, look: look, wake: make(chan struct{}, 1)}
	*to = s
	c.sources = append(c.sources, s)
}

// Run looks and writes until ctx ends. Of several hubs on one database one looks at the fleet and
// writes; all look at the control planes, which they answer questions by.
func (c *Collector) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, p := range c.planes {
		running.Go(func() { c.follow(ctx, p.source) })
	}
	for ctx.Err() == nil {
		leading, release, err := c.options.Store.Lead(ctx)
		if err != nil {
			return err
		}
		c.log.Info("this hub collects")
		err = c.collect(leading)
		lost := context.Cause(leading)
		release()
		if ctx.Err() == nil && lost == nil {
			return err
		}
		if ctx.Err() == nil {
			c.log.Warn("this hub does not collect any more", "reason", lost)
		}
	}
	return context.Cause(ctx)
}

// collect looks at all but the control planes, and writes, until ctx ends.
func (c *Collector) collect(ctx context.Context) error {
	for _, f := range c.fleet {
		f.forget()
	}
	if err := c.memory.read(ctx, c.options.Store); err != nil {
		return fmt.Errorf("what is known of the clusters: %w", err)
	}
	last, err := c.options.Store.Sources(ctx)
	if err != nil {
		return fmt.Errorf("what is known of the sources: %w", err)
	}
	c.mu.Lock()
	for _, r := range last {
		if _, known := c.reports[r.Name]; !known {
			c.reports[r.Name] = r
		}
	}
	c.mu.Unlock()
	var running sync.WaitGroup
	defer running.Wait()
	for _, f := range c.fleet {
		f.start = func(run func(context.Context)) (stop func()) {
			ctx, cancel := context.WithCancel(ctx)
			ended := make(chan struct{})
			running.Go(func() {
				defer close(ended)
				run(ctx)
			})
			return func() {
				cancel()
				<-ended
			}
		}
	}
	for _, s := range c.sources {
		if !c.ofPlane(s) {
			running.Go(func() { c.follow(ctx, s) })
		}
	}
	running.Go(func() { c.prune(ctx) })
	c.write(ctx)
	return context.Cause(ctx)
}

// ofPlane is whether a source is a control plane.
func (c *Collector) ofPlane(s *source) bool {
	return slices.ContainsFunc(c.planes, func(p *plane) bool { return p.source == s })
}

// follow looks at a source until ctx ends.
func (c *Collector) follow(ctx context.Context, s *source) {
	for ctx.Err() == nil {
		began := time.Now()
		err := c.lookAt(ctx, s)
		if ctx.Err() != nil {
			return
		}
		c.report(s, began, err)
		if !s.quiet {
			notify(c.changed)
		}
		pause := s.interval
		if err != nil {
			pause = min(pause, retryAfter)
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-s.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// lookAt makes an error of a panic: what one source sends must not stop the others.
func (c *Collector) lookAt(ctx context.Context, s *source) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("this is a mistake in the hub: %v", v)
			c.log.Error("panic", "source", s.name, "reason", v, "stack", string(debug.Stack()))
		}
	}()
	ctx, cancel := context.WithTimeoutCause(ctx, lookLimit, fmt.Errorf("no answer within %s", lookLimit))
	defer cancel()
	return s.look(ctx)
}

// report notes how a look went.
func (c *Collector) report(s *source, began time.Time, err error) {
	took := time.Since(began)
	if !s.quiet {
		c.metrics.observed(s.name, took, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r, known := c.reports[s.name]
	before := r.Reason
	r.Name, r.State, r.Reason, r.LastTry, r.Took = s.name, stateOK, "", began.UTC(), took
	if err == nil {
		r.LastOK = r.LastTry
	} else {
		r.State, r.Reason = stateFailing, redact.Error(err).Error()
	}
	c.reports[s.name] = r
	switch {
	case r.Reason != "" && r.Reason != before:
		c.log.Warn("a source fails", "source", s.name, "reason", r.Reason)
	case known && before != "" && r.Reason == "":
		c.log.Info("a source answers again", "source", s.name)
	}
}

// fails is whether the last look at a source has failed.
func (c *Collector) fails(s *source) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reports[s.name].State == stateFailing
}

// The states of a source.
const (
	stateOK      = "ok"
	stateFailing = "failing"
)

// notify wakes what waits on a channel that holds one.
func notify(wake chan struct{}) {
	select {
	case wake <- struct{}{}:
	default: // it is about to wake
	}
}

// prune removes what is too old, at once and then daily.
func (c *Collector) prune(ctx context.Context) {
	for {
		if err := c.options.Store.Prune(ctx, time.Now(), c.options.Retention); err != nil && ctx.Err() == nil {
			c.log.Warn("what is too old cannot be removed", "reason", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pruneInterval):
		}
	}
}
