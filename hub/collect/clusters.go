package collect

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
)

// Fleet is a part of the fleet.
type Fleet struct {
	Name string // of its kind, such as kubernetes; each part's own
	// File is what the part is described in, "" for none. When it changes, Open is called again.
	File string
	// Open makes what is asked. It makes no request. A fleet.Watched is not polled: each of its
	// clusters says when it is to be asked.
	Open     func() (fleet.Reader, error)
	Interval time.Duration // when zero, DefaultInterval, or of a fleet.Watched FullInterval
}

// fleetSource asks a part of the fleet.
type fleetSource struct {
	Fleet
	collector *Collector
	source    *source
	// start runs something until the collector ends, or stop is called.
	start func(run func(context.Context)) (stop func())

	reader fleet.Reader // only touched by look, as are the next three
	opened []byte
	opens  int    // how often the reader was made
	stop   func() // of what watches; nil where nothing does

	mu     sync.Mutex // for what follows
	asked  bool       // it has been looked at once
	answer fleet.Snapshot
	err    error // of the last look
	// members are the clusters of a part that is watched; complete says that each of the first
	// of them has been looked at.
	members  []*member
	complete bool
}

func (f *fleetSource) look(ctx context.Context) error {
	opens := f.opens
	answer, err := f.ask(ctx)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.source.quiet = f.members != nil && opens == f.opens && err == nil && f.err == nil
	f.asked, f.err = true, err
	if err == nil {
		f.answer = answer
	}
	return err
}

// forget makes the part one that was not looked at yet: what it said when this hub has collected
// before is older than what another has written since. What watched its clusters has ended with
// that. Nothing looks at the part meanwhile.
func (f *fleetSource) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reader, f.opened, f.stop = nil, nil, nil
	f.asked, f.answer, f.err = false, fleet.Snapshot{}, nil
	f.members, f.complete = nil, false
}

func (f *fleetSource) ask(ctx context.Context) (fleet.Snapshot, error) {
	var content []byte
	if f.File != "" {
		var err error
		if content, err = os.ReadFile(f.File); err != nil {
			return fleet.Snapshot{}, err
		}
	}
	if f.reader == nil || !bytes.Equal(content, f.opened) {
		reader, err := f.Open()
		if err != nil {
			return fleet.Snapshot{}, err
		}
		f.reader, f.opened, f.opens = reader, content, f.opens+1
		if w, ok := reader.(fleet.Watched); ok {
			f.source.interval = fileInterval
			f.watch(w.Members())
		}
	}
	if f.stop != nil {
		return fleet.Snapshot{}, nil // each cluster is looked at on its own
	}
	answer, err := f.reader.Inventory(ctx)
	for i := range answer.Clusters {
		f.collector.followers.Resolve(ctx, &answer.Clusters[i])
	}
	return credible(answer, time.Now().UTC()), err
}

// clockSkew is how far a cluster's clock may be ahead of this machine's.
const clockSkew = 5 * time.Minute

// credibleTime is a time as others say it, where that can be: one that is later than now is
// now, and one before the first year is not known. Objects of clusters and commits can have
// any time, also one that JSON has no form for.
func credibleTime(at, now time.Time) time.Time {
	switch {
	case at.Year() < 1:
		return time.Time{}
	case at.After(now.Add(clockSkew)):
		return now
	}
	return at
}

// credible is a snapshot with such times alone.
func credible(s fleet.Snapshot, now time.Time) fleet.Snapshot {
	s.Clusters = slices.Clone(s.Clusters)
	for i := range s.Clusters {
		c := &s.Clusters[i]
		c.LastSeen = credibleTime(c.LastSeen, now)
		c.Subscriptions = slices.Clone(c.Subscriptions)
		for j := range c.Subscriptions {
			s := &c.Subscriptions[j]
			s.At, s.EditedAt = credibleTime(s.At, now), credibleTime(s.EditedAt, now)
		}
	}
	return s
}

