package virtual

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/workshop"
)

// State is how a cluster does.
type State string

// The states of a cluster.
const (
	Ready       State = "ready"       // all that it follows is applied
	Progressing State = "progressing" // something is not applied yet
	Failed      State = "failed"      // something cannot be applied
	Offline     State = "offline"     // it cannot be reached; the rest is what was known last
)

// Report is how a cluster does.
type Report struct {
	workshop.Cluster
	State    State
	Reason   string    // of a state other than Ready
	LastSeen time.Time // of one that is offline; zero where it was never seen
	Sources  []Source  // the subscriptions, each with what it has brought
}

// Source is what a reconciler follows: a Kustomization with its GitRepository, or
// an Application.
type Source struct {
	// Subscription is the one that has brought it, or that it is.
	Subscription string
	AppliedBy    Ref // the Kustomization or Application, empty for a subscription
	// Repository is the GitRepository, Object the Kustomization or Application; either
	// may be empty.
	Repository, Object Ref
	URL, Branch, Path  string
	Namespace          string // into which Flux puts everything, "" for as it is in git

	Fetched, Applied     string // commits, "" for none yet
	FetchedAt, AppliedAt time.Time
	Objects              []Object // applied ones, shared: not to be changed

	// RepositoryState and State are those of Repository and of Object.
	RepositoryState, State   fleet.State
	RepositoryReason, Reason string
}

// Ref names an object on a cluster.
type Ref struct{ Namespace, Name string }

// Reports are those of all clusters, by name.
func (f *Fleet) Reports() []Report {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	all := make([]Report, len(f.clusters))
	for i, c := range f.clusters {
		all[i] = f.report(c, now)
	}
	return all
}

// Report is that of one cluster; false where there is none of that name.
func (f *Fleet) Report(name string) (Report, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i, found := slices.BinarySearchFunc(f.clusters, name, func(c *cluster, name string) int { return cmp.Compare(c.Name, name) })
	if !found {
		return Report{}, false
	}
	return f.report(f.clusters[i], time.Now()), true
}

// Clusters are all of them, by name.
func (f *Fleet) Clusters() []workshop.Cluster {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := make([]workshop.Cluster, len(f.clusters))
	for i, c := range f.clusters {
		all[i] = c.Cluster
	}
	return all
}

func (f *Fleet) report(c *cluster, now time.Time) Report {
	r := Report{Cluster: c.Cluster}
	for i, root := range c.roots {
		root.each(func(w *follower) bool {
			r.Sources = append(r.Sources, f.status(w, c.Follows[i].Name))
			return true
		})
	}
	r.State, r.Reason = stateOf(r.Sources)
	if is, since, _ := c.offline(now); is {
		r.State, r.LastSeen = Offline, since
		r.Reason = "it cannot be reached"
	}
	return r
}

// stateOf is that of a cluster with these sources, by what failed, else by what is
// not done.
func stateOf(all []Source) (State, string) {
	for _, wanted := range []struct {
		state fleet.State
		is    State
	}{{fleet.NonCompliant, Failed}, {fleet.Pending, Progressing}} {
		for _, s := range all {
			if s.RepositoryState == wanted.state {
				return wanted.is, "GitRepository " + s.Repository.Name + ": " + s.RepositoryReason
			}
			if s.State == wanted.state {
				return wanted.is, s.Kind() + " " + s.Object.Name + ": " + s.Reason
			}
		}
	}
	return Ready, ""
}

// Kind is that of Object.
func (s Source) Kind() string {
	if s.Repository.Name == "" {
		return "Application"
	}
	return "Kustomization"
}

func (f *Fleet) status(w *follower, subscription string) Source {
	s := Source{
		Subscription: subscription, Repository: w.repository, Object: Ref{w.namespace, w.name},
		URL: w.url, Branch: w.branch, Path: w.folder.path, Namespace: w.folder.namespace,
		Fetched: w.fetched, Applied: w.applied, FetchedAt: w.fetchedAt, AppliedAt: w.appliedAt,
	}
	if w.parent != nil {
		s.AppliedBy = Ref{w.parent.namespace, w.parent.name}
	}
	if w.source != nil {
		s.URL, s.Branch = w.source.url, w.source.branch
	}
	if w.content != nil {
		s.Objects = w.content.objects
	}
	if w.repository.Name != "" {
		s.RepositoryState, s.RepositoryReason = f.fetchState(w)
	}
	if w.name != "" {
		s.State, s.Reason = f.applyState(w)
	}
	return s
}

func (f *Fleet) fetchState(w *follower) (fleet.State, string) {
	switch {
	case w.suspended:
		return fleet.Suspended, "it is suspended"
	case w.source == nil:
		return fleet.NonCompliant, cmp.Or(w.problem, f.unfetchable(w))
	case w.sourceProblem != "":
		return fleet.NonCompliant, w.sourceProblem
	case w.fetched == "":
		return fleet.Pending, "nothing is fetched yet"
	}
	return fleet.Compliant, ""
}

// unfetchable is why nothing is fetched for a follower without a source.
func (f *Fleet) unfetchable(w *follower) string {
	if w.url == "" {
		return fmt.Sprintf("there is no GitRepository %s/%s", w.repository.Namespace, w.repository.Name)
	}
	return fmt.Sprintf("a virtual cluster fetches from the sandbox's forge only, and not %s", w.url)
}

