package rollout

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
)

// MaxSkew is how far the clocks of two machines may differ so that no soak ends early.
const MaxSkew = 5 * time.Minute

// Cluster is a cluster of the type.
type Cluster struct {
	Name   string
	Labels map[string]string
	// Wave is the one whose branch it follows, "" where it follows the environment's.
	Wave string
	// Configurations are those that follow that branch. Their commits are those of the
	// environment's branch, "" where that is not known.
	Configurations []fleet.Configuration
}

// Input is all that a decision depends on.
type Input struct {
	Environment string
	Rollout     model.Rollout
	State       *State // nil before the first decision
	Head        string // commit of the environment's branch
	// Same says whether two commits of that branch are the same to the type's clusters.
	Same     func(a, b string) bool
	Clusters []Cluster
	Unseen   string // why the fleet cannot be asked, "" where it was
	Now      time.Time
	Clock    string // names the machine by whose clock Now is
	// Failing is since when clusters have been seen to fail, without a break; zero for not.
	// After Grace of that the rollout stops: reconcilers try again, and what is missing at
	// first may come. Until then it does not go on either.
	Failing time.Time
	Grace   time.Duration
}

// Result is what follows.
type Result struct {
	State   *State // that is to be kept; nil for the one that there is
	Subject string // says what is decided, in a line
	Status  Status
	Again   time.Time // when the time alone may change something; zero for never
	Failing bool      // more clusters fail than may
}

// Next decides the one next step.
func Next(in Input) Result {
	m := &machine{Input: in, spec: in.Rollout.Spec}
	m.result.Status = Status{Environment: in.Environment, ClusterType: m.spec.ClusterType, Rollout: in.Rollout.Name, Waves: []WaveStatus{}, Notes: []string{}}
	if in.State == nil {
		m.begin()
	} else {
		m.state = in.State.clone()
		m.judge()
		m.step()
	}
	m.describe()
	return m.result
}

// machine is one call of Next.
type machine struct {
	Input
	spec    v1alpha1.RolloutSpec
	state   *State // a copy
	waves   []verdict
	reached int // how many waves have the target, from the first on
	result  Result
}

// verdict is how the clusters of a wave are, as the gate of promotion sees it.
type verdict struct {
	size, arrived, failed, allowed int
	reasons                        []string
	clusters                       []ClusterStatus
}

// missing says that more clusters are not well with the commit than may fail: whatever
// becomes of those that are missing, it cannot be more then.
func (v verdict) missing() bool { return v.size-v.arrived > v.allowed }

// begin makes the first state: all waves have what the environment has.
func (m *machine) begin() {
	m.state = &State{
		Environment: m.Environment, ClusterType: m.spec.ClusterType, Rollout: m.Rollout.Name, Text: text(m.spec),
		Target: m.Head, Good: m.Head, Waves: map[string]string{},
	}
	for _, w := range m.spec.Waves {
		m.state.Waves[w.Name] = m.Head
	}
	m.reached = len(m.spec.Waves)
	m.judge()
	m.decide("begin with commit %.8s in all waves", m.Head)
}

// judge looks at the clusters of each wave.
func (m *machine) judge() {
	m.waves = make([]verdict, len(m.spec.Waves))
	for i, w := range m.spec.Waves {
		v := &m.waves[i]
		for _, c := range m.Clusters {
			if c.Wave == w.Name {
				v.add(c, m.state.Waves[w.Name])
			}
		}
		v.allowed = amountDown(m.spec.MaxFailures, v.size)
	}
	for m.reached = 0; m.reached < len(m.spec.Waves) && m.state.Waves[m.spec.Waves[m.reached].Name] == m.state.Target; {
		m.reached++
	}
}

