package ansible

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/fleet"
)

// Report is what is known of a host.
type Report struct {
	Host string `json:"host"`
	// LastSeen is when it was reached last.
	LastSeen      time.Time       `json:"lastSeen,omitzero"`
	Subscriptions []*Subscription `json:"subscriptions"`
	// Unreachable is why nothing certain is known, "" for a host that runs.
	Unreachable string `json:"-"`
}

// Subscription is a folder of a branch that a host follows.
type Subscription struct {
	Name   string `json:"name"`
	Repo   string `json:"repo"` // URL
	Branch string `json:"branch"`
	Path   string `json:"path,omitempty"`

	// Commit is the one fetched last, Applied the one of which all playbooks have run with
	// success; "" before the first.
	Commit  string `json:"commit,omitempty"`
	Applied string `json:"applied,omitempty"`
	// Problem is why it could not be fetched, "" when it was.
	Problem string    `json:"problem,omitempty"`
	At      time.Time `json:"at,omitzero"` // of the last change of what is above
	// Interval is after how long it is looked at again.
	Interval    time.Duration `json:"interval"`
	Assignments []*Assignment `json:"assignments,omitempty"` // by name
}

// Assignment is a folder of a subscription with playbooks.
type Assignment struct {
	Name string `json:"name"`
	// Commit is that of the subscription which was run last, Applied the last one that was
	// with success.
	Commit  string `json:"commit,omitempty"`
	Applied string `json:"applied,omitempty"`
	// Problem is why it has failed, "" for success.
	Problem string `json:"problem,omitempty"`
	// Last is the last run that was not a check.
	Last Run       `json:"last"`
	At   time.Time `json:"at,omitzero"` // of that run
	// Checkout is what the playbooks have brought themselves, of a run with success.
	Checkout *Checkout `json:"checkout,omitempty"`
	// Edited is what was changed on the host by hand, and was put back at EditedAt.
	Edited   string    `json:"edited,omitempty"`
	EditedAt time.Time `json:"editedAt,omitzero"`
	// Leaving says that it is in git no more, and what it has brought is to be removed.
	Leaving bool `json:"leaving,omitempty"`
}

// Ran keeps what a run of a commit did; problem is why there was none, or it came to no end.
func (a *Assignment) Ran(run Run, problem, commit string, now time.Time) {
	if problem == "" && len(run.Failed) > 0 {
		problem = run.Failed[0].String()
	}
	if a.Problem != problem || a.Commit != commit || len(run.Changed) > 0 || a.At.IsZero() {
		a.At = now
	}
	a.Last, a.Problem, a.Commit = run, problem, commit
	if problem == "" {
		a.Applied, a.Checkout = commit, run.Checkout
	}
}

// Drifted keeps what a check has found changed, of which now is when it was put back.
func (a *Assignment) Drifted(check Run, now time.Time) {
	a.Edited, a.EditedAt = "", time.Time{}
	if len(check.Changed) == 0 {
		return
	}
	more := ""
	if n := len(check.Changed) - 1; n > 0 {
		more = fmt.Sprintf(", and %d more", n)
	}
	t := check.Changed[0]
	t.Message = ""
	a.Edited, a.EditedAt = fmt.Sprintf("%s found a difference from commit %.8s%s, and Ansible has put it back", t, a.Applied, more), now
}

// Settle makes the subscription's Applied what its assignments say.
func (s *Subscription) Settle(now time.Time) {
	if s.Commit == "" || s.Applied == s.Commit {
		return
	}
	for _, a := range s.Assignments {
		if a.Leaving || a.Applied != s.Commit || a.Problem != "" {
			return
		}
	}
	s.Applied, s.At = s.Commit, now
}

