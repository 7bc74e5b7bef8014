package rollout_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/rollout"
)

// simulation is a fleet with what it is told, in simulated time.
type simulation struct {
	*testing.T
	random   *rand.Rand
	rollout  model.Rollout
	state    *rollout.State
	head     string
	broken   map[string]float64 // the share of clusters on which a commit fails
	clusters []*simulated
	now      time.Time
	seen     map[string]int       // by commit, how many waves had it when it was seen to fail
	well     map[string]time.Time // by commit and wave, since when it is well
}

type simulated struct {
	name, wave string
	has        string // commit
	at         time.Time
	wants      string
	fails      map[string]bool
}

func newSimulation(t *testing.T, seed uint64) *simulation {
	w := &simulation{
		T: t, random: rand.New(rand.NewPCG(seed, 1)), head: "c0", broken: map[string]float64{}, now: noon,
		seen: map[string]int{}, well: map[string]time.Time{},
	}
	w.rollout = waves(t, fmt.Sprintf("%d%%", w.random.IntN(15)), [3]string{"w0", "3", "7m"}, [3]string{"w1", "10%", "3m"}, [3]string{"w2", "30%", ""}, [3]string{"w3", "", "1m"})
	var all []rollout.Cluster
	for i := range 40 + w.random.IntN(60) {
		all = append(all, rollout.Cluster{Name: fmt.Sprint("c", i)})
	}
	for name, wave := range rollout.Assign(w.rollout.Spec, all).Waves {
		w.clusters = append(w.clusters, &simulated{name: name, wave: wave, has: "c0", wants: "c0", fails: map[string]bool{}})
	}
	return w
}

// push makes a new commit, which fails on a share of the clusters.
func (w *simulation) push(n int) {
	w.head = fmt.Sprint("c", n)
	if w.random.IntN(2) == 0 {
		w.broken[w.head] = 0.2
	}
	for _, c := range w.clusters {
		c.fails[w.head] = w.random.Float64() < w.broken[w.head]
	}
}

// follow lets time pass: clusters get what their waves' branches hold.
func (w *simulation) follow(by time.Duration) {
	w.now = w.now.Add(by)
	for _, c := range w.clusters {
		if commit := w.state.Waves[c.wave]; commit != c.wants {
			c.wants, c.at = commit, w.now.Add(time.Duration(w.random.IntN(120))*time.Second)
		}
		if !c.at.After(w.now) {
			c.has = c.wants
		}
	}
	for _, wave := range w.rollout.Spec.Waves {
		key := w.state.Target + " " + wave.Name
		is := true
		for _, c := range w.clusters {
			is = is && (c.wave != wave.Name || c.has == w.state.Target)
		}
		if _, known := w.well[key]; is && !known {
			w.well[key] = w.now
		}
	}
}

func (w *simulation) on(commit string) (waves int) {
	for _, wave := range w.rollout.Spec.Waves {
		if w.state.Waves[wave.Name] == commit {
			waves++
		}
	}
	return waves
}

// next asks one of two machines, whose clocks differ by minutes. It keeps nothing but the
// state and, if it has not been killed, since when clusters fail.
func (w *simulation) next(machine int, failing time.Time) rollout.Result {
	in := rollout.Input{
		Environment: "dev", Rollout: w.rollout, State: w.state, Head: w.head, Same: func(a, b string) bool { return a == b },
		Now: w.now.Add(time.Duration(machine) * 4 * time.Minute), Clock: fmt.Sprint("machine ", machine), Failing: failing, Grace: time.Minute,
	}
	for _, c := range w.clusters {
		state := fleet.Compliant
		if c.fails[c.has] {
			state = fleet.NonCompliant
		}
		in.Clusters = append(in.Clusters, cluster(c.name, c.wave, c.has, state))
	}
	return rollout.Next(in)
}

// TestAlways simulates rollouts: with commits that fail, commits that come amid, schedulers
// that are killed, and clocks that differ.
func TestAlways(t *testing.T) {
	for seed := range uint64(50) {
		w := newSimulation(t, seed)
		w.state = first(t, w.rollout, w.head)
		commits, idle := 0, 0
		var failing time.Time
		for step := 0; idle < 400; step++ {
			if step > 20_000 {
				t.Fatalf("seed %d: it does not end: %+v", seed, w.state)
			}
			if commits < 4 && w.random.IntN(300) == 0 {
				commits++
				w.push(commits)
			}
			machine := w.random.IntN(2)
			if w.random.IntN(20) == 0 {
				failing = time.Time{} // killed
			}
			before := w.state
			result := w.next(machine, failing)
			switch {
			case !result.Failing:
				failing = time.Time{}
			case failing.IsZero():
				failing = w.now
			}
			if _, known := w.seen[w.state.Target]; result.Failing && !known {
				w.seen[w.state.Target] = w.on(w.state.Target)
			}
			if result.State == nil {
				if commits == 4 {
					idle++
				}
			} else {
				idle = 0
				w.state = kept(t, result.State)
			}
			for commit, had := range w.seen {
				if is := w.on(commit); is > had {
					t.Fatalf("seed %d: %d waves have commit %s, which was seen to fail in %d: %s", seed, is, commit, had, result.Subject)
				}
			}
			w.checkSoak(seed, before)
			w.follow(time.Duration(1+w.random.IntN(20)) * time.Second)
		}
		switch r := w.next(0, failing); {
		case r.Status.Phase == rollout.Complete && w.state.Good == w.head:
		case r.Status.Phase == rollout.Stopped && w.broken[w.head] > 0:
		default:
			t.Fatalf("seed %d: it ends as %s: %s", seed, r.Status.Phase, r.Status.Reason)
		}
	}
}

// checkSoak is that no wave begins before the one before it has been well for its soak.
func (w *simulation) checkSoak(seed uint64, before *rollout.State) {
	for i, wave := range w.rollout.Spec.Waves[1:] {
		if before.Target != w.state.Target || before.Waves[wave.Name] == w.state.Waves[wave.Name] {
			continue
		}
		last := w.rollout.Spec.Waves[i]
		if w.rollout.Spec.MaxFailures.Number > 0 {
			continue // some of them may be behind
		}
		since, ok := w.well[w.state.Target+" "+last.Name]
		if !ok || w.now.Sub(since) < time.Duration(last.Soak) {
			w.Fatalf("seed %d: wave %s begins after wave %s was well for %s (%t), not %s", seed, wave.Name, last.Name, w.now.Sub(since), ok, last.Soak)
		}
	}
}
