package collect

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// rowsEach is how many clusters of changes a round writes about: the first of a large fleet
// has tens of thousands, and other rounds must not wait for them.
const rowsEach = 5000

// changeProgress compares changes with what the clusters have, and remembers what the store
// has of them.
type changeProgress struct {
	sent    map[changeKey]string // digests
	settled map[changeKey]bool   // all clusters have it, and the store knows
	sized   map[changeKey]bool   // it is known what it changes

	orders map[branchKey]*order
}

// order is where each commit is in the history of a branch.
type order struct {
	of    *gitclient.History
	index map[string]int
}

// following is a subscription to a branch, on a cluster of a type.
type following struct {
	cluster     *fleet.Cluster
	s           *fleet.Subscription
	clusterType string
}

// changes are those that differ from what the store has, and done is called when it has them.
// more says that there are others, for another round.
func (s *changeSource) changes(clusters fleet.Snapshot, asked bool, now time.Time) (all []store.Change, done func(), more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &s.progress
	noted, arrived := map[changeKey]string{}, map[changeKey]bool{}
	listed := map[changeKey]bool{}
	rows := 0
	branches := s.collector.pullBranches()
	// most rounds have nothing to compare
	index := sync.OnceValue(func() subscriptions { return subscriptionsOf(clusters) })
	types := map[string]func() clusterTypes{}
	for _, b := range branches {
		if b.platform {
			types[b.environment] = sync.OnceValue(func() clusterTypes { return typesOf(s.rootOf(b), index().to(b.branchKey)) })
		}
	}
	for _, b := range branches {
		followed := sync.OnceValue(func() []following {
			if types[b.environment] == nil {
				return nil
			}
			return followersOf(b, types[b.environment](), index().to(b.branchKey))
		})
		add := func(key changeKey, c store.Change, on []string) {
			if c.State == "" && asked && !p.settled[key] {
				c.Clusters = s.clustersOf(b, &c, followed(), on)
				if len(c.Clusters) > 0 && !slices.ContainsFunc(c.Clusters, func(one store.ChangeCluster) bool { return one.State != store.ClusterApplied }) {
					arrived[key] = true
				}
			}
			digest := digestOf(c)
			if p.sent[key] == digest {
				delete(arrived, key)
				return
			}
			if rows >= rowsEach {
				delete(arrived, key)
				more = true
				return
			}
			rows += len(c.Clusters)
			if arrived[key] {
				noted[key] = digestOf(withoutClusters(c))
			} else {
				noted[key] = digest
			}
			all = append(all, c)
		}
		list, checks := s.collector.pulls.on(b)
		name, _ := s.collector.forge.Repo(b.repo)
		for _, pr := range list {
			key := b.key(pr.Number)
			listed[key] = true
			facts := s.facts[key]
			if facts == nil {
				continue // it has not been looked at
			}
			if p.sized[key] != (facts.size != nil) {
				delete(p.settled, key) // it may go to fewer clusters than was thought
				p.sized[key] = facts.size != nil
			}
			if asked && !p.settled[key] && pr.State != forge.Closed {
				facts.clusters = count(followed(), facts.clusterTypes)
			}
			add(key, changeOf(b, pr, facts, checks[pullKey{name, pr.Number}], now), facts.clusterTypes)
		}
		for _, commit := range s.direct[b] {
			key := b.key(0)
			key.sha = commit.SHA
			listed[key] = true
			url, _ := s.collector.forge.CommitURL(b.repo, commit.SHA)
			add(key, store.Change{
				Environment: b.environment, Repo: redact.URL(b.repo), Branch: b.branch, Kind: b.kindOf(forge.PullRequest{}), SHA: commit.SHA, Head: commit.SHA,
				Title: redact.Text(commit.Subject), Author: commit.Author, URL: url, Stages: store.Stages{Merged: credibleTime(commit.Committed, now)},
			}, nil)
		}
	}
	s.forget(branches, listed)
	return all, func() {
		for key, digest := range noted {
			p.sent[key] = digest
		}
		for key := range arrived {
			p.settled[key] = true
		}
	}, more
}