// Cluster is the host as a fleet has it.
func (r Report) Cluster() fleet.Cluster {
	c := fleet.Cluster{Name: r.Host, LastSeen: r.LastSeen.UTC(), Subscriptions: []fleet.Subscription{}}
	for _, s := range r.Subscriptions {
		root := fleet.Ref{Name: s.Name}
		one := fleet.Subscription{
			Kind: fleet.Playbook, Ref: root, Source: &root, Repo: s.Repo, Branch: s.Branch, Path: s.Path,
			Commit: s.Commit, Applied: s.Applied, At: s.At.UTC(), Interval: int64(s.Interval / time.Second),
		}
		one.State, one.Reason = s.state()
		c.Subscriptions = append(c.Subscriptions, one)
		for _, a := range s.Assignments {
			c.Subscriptions = append(c.Subscriptions, a.subscriptions(s, root)...)
		}
	}
	fleet.SortSubscriptions(c.Subscriptions)
	if r.Unreachable != "" {
		c.Forget(r.Unreachable)
	}
	return c
}

// state is that of the subscription itself, and of what has not begun yet.
func (s *Subscription) state() (fleet.State, string) {
	switch {
	case s.Problem != "":
		return fleet.NonCompliant, s.Problem
	case s.Commit == "":
		return fleet.Pending, "nothing is fetched yet"
	case s.Applied == s.Commit:
		return fleet.Compliant, ""
	}
	for _, a := range s.Assignments {
		if a.Problem != "" && a.Commit == s.Commit {
			return fleet.NonCompliant, a.Name + ": " + a.Problem
		}
	}
	return fleet.Pending, fmt.Sprintf("commit %.8s is not applied yet", s.Commit)
}

// subscriptions are the assignment, and what its playbooks have fetched themselves.
func (a *Assignment) subscriptions(of *Subscription, root fleet.Ref) []fleet.Subscription {
	s := fleet.Subscription{
		Kind: fleet.Playbook, Ref: fleet.Ref{Namespace: of.Name, Name: a.Name}, Parent: &root, Source: &root,
		Repo: of.Repo, Branch: of.Branch, Path: strings.TrimPrefix(of.Path+"/"+a.Name, "/"),
		Commit: of.Commit, Applied: a.Applied, At: a.At.UTC(), Interval: int64(of.Interval / time.Second),
		Edited: a.Edited, EditedAt: a.EditedAt,
	}
	switch {
	case a.Problem != "" && a.Commit == of.Commit:
		s.State, s.Reason = fleet.NonCompliant, a.Problem
	case a.Leaving:
		s.State, s.Reason = fleet.Pending, "it is to be removed"
	case a.Applied != of.Commit:
		s.State, s.Reason = fleet.Pending, fmt.Sprintf("commit %.8s is not applied yet", of.Commit)
	default:
		s.State = fleet.Compliant
	}
	if a.Checkout == nil {
		return []fleet.Subscription{s}
	}
	brought := s
	brought.Ref = fleet.Ref{Namespace: of.Name + "/" + a.Name, Name: path.Base(strings.TrimSuffix(a.Checkout.Repo, ".git"))}
	brought.Parent, brought.Source, brought.Edited, brought.EditedAt = &s.Ref, &brought.Ref, "", time.Time{}
	brought.Repo, brought.Branch, brought.Path = a.Checkout.Repo, a.Checkout.Branch, ""
	brought.Commit, brought.Applied = a.Checkout.Commit, a.Checkout.Commit
	return []fleet.Subscription{s, brought}
}

// Assignment returns that of a name, which it makes where there is none.
func (s *Subscription) Assignment(name string) *Assignment {
	i, found := slices.BinarySearchFunc(s.Assignments, name, func(a *Assignment, name string) int { return cmp.Compare(a.Name, name) })
	if !found {
		s.Assignments = slices.Insert(s.Assignments, i, &Assignment{Name: name})
	}
	return s.Assignments[i]
}

// Tasks are the tasks of the last runs of all assignments: ok, changed and failed.
func (s *Subscription) Tasks() (ok, changed, failed int) {
	for _, a := range s.Assignments {
		ok, changed, failed = ok+a.Last.OK, changed+len(a.Last.Changed), failed+len(a.Last.Failed)
	}
	return ok, changed, failed
}