func (v *verdict) add(c Cluster, commit string) {
	v.size++
	judged := fleet.Judge(c.Configurations, commit)
	if len(c.Configurations) == 0 {
		judged = fleet.Verdict{Decision: fleet.Waiting, Reasons: []string{c.Name + " reports nothing"}}
	}
	one := ClusterStatus{Name: c.Name, State: string(judged.Decision)}
	for _, configuration := range c.Configurations {
		one.Commit = configuration.Commit
	}
	one.Reason = strings.Join(judged.Reasons, "; ")
	switch judged.Decision {
	case fleet.Arrived:
		v.arrived++
	case fleet.Failed:
		v.failed++
		v.reasons = slices.Insert(v.reasons, v.failed-1, one.Reason)
	default:
		v.reasons = append(v.reasons, one.Reason)
	}
	v.clusters = append(v.clusters, one)
}

// decide makes the copy the state that follows.
func (m *machine) decide(format string, args ...any) {
	m.state.Text = text(m.spec)
	m.state.Rollout = m.Rollout.Name
	m.result.State, m.result.Subject = m.state, fmt.Sprintf(format, args...)
	m.result.Status.Reason = m.result.Subject
}

// wait says why nothing is decided.
func (m *machine) wait(phase Phase, format string, args ...any) {
	m.result.Status.Phase, m.result.Status.Reason = phase, fmt.Sprintf(format, args...)
}

func (m *machine) step() {
	s := m.state
	switch {
	case m.adopt():
	case m.Head != s.Target && s.Paused != nil:
		m.wait(Paused, "%s; commit %.8s waits", s.Paused.describe("paused"), m.Head)
	case m.Head != s.Target:
		m.retarget()
	case s.Aborted != nil:
		m.wait(Aborted, "%s: all waves go back to commit %.8s, and the next commit begins anew", s.Aborted.describe("aborted"), s.Good)
	case s.Good == s.Target:
		m.wait(Complete, "all waves have commit %.8s", s.Target)
	case s.Stopped != nil:
		m.wait(Stopped, "%s", s.Stopped.describe())
	case s.Paused != nil:
		m.wait(Paused, "%s", s.Paused.describe("paused"))
	case m.Unseen != "":
		m.wait(Progressing, "the clusters cannot be asked: %s", m.Unseen)
	case m.fails():
	case m.reached == 0:
		m.start()
	default:
		m.pass()
	}
}

// adopt takes in a Rollout that has changed. New waves begin with the commit that is known
// to be good: it is what their clusters have had before, or were to have.
func (m *machine) adopt() bool {
	s := m.state
	if s.Text == text(m.spec) && s.Rollout == m.Rollout.Name {
		return false
	}
	var added []string
	for _, w := range m.spec.Waves {
		if _, known := s.Waves[w.Name]; !known {
			s.Waves[w.Name] = s.Good
			added = append(added, w.Name)
		}
	}
	m.judge()
	at := "before the first wave"
	if m.reached > 0 {
		at = "from wave " + m.spec.Waves[m.reached-1].Name
	}
	more := ""
	if len(added) > 0 {
		more = ", with new waves " + strings.Join(added, ", ")
	}
	m.decide("the rollout has changed: go on by the new text %s%s", at, more)
	return true
}

// retarget begins a rollout of the environment's newest commit. A wave for whose clusters
// it makes no difference has it at once.
func (m *machine) retarget() {
	s := m.state
	s.Target, s.Soak, s.Promoted, s.Stopped, s.Aborted = m.Head, nil, "", nil, nil
	if m.Same(s.Good, m.Head) {
		m.complete()
		m.decide("commit %.8s is to these clusters what all of them have had last: all waves get it", m.Head)
		return
	}
	for wave, commit := range s.Waves {
		if commit == m.Head || m.Same(commit, m.Head) {
			s.Waves[wave] = m.Head
		}
	}
	m.judge()
	m.decide("roll out commit %.8s", m.Head)
}

// complete ends a rollout: the target is good. Waves that the Rollout does not have any
// more, which clusters may still follow, have it, too.
func (m *machine) complete() {
	s := m.state
	s.Good, s.Soak, s.Promoted = s.Target, nil, ""
	for wave := range s.Waves {
		s.Waves[wave] = s.Target
	}
}