func (f *Fleet) applyState(w *follower) (fleet.State, string) {
	switch fetched, reason := f.fetchState(w); {
	case fetched == fleet.Suspended, fetched != fleet.Compliant && w.fetched == "":
		return fetched, reason
	case w.blocked != "":
		return fleet.Pending, w.blocked
	case w.attempted != w.fetched:
		return fleet.Pending, fmt.Sprintf("commit %.8s is not applied yet", w.fetched)
	case w.failed != "":
		return fleet.NonCompliant, w.failed
	case w.repository.Name == "" && fetched == fleet.NonCompliant: // an Application has one state for both
		return fetched, reason
	}
	return fleet.Compliant, ""
}

// Observe implements [fleet.Observer]: every GitRepository and every Application
// counts that follows the branch, whatever has brought it. A cluster that is offline
// is Unknown.
func (f *Fleet) Observe(_ context.Context, s fleet.Source) ([]fleet.Configuration, error) {
	var all []fleet.Configuration
	for _, r := range f.Reports() {
		for i, one := range r.Sources {
			if one.Branch != s.Branch || !fleet.SameRepository(one.URL, s.Repo) {
				continue
			}
			c := fleet.Configuration{Cluster: r.Name, Name: one.Object.Name, Commit: one.Fetched}
			if one.Repository.Name != "" {
				c.Name = one.Repository.Name
				if slices.ContainsFunc(r.Sources[:i], func(before Source) bool { return before.Repository == one.Repository }) {
					continue // all that apply it were looked at together
				}
			}
			c.State, c.Reason = Combined(r.Sources[i:], one)
			if r.State == Offline {
				c.State, c.Reason = fleet.Unknown, r.Reason
			}
			all = append(all, c)
		}
	}
	return all, nil
}

// Combined is the state of a source, of all that has the same repository, and of
// what these have brought. The list is a cluster's, from that source on.
func Combined(list []Source, of Source) (fleet.State, string) {
	within := map[Ref]bool{}
	var tree []Source
	for _, s := range list {
		if of.Object.Name != "" && s.Object == of.Object || of.Repository.Name != "" && s.Repository == of.Repository ||
			of.Repository.Name != "" && s.AppliedBy.Name != "" && within[s.AppliedBy] {
			within[s.Object] = true
			tree = append(tree, s)
		}
	}
	switch state, reason := stateOf(tree); {
	case state == Failed:
		return fleet.NonCompliant, reason
	case state == Progressing:
		return fleet.Pending, reason
	case cmp.Or(of.RepositoryState, of.State) == fleet.Suspended:
		return fleet.Suspended, "it is suspended"
	}
	return fleet.Compliant, ""
}

// Group are the clusters of one type whose names differ in their numbers only.
type Group struct {
	First       string `json:"first"`
	Last        string `json:"last"`
	Type        string `json:"type,omitempty"`
	Count       int    `json:"count"`
	Ready       int    `json:"ready"`
	Progressing int    `json:"progressing"`
	Failed      int    `json:"failed"`
	Offline     int    `json:"offline"`
	// Reason is the one that most of those have that are failed, or else progressing.
	Reason string `json:"reason,omitempty"`
}

// Name is that of its cluster, or those of the first and the last.
func (g Group) Name() string {
	if g.Count == 1 {
		return g.First
	}
	return g.First + ".." + g.Last
}

// String is a group in one line.
func (g Group) String() string {
	text := "virtual cluster " + g.Name()
	if g.Count > 1 {
		text = fmt.Sprintf("%d virtual clusters %s", g.Count, g.Name())
	}
	var parts []string
	for _, p := range []struct {
		n     int
		state State
	}{{g.Ready, Ready}, {g.Progressing, Progressing}, {g.Failed, Failed}, {g.Offline, Offline}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.state))
		}
	}
	text += ": " + strings.Join(parts, ", ")
	if g.Reason != "" {
		text += ": " + g.Reason
	}
	return text
}

var digits = regexp.MustCompile(`[0-9]+`)

// Groups puts reports together, in the order of their names.
func Groups(all []Report) []Group {
	var groups []Group
	index := map[[2]string]int{}
	reasons := map[int]map[string]int{}
	for _, r := range all {
		key := [2]string{digits.ReplaceAllString(r.Name, "#"), r.Type}
		i, known := index[key]
		if !known {
			i = len(groups)
			index[key], reasons[i] = i, map[string]int{}
			groups = append(groups, Group{First: r.Name, Type: r.Type})
		}
		g := &groups[i]
		g.Last = r.Name
		g.Count++
		switch r.State {
		case Ready:
			g.Ready++
		case Progressing:
			g.Progressing++
			reasons[i][r.Reason]++
		case Failed:
			g.Failed++
			reasons[i][r.Reason] += len(all) // goes before
		case Offline:
			g.Offline++
		}
	}
	for i := range groups {
		most := 0
		for reason, n := range reasons[i] {
			if n > most || n == most && reason < groups[i].Reason {
				most, groups[i].Reason = n, reason
			}
		}
	}
	return groups
}