// forget leaves what is known of the branches that are followed and of the changes that are listed:
// of others nothing is said any more, and there are ever more of them.
func (s *changeSource) forget(branches []pullBranch, listed map[changeKey]bool) {
	followed := map[branchKey]bool{}
	for _, b := range branches {
		followed[b.branchKey] = true
	}
	maps.DeleteFunc(s.direct, func(b pullBranch, _ []store.Commit) bool { return !followed[b.branchKey] })
	maps.DeleteFunc(s.failed, func(b pullBranch, _ bool) bool { return !followed[b.branchKey] })
	maps.DeleteFunc(s.progress.orders, func(b branchKey, _ *order) bool { return !followed[b] })
	gone := func(key changeKey) bool { return !listed[key] }
	maps.DeleteFunc(s.facts, func(key changeKey, _ *changeFacts) bool { return gone(key) })
	maps.DeleteFunc(s.pulled, func(key changeKey, _ []forge.CommitHead) bool { return gone(key) })
	maps.DeleteFunc(s.progress.sent, func(key changeKey, _ string) bool { return gone(key) })
	for _, known := range []map[changeKey]bool{s.progress.settled, s.progress.sized} {
		maps.DeleteFunc(known, func(key changeKey, _ bool) bool { return gone(key) })
	}
}

// digestOf is of all that a round says of a change.
func digestOf(c store.Change) string {
	text, err := json.Marshal(c)
	if err != nil {
		panic(err) // its types can always be written
	}
	sum := sha256.Sum256(text)
	return string(sum[:])
}

func withoutClusters(c store.Change) store.Change {
	c.Clusters = nil
	return c
}

// changeOf is a pull request as a change, without its clusters.
func changeOf(b pullBranch, pr forge.PullRequest, facts *changeFacts, of checks, now time.Time) store.Change {
	c := store.Change{
		Environment: b.environment, Repo: redact.URL(b.repo), Branch: b.branch, Kind: b.kindOf(pr), PullRequest: pr.Number,
		SHA: cmp.Or(pr.MergeCommit, pr.HeadCommit), Head: pr.HeadCommit, Title: redact.Text(pr.Title), Author: pr.Author, MergedBy: pr.MergedBy, URL: pr.URL,
		Size: facts.size, Sources: facts.sources,
		ApprovedBy: of.approval.By,
		Stages:     store.Stages{Planned: credibleTime(facts.planned, now), Opened: credibleTime(pr.Created, now), Approved: credibleTime(of.approval.At, now), Merged: credibleTime(pr.Merged, now)},
	}
	for _, s := range facts.sources {
		if !s.At.IsZero() && (c.Pushed.IsZero() || s.At.Before(c.Pushed)) {
			c.Pushed = s.At
		}
	}
	switch {
	case pr.State == forge.Closed:
		c.State, c.Reason = store.ChangeClosed, "it was closed without a merge"
	case pr.State == forge.Open && isHeld(pr):
		c.State, c.Reason = store.ChangeHeld, waitsFor(pr, of)
	case pr.State == forge.Open:
		c.State, c.Reason = store.ChangeOpen, waitsFor(pr, of)
	}
	return c
}

// subscriptions are those of all clusters, by what they follow as they write it.
type subscriptions map[branchKey][]following

func subscriptionsOf(clusters fleet.Snapshot) subscriptions {
	all := subscriptions{}
	for i := range clusters.Clusters {
		c := &clusters.Clusters[i]
		for j := range c.Subscriptions {
			s := &c.Subscriptions[j]
			key := branchKey{s.Repo, s.Branch}
			all[key] = append(all[key], following{cluster: c, s: s})
		}
	}
	return all
}

// to are those to a branch, whose repository may be written in more than one way.
func (all subscriptions) to(b branchKey) []following {
	var found []following
	for key, list := range all {
		if key.branch == b.branch && key.repo != "" && fleet.SameRepository(key.repo, b.repo) {
			found = append(found, list...)
		}
	}
	slices.SortStableFunc(found, func(a, b following) int { return cmp.Compare(a.cluster.Name, b.cluster.Name) })
	return found
}

// clusterTypes are those of an environment: of each cluster by the subscription that brings
// them, and one of them.
type clusterTypes map[string]struct {
	by  map[fleet.Ref]string
	one string
}

// typesOf are the cluster types whose folders clusters follow on an environment's own branch.
func typesOf(root string, followed []following) clusterTypes {
	all := clusterTypes{}
	for _, f := range followed {
		clusterType, ok := model.CleanFolder(f.s.Path), true
		if root != "" {
			clusterType, ok = strings.CutPrefix(clusterType, root+"/")
		}
		if !ok || clusterType == "" || strings.Contains(clusterType, "/") {
			continue
		}
		of := all[f.cluster.Name]
		if of.by == nil {
			of.by, of.one = map[fleet.Ref]string{}, clusterType
		}
		of.by[f.s.Ref] = clusterType
		all[f.cluster.Name] = of
	}
	return all
}

