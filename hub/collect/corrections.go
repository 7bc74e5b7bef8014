package collect

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/flux"
)

// editedAtLeast is for how long a placement stays edited after Flux has put back what somebody had
// changed, where the interval of its Kustomization is shorter.
const editedAtLeast = time.Minute

// corrections are what Flux has put back on clusters. Its objects do not say so: when they can be
// looked at, all is well again. What was put back counts as edited until Flux has looked once more,
// after its interval, and had nothing to put back; or until another commit is applied.
type corrections struct {
	mu  sync.Mutex
	all map[correctionKey]*correction
}

type correctionKey struct {
	cluster string
	fleet.Ref
}

type correction struct {
	flux.Correction
	received time.Time
	looked   bool // the cluster was looked at since
}

func newCorrections() *corrections { return &corrections{all: map[correctionKey]*correction{}} }

// correctionsEach is of how many Kustomizations of a cluster corrections are kept: a cluster names in
// its events what it likes.
const correctionsEach = 1000

func (c *corrections) add(cluster string, made flux.Correction, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := correctionKey{cluster, made.Kustomization}
	if _, known := c.all[key]; !known {
		n := 0
		for other := range c.all {
			if other.cluster == cluster {
				n++
			}
		}
		if n >= correctionsEach {
			return
		}
	}
	c.all[key] = &correction{Correction: made, received: now}
}

// forget forgets the corrections of a cluster that nobody knows.
func (c *corrections) forget(cluster string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.all, func(key correctionKey, _ *correction) bool { return key.cluster == cluster })
}

// looked notes that a look at a cluster has ended, and is whether that decides about a correction.
func (c *corrections) looked(cluster string, began time.Time) (decides bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, one := range c.all {
		if key.cluster == cluster && !one.looked && one.received.Before(began) {
			one.looked, decides = true, true
		}
	}
	return decides
}

// mark makes edited what was put back of what clusters follow, and forgets what is over. A
// correction is of the commit that was there before: what a new commit, or another
// configuration, has brought was applied with success for the first time after the event.
func (c *corrections) mark(clusters []fleet.Cluster, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.all) == 0 {
		return
	}
	for i := range clusters {
		one := &clusters[i]
		cloned := false
		for j := range one.Subscriptions {
			s := &one.Subscriptions[j]
			key := correctionKey{one.Name, s.Ref}
			made := c.all[key]
			if made == nil || s.Kind != fleet.Kustomization || !made.looked {
				continue
			}
			stays := max(editedAtLeast, time.Duration(s.Interval)*time.Second)
			if now.Sub(made.received) > stays || s.State == fleet.Compliant && (s.Applied != made.Commit || !made.At.After(s.At)) {
				delete(c.all, key)
				continue
			}
			if s.State != fleet.Compliant {
				continue
			}
			if !cloned {
				one.Subscriptions, cloned = slices.Clone(one.Subscriptions), true
				s = &one.Subscriptions[j]
			}
			s.Edited, s.EditedAt = made.String(), made.At
		}
	}
	for key, made := range c.all {
		if now.Sub(made.received) > correctionKept {
			delete(c.all, key)
		}
	}
}

// correctionKept bounds for how long a correction is kept of what is not there, in case that a
// Kustomization has a long interval.
const correctionKept = 24 * time.Hour