// known is the last answer, with its clusters unknown where the last look has failed, and
// false before the first look.
func (f *fleetSource) known() (fleet.Snapshot, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	answer, asked := f.answer, f.asked
	if f.members != nil {
		answer, asked = f.watched()
	}
	if f.err == nil {
		return answer, asked
	}
	answer.Clusters = slices.Clone(answer.Clusters)
	for i := range answer.Clusters {
		answer.Clusters[i].Forget(f.err.Error())
	}
	return answer, asked
}

// clusterMemory is how each cluster was when it answered last. One that cannot be asked
// says no more what it follows.
type clusterMemory struct {
	clusters map[string]fleet.Cluster
	from     map[string]string // the parts of the fleet that know it
}

// read takes from the store what was known when the hub ended.
func (m *clusterMemory) read(ctx context.Context, s *store.Store) error {
	m.clusters, m.from = map[string]fleet.Cluster{}, map[string]string{}
	page := store.Page{Limit: 500}
	for {
		list, err := s.Clusters(ctx, store.Scope{}, store.ClusterFilter{}, page)
		if err != nil {
			return err
		}
		for _, one := range list.Items {
			whole, err := s.Cluster(ctx, store.Scope{}, one.Name)
			if err != nil {
				return fmt.Errorf("cluster %s: %w", one.Name, err)
			}
			m.clusters[one.Name] = fleet.Cluster{
				Name: one.Name, Labels: one.Labels, LastSeen: one.LastSeen, Unknown: one.Unknown, Approximate: one.Approximate, Subscriptions: whole.Subscriptions,
			}
			m.from[one.Name] = one.Source
		}
		if page.After = list.Next; page.After == "" {
			return nil
		}
	}
}

// together puts the answers of all parts together, with what is remembered of clusters that
// cannot be asked; false before each part has been looked at. It is called by one
// goroutine.
func (m *clusterMemory) together(parts []*fleetSource) (all fleet.Snapshot, from map[string]string, ok bool) {
	at := time.Now().UTC()
	var answers []fleet.Snapshot
	names := map[string][]string{}
	for _, part := range parts {
		answer, asked := part.known()
		if !asked {
			return fleet.Snapshot{}, nil, false
		}
		if answer.At.IsZero() { // it has never answered, and knows nothing
			answer.Clusters = m.of(part.Name, part.failure())
		} else if answer.At.Before(at) {
			at = answer.At
		}
		answers = append(answers, answer)
		for _, c := range answer.Clusters {
			names[c.Name] = append(names[c.Name], part.Name)
		}
	}
	all = fleet.Together(at, answers...)
	from = map[string]string{}
	now := map[string]fleet.Cluster{}
	for i := range all.Clusters {
		c := &all.Clusters[i]
		from[c.Name] = strings.Join(names[c.Name], ", ")
		if last, known := m.clusters[c.Name]; known && c.Unknown != "" {
			remember(c, last)
		}
		now[c.Name] = *c
	}
	m.clusters, m.from = now, from
	return all, from, true
}

// remember fills in what a cluster that cannot be asked was like.
func remember(c *fleet.Cluster, last fleet.Cluster) {
	if len(c.Subscriptions) == 0 {
		c.Subscriptions, c.Approximate = last.Subscriptions, last.Approximate
		c.Forget(c.Unknown)
	}
	if c.LastSeen.Before(last.LastSeen) {
		c.LastSeen = last.LastSeen
	}
	if c.Labels == nil {
		c.Labels = last.Labels
	}
}

func (f *fleetSource) failure() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		return ""
	}
	return f.err.Error()
}

// of are the clusters that a part had before the hub was started, and that nobody can say
// anything about now.
func (m *clusterMemory) of(part, reason string) []fleet.Cluster {
	var all []fleet.Cluster
	for name, c := range m.clusters {
		if slices.Contains(strings.Split(m.from[name], ", "), part) {
			c.Forget(reason)
			all = append(all, c)
		}
	}
	return all
}
