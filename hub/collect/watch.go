package collect

import (
	"context"
	"math/rand/v2"
	"reflect"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/kalypso-dev/kalypso/scheduler/fleet"
)

const (
	// FullInterval is how often a cluster that is watched is looked at though it says that
	// nothing has changed, where Options does not say.
	FullInterval = 10 * time.Minute
	// fullSpread is by which part of the interval that is earlier or later, so that the
	// clusters of a fleet are not all looked at in the same moment.
	fullSpread = 0.2
	// looksAtOnce is how many clusters are looked at at a time, of those that have answered
	// last, and of those that have not.
	looksAtOnce = 32
	// eventsSettle is for how long further changes are waited for when there is one, and
	// looksApart the least time between two looks at one cluster.
	eventsSettle, looksApart = 200 * time.Millisecond, time.Second
	// lastRetryAfter is when a cluster that has not answered for long is looked at again.
	lastRetryAfter = 30 * time.Second
	// fileInterval is how often the file that names the clusters is read.
	fileInterval = 5 * time.Second
)

// member is a cluster that is looked at on its own: when it says that something has changed, when
// an event names it, and else after its interval.
type member struct {
	fleet.Member
	source *source // its own, not that of the part
	part   *fleetSource

	mu        sync.Mutex // for what follows
	looked    bool
	connected bool // it says when something changes
	state     fleet.Cluster
}

// watch has the clusters of a part looked at on their own, in place of those that were before.
func (f *fleetSource) watch(all []fleet.Member) {
	f.mu.Lock()
	before := f.members
	f.mu.Unlock()
	if f.stop != nil {
		f.stop()
	}
	members := make([]*member, len(all))
	for i, one := range all {
		m := &member{Member: one, part: f}
		m.source = &source{name: "cluster " + one.Name(), look: m.look, wake: make(chan struct{}, 1)}
		for _, old := range before {
			if old.Name() == one.Name() {
				m.state, m.looked = old.state, old.looked
			}
		}
		members[i] = m
	}
	f.mu.Lock()
	f.members = members
	f.mu.Unlock()
	f.stop = f.start(func(ctx context.Context) {
		var running sync.WaitGroup
		for _, m := range members {
			running.Go(func() { m.run(ctx) })
		}
		running.Wait()
	})
}

// run watches and looks until ctx ends.
func (m *member) run(ctx context.Context) {
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() { m.Watch(ctx, m.changed) })
	pauses := &backoff.ExponentialBackOff{InitialInterval: retryAfter, MaxInterval: lastRetryAfter, Multiplier: backoff.DefaultMultiplier, RandomizationFactor: fullSpread}
	pauses.Reset()
	for ctx.Err() == nil {
		began := time.Now()
		pause := m.part.pause()
		if m.lookInTurn(ctx) != nil {
			pause = min(pause, pauses.NextBackOff())
		} else {
			pauses.Reset()
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-m.source.wake:
			timer.Reset(max(eventsSettle, looksApart-time.Since(began)))
			select {
			case <-ctx.Done():
			case <-timer.C:
			}
			select {
			case <-m.source.wake: // the look is about that, too
			default:
			}
		}
		timer.Stop()
	}
}

// pause is until the next look at a cluster of the part.
func (f *fleetSource) pause() time.Duration {
	interval := f.Interval
	if interval == 0 {
		interval = FullInterval
	}
	return time.Duration(float64(interval) * (1 + fullSpread*(2*rand.Float64()-1)))
}

func (m *member) changed(connected bool) {
	m.mu.Lock()
	m.connected = connected
	m.mu.Unlock()
	notify(m.source.wake)
}

// lookInTurn looks when fewer than looksAtOnce others are looked at.
func (m *member) lookInTurn(ctx context.Context) error {
	c := m.part.collector
	m.mu.Lock()
	before, looked := m.state, m.looked
	m.mu.Unlock()
	turns := c.turns.answering
	if before.Unknown != "" {
		turns = c.turns.silent
	}
	select {
	case turns <- struct{}{}:
		defer func() { <-turns }()
	case <-ctx.Done():
		return ctx.Err()
	}
	began := time.Now()
	err := c.lookAt(ctx, m.source)
	if ctx.Err() != nil {
		return err
	}
	c.metrics.observed(m.part.source.name, time.Since(began), err)
	m.mu.Lock()
	if err != nil {
		m.state = fleet.UnknownCluster(m.Name(), err)
		m.looked = true
	}
	same := looked && sameCluster(before, m.state)
	m.mu.Unlock()
	if c.corrections.looked(m.Name(), began) || !same {
		notify(c.changed)
	}
	return err
}

// look asks the cluster.
func (m *member) look(ctx context.Context) error {
	state, err := m.Look(ctx)
	if err != nil {
		return err
	}
	m.part.collector.followers.Resolve(ctx, &state)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.looked, m.state = true, credible(fleet.Snapshot{Clusters: []fleet.Cluster{state}}, time.Now().UTC()).Clusters[0]
	return nil
}

// sameCluster is whether two looks have found the same, at whatever time.
func sameCluster(a, b fleet.Cluster) bool {
	a.LastSeen, b.LastSeen = time.Time{}, time.Time{}
	return reflect.DeepEqual(a, b)
}

// known is what the last look has found, and false before the first. A cluster that answers, and
// would say if something changed, is as it was found until now.
func (m *member) known(now time.Time) (fleet.Cluster, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.state
	if m.connected && c.Unknown == "" {
		c.LastSeen = now
	}
	return c, m.looked
}

// watched is what the members of a part are like, and false until each has been looked at.
// What is new after that comes with its first look. Its time is the earliest that it is about.
// The caller holds the lock.
func (f *fleetSource) watched() (fleet.Snapshot, bool) {
	now := time.Now().UTC()
	answer := fleet.Snapshot{At: now}
	for _, m := range f.members {
		c, looked := m.known(now)
		if !looked {
			if !f.complete {
				return fleet.Snapshot{}, false
			}
			continue
		}
		if c.Unknown == "" && c.LastSeen.Before(answer.At) {
			answer.At = c.LastSeen
		}
		answer.Clusters = append(answer.Clusters, c)
	}
	f.complete = true
	return answer, true
}

// wake has a cluster looked at, and is whether there is one of that name: it alone where it is
// watched, else with the part that knows it.
func (c *Collector) wake(cluster string) (known bool) {
	for _, f := range c.fleet {
		f.mu.Lock()
		for _, m := range f.members {
			if m.Name() == cluster {
				notify(m.source.wake)
				known = true
			}
		}
		f.mu.Unlock()
	}
	if known {
		return true
	}
	for _, f := range c.fleet {
		f.mu.Lock()
		for _, one := range f.answer.Clusters {
			if one.Name == cluster {
				notify(f.source.wake)
				known = true
			}
		}
		f.mu.Unlock()
	}
	return known
}