// followersOf are the subscriptions to a branch that apply something, of the clusters of its
// environment.
func followersOf(b pullBranch, types clusterTypes, followed []following) []following {
	var all []following
	for _, f := range followed {
		of, known := types[f.cluster.Name]
		if !known || f.s.Kind == fleet.GitRepository {
			continue
		}
		f.clusterType = of.one
		switch {
		case b.platform:
			if f.clusterType, known = of.by[f.s.Ref]; !known {
				continue // of another environment's folder
			}
		case f.s.Parent != nil:
			f.clusterType = cmp.Or(of.by[*f.s.Parent], of.one)
		}
		all = append(all, f)
	}
	return all
}

// count is on how many clusters of some types, or of any, there are subscriptions.
func count(all []following, clusterTypes []string) int {
	names := map[string]bool{}
	for _, f := range all {
		if len(clusterTypes) == 0 || slices.Contains(clusterTypes, f.clusterType) {
			names[f.cluster.Name] = true
		}
	}
	return len(names)
}

// clustersOf says how far a change has come, nil where the branch's history is not known now:
// then what was known stays. Of types that it changes nothing on it does not speak; a change
// that changes no assignment at all goes to all that follow the branch.
func (s *changeSource) clustersOf(b pullBranch, c *store.Change, followed []following, on []string) []store.ChangeCluster {
	h := s.orderOf(b.branchKey)
	if h == nil {
		return nil
	}
	at, known := h.index[c.SHA]
	commits := h.of.Commits
	oldest, newest := commits[len(commits)-1].When, commits[0].When
	if !known {
		switch {
		case !h.of.Whole && c.Merged.Before(oldest):
			at = len(commits) // before all that was read
		case newest.After(c.Merged):
			c.State, c.Reason = store.ChangeClosed, "the branch was pushed with force since: the commit is not on it any more"
			return nil
		default:
			return nil // the branch was read before the merge
		}
	}
	all := []store.ChangeCluster{}
	for _, f := range followed {
		if len(on) == 0 || slices.Contains(on, f.clusterType) {
			all = append(all, h.progress(f, c.SHA, at))
		}
	}
	return all
}

// orderOf is the order of a branch's commits as it was read last, nil where it was not.
func (s *changeSource) orderOf(b branchKey) *order {
	for _, p := range s.collector.planes {
		h := p.histories.known(b)
		if h == nil {
			continue
		}
		o := s.progress.orders[b]
		if o == nil || o.of != h {
			o = &order{h, make(map[string]int, len(h.Commits))}
			for i, c := range h.Commits {
				o.index[c.ID] = i
			}
			s.progress.orders[b] = o
		}
		return o
	}
	return nil
}

// The positions of a commit that a cluster has, seen from a change.
const (
	before = iota
	exactly
	later
	elsewhere // it is none of the branch
)

// position says where a commit is, seen from the commit of a change, which is the at-th newest.
func (o *order) position(has, sha string, at int) int {
	i, known := o.index[has]
	switch {
	case has == "":
		return before
	case strings.EqualFold(has, sha):
		return exactly
	case known && i < at:
		return later
	case !known && o.of.Whole:
		return elsewhere
	}
	return before
}

// progress is how far a change is on a subscription. What fails on a later commit is not this
// change's: that one has come.
func (o *order) progress(f following, sha string, at int) store.ChangeCluster {
	s := f.s
	one := store.ChangeCluster{
		Cluster: f.cluster.Name, ClusterType: f.clusterType, Subscription: strings.TrimPrefix(s.Namespace+"/"+s.Name, "/"),
		State: store.ClusterWaiting, Reason: redact.Text(s.Reason),
	}
	applied, fetched := o.position(s.Applied, sha, at), o.position(s.Commit, sha, at)
	switch {
	case applied == later, applied == exactly && (s.State == fleet.Compliant || s.State == fleet.Suspended):
		one.State, one.Reason, one.Since, one.Passed = store.ClusterApplied, "", s.At, applied == later
	case s.State == fleet.Unknown:
		one.State, one.Reason = store.ClusterUnknown, cmp.Or(redact.Text(f.cluster.Unknown), one.Reason, "it cannot be asked")
	case (fetched == exactly || fetched == later) && s.State == fleet.NonCompliant:
		one.State = store.ClusterFailing
	case applied == elsewhere:
		one.State, one.Reason = store.ClusterUnknown, "it has "+strconv.Quote(fmt.Sprintf("%.8s", s.Applied))+", which is no commit of the branch"
	case fetched == exactly, fetched == later, applied == exactly:
		one.State = store.ClusterFetched
	default:
		one.Reason = cmp.Or(one.Reason, fmt.Sprintf("it is on %.8s", cmp.Or(s.Commit, "nothing yet")))
	}
	return one
}
