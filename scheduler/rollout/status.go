package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Phase is what a rollout is doing.
type Phase string

// The phases of a rollout.
const (
	Progressing Phase = "progressing" // waves get a commit, or wait to
	Complete    Phase = "complete"    // all waves have the environment's commit
	Paused      Phase = "paused"      // a user has paused it
	Stopped     Phase = "stopped"     // more clusters have failed than may
	Aborted     Phase = "aborted"     // a user has given the commit up
)

// Status is how a rollout is. Its JSON is for scripts: fields are added, not changed.
type Status struct {
	Environment string `json:"environment"`
	ClusterType string `json:"clusterType"`
	Rollout     string `json:"rollout"`
	Phase       Phase  `json:"phase"`
	Reason      string `json:"reason"` // what it has done, or what it waits for
	Target      string `json:"target"` // the commit that waves get
	Good        string `json:"good"`   // the one that all have had last
	Wave        string `json:"wave"`   // the last one that has the target, "" before the first
	// Notes are what else a user should know, as that clusters are in no wave.
	Notes []string     `json:"notes"`
	Waves []WaveStatus `json:"waves"`
}

// WaveStatus is how one wave is.
type WaveStatus struct {
	Name     string          `json:"name"`
	Branch   string          `json:"branch"`
	Commit   string          `json:"commit"` // of the environment's branch
	Size     int             `json:"size"`   // clusters that follow the branch
	Arrived  int             `json:"arrived"`
	Failed   int             `json:"failed"`
	Reason   string          `json:"reason,omitempty"` // what it waits for
	Clusters []ClusterStatus `json:"clusters,omitempty"`
}

// ClusterStatus is how a cluster is with its wave's commit.
type ClusterStatus struct {
	Name   string `json:"name"`
	Commit string `json:"commit,omitempty"` // of the environment's branch, "" where that is not known
	State  string `json:"state"`            // arrived, waiting or failed
	Reason string `json:"reason,omitempty"`
}

// Short leaves the clusters out.
func (s Status) Short() Status {
	s.Waves = slices.Clone(s.Waves)
	for i := range s.Waves {
		s.Waves[i].Clusters = nil
	}
	return s
}

// describe fills in the status what follows from the state.
func (m *machine) describe() {
	s := &m.result.Status
	s.Phase = cmp.Or(s.Phase, Progressing)
	s.Target, s.Good = m.state.Target, m.state.Good
	if m.reached > 0 {
		s.Wave = m.spec.Waves[m.reached-1].Name
	}
	for i, w := range m.spec.Waves {
		v := m.waves[i]
		one := WaveStatus{
			Name: w.Name, Branch: Branch(m.Environment, m.spec.ClusterType, w.Name), Commit: m.state.Waves[w.Name],
			Size: v.size, Arrived: v.arrived, Failed: v.failed, Clusters: v.clusters,
		}
		switch {
		case m.state.Target == m.state.Good || m.state.Aborted != nil:
			one.Reason = some(v.reasons)
		case i == m.reached-1:
			one.Reason = s.Reason
		case i == m.reached && m.reached == 0:
			one.Reason = s.Reason
		case i >= m.reached:
			one.Reason = fmt.Sprintf("waits for wave %s", m.spec.Waves[i-1].Name)
		default:
			one.Reason = some(v.reasons)
		}
		s.Waves = append(s.Waves, one)
	}
	m.notes()
}

// notes are about clusters that are not where the Rollout has them.
func (m *machine) notes() {
	if m.Unseen != "" {
		m.note("the clusters cannot be asked: %s", m.Unseen)
		return
	}
	a := Assign(m.spec, m.Clusters)
	var outside, elsewhere []string
	for _, c := range m.Clusters {
		switch wave := a.Waves[c.Name]; {
		case c.Wave == "":
			outside = append(outside, c.Name)
		case c.Wave != wave:
			elsewhere = append(elsewhere, c.Name)
		}
	}
	if len(outside) > 0 {
		m.note("%d clusters follow the environment's branch and get every commit at once: %s; see kalypso rollout assign", len(outside), some(outside))
	}
	if len(elsewhere) > 0 {
		m.note("%d clusters follow the branch of another wave than theirs: %s; see kalypso rollout assign", len(elsewhere), some(elsewhere))
	}
	if len(m.Clusters) > 0 {
		for _, wave := range a.Empty {
			m.note("wave %s holds no cluster", wave)
		}
	}
	if len(a.Overlaps) > 0 {
		m.note("%s, which are in the first of them", some(a.Overlaps))
	}
}

func (m *machine) note(format string, args ...any) {
	m.result.Status.Notes = append(m.result.Status.Notes, fmt.Sprintf(format, args...))
}

// maxReasons are as many as a user reads.
const maxReasons = 5

// some are the first of several texts in one.
func some(all []string) string {
	more := ""
	if len(all) > maxReasons {
		more = fmt.Sprintf("; and %d more", len(all)-maxReasons)
	}
	return strings.Join(all[:min(len(all), maxReasons)], "; ") + more
}

func (o *Order) describe(what string) string {
	text := what
	if o.By != "" {
		text += " by " + o.By
	}
	if o.Reason != "" {
		text += ": " + o.Reason
	}
	return text
}

func (s *Stop) describe() string {
	return fmt.Sprintf("%d of %d clusters of wave %s have failed: %s", s.Failed, s.Of, s.Wave, some(s.Reasons))
}