// fails is whether more clusters have failed with the target than may, in any wave that
// has it.
func (m *machine) fails() bool {
	for i, w := range m.spec.Waves[:m.reached] {
		v := m.waves[i]
		if v.failed <= v.allowed {
			continue
		}
		m.result.Failing = true
		left := m.Grace
		if !m.Failing.IsZero() {
			left -= m.Now.Sub(m.Failing)
		}
		switch {
		case m.state.Soak != nil:
			m.state.Soak = nil
			m.decide("wave %s is not well any more: %d of %d clusters have failed", w.Name, v.failed, v.size)
		case left > 0:
			m.result.Again = m.Now.Add(left)
			m.wait(Progressing, "%d of %d clusters of wave %s have failed, which may pass: %s", v.failed, v.size, w.Name, some(v.reasons))
		default:
			m.state.Stopped = &Stop{Wave: w.Name, At: m.Now, Failed: v.failed, Of: v.size, Reasons: v.reasons[:min(len(v.reasons), maxReasons)]}
			m.decide("stop: %s", m.state.Stopped.describe())
			m.result.Status.Phase = Stopped
		}
		return true
	}
	return false
}

// start gives the target to the next wave, if a window is open.
func (m *machine) start() {
	next := m.spec.Waves[m.reached]
	skips := m.reached > 0 && m.state.Promoted == m.spec.Waves[m.reached-1].Name || m.reached == 0 && m.state.Promoted == next.Name
	if reason, at := closed(m.spec.Windows, m.Now); reason != "" && !skips {
		m.result.Again = at
		m.wait(Progressing, "wave %s waits: %s", next.Name, reason)
		return
	}
	m.state.Waves[next.Name] = m.state.Target
	m.state.Soak, m.state.Promoted = nil, ""
	m.decide("wave %s gets commit %.8s", next.Name, m.state.Target)
}

// pass goes on from a wave that is well, after its soak.
func (m *machine) pass() {
	wave, v, s := m.spec.Waves[m.reached-1], m.waves[m.reached-1], m.state
	last := m.reached == len(m.spec.Waves)
	promoted := s.Promoted == wave.Name
	if v.size == 0 && !last && !promoted {
		m.wait(Progressing, "wave %s holds no cluster, so that nothing would be seen before the next one: assign clusters to it, or promote it", wave.Name)
		return
	}
	if v.missing() {
		m.wait(Progressing, "%d of %d clusters of wave %s are well with commit %.8s: %s", v.arrived, v.size, wave.Name, s.Target, some(v.reasons))
		return
	}
	if wave.Soak > 0 && !promoted && v.size > 0 {
		if s.Soak == nil || s.Soak.Wave != wave.Name {
			s.Soak = &Soak{Wave: wave.Name, Since: m.Now.UTC().Truncate(time.Second), Clock: m.Clock}
			m.decide("wave %s is well with commit %.8s and soaks for %s", wave.Name, s.Target, wave.Soak)
			return
		}
		if end := s.Soak.end(wave.Soak, m.Clock); m.Now.Before(end) {
			m.result.Again = end
			m.wait(Progressing, "wave %s soaks until %s", wave.Name, end.UTC().Format(time.RFC3339))
			return
		}
	}
	if !last {
		m.start()
		return
	}
	m.complete()
	m.decide("all waves have commit %.8s", s.Target)
	m.result.Status.Phase = Complete
}

// end is when a soak is over. By another clock than the one that it began by it takes so
// much longer as the two may differ.
func (s *Soak) end(soak v1alpha1.Duration, clock string) time.Time {
	end := s.Since.Add(time.Second + time.Duration(soak)) // Since has lost less than a second
	if s.Clock != clock {
		end = end.Add(MaxSkew)
	}
	return end
}
