// Package virtual has clusters that are none: they follow branches and folders of
// GitOps repositories as a reconciler does, hold the commit and the list of objects
// that a real one would have applied, and report. They run nothing.
//
// All clusters of a [Fleet] share what they have in common: a branch is fetched
// once, and a folder of a commit is read once. A cluster itself is a few hundred
// bytes, so that there can be thousands of them.
//
// How late a cluster is, what fails on it and when it is offline follows from a
// seed, see [workshop.Virtual]. Nothing is kept on disk: all else is in git.
//
//	f := virtual.New(virtual.Options{Git: git, Forge: url, Organisation: url + "/kalypso"})
//	f.Set(clusters)
//	go f.Run(ctx)
//	f.Notify("kalypso/kalypso-gitops", "dev") // a push
//	f.Reports()
package virtual

import (
	"cmp"
	"container/heap"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/workshop"
)

// Git reads repositories.
type Git interface {
	// Head is the commit of a branch.
	Head(ctx context.Context, url, branch string) (string, error)
	// Tree has the files of a commit of a branch.
	Tree(ctx context.Context, url, branch, commit string) (*model.Tree, error)
}

// Options of New.
type Options struct {
	Git Git
	// Forge is what the URLs of all repositories begin with that are fetched.
	Forge string
	// Organisation is the URL below which the repositories of subscriptions lie.
	Organisation string
	// Interval is between two looks at a branch whose push was not notified of.
	Interval time.Duration
	Log      *slog.Logger
}

const (
	defaultInterval = time.Minute
	// fetchRetry is when a branch is fetched again that could not be.
	fetchRetry = 10 * time.Second
	// maxFetches at a time: the forge has others to serve, too.
	maxFetches = 4
)

// Fleet is a number of virtual clusters.
type Fleet struct {
	options Options
	began   time.Time
	wake    chan struct{}
	slots   chan struct{} // of fetches

	mu       sync.Mutex
	clusters []*cluster // by name
	sources  map[sourceKey]*source
	due      schedule
}

// New makes a fleet without clusters; Run lets it live.
func New(o Options) *Fleet {
	o.Interval = cmp.Or(o.Interval, defaultInterval)
	o.Forge = strings.TrimSuffix(o.Forge, "/") + "/"
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Fleet{
		options: o, began: time.Now(), wake: make(chan struct{}, 1), slots: make(chan struct{}, maxFetches),
		sources: map[sourceKey]*source{},
	}
}

// Set makes the fleet have these clusters. One that it has already, unchanged,
// goes on.
func (f *Fleet) Set(clusters []workshop.Cluster) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := map[string]*cluster{}
	for _, c := range f.clusters {
		before[c.Name] = c
	}
	f.clusters = f.clusters[:0:0]
	for _, wanted := range clusters {
		c := before[wanted.Name]
		if c != nil && c.is(wanted) {
			delete(before, wanted.Name)
		} else {
			c = f.newCluster(wanted)
		}
		f.clusters = append(f.clusters, c)
	}
	for _, c := range before {
		for _, w := range c.roots {
			f.drop(w)
		}
	}
	slices.SortFunc(f.clusters, func(a, b *cluster) int { return cmp.Compare(a.Name, b.Name) })
	f.wakeUp()
}

// Notify fetches a branch now, since it was pushed to; the repository is
// owner/name.
func (f *Fleet) Notify(repository, branch string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.sources[sourceKey{trimmed(f.options.Forge + repository), branch}]; s != nil {
		s.stale = true
		f.wakeUp()
	}
}

func (f *Fleet) wakeUp() {
	select {
	case f.wake <- struct{}{}:
	default: // it is awake
	}
}

// Run lets the clusters live until ctx ends, whose error it returns.
func (f *Fleet) Run(ctx context.Context) error {
	var fetches sync.WaitGroup
	defer fetches.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		timer.Reset(f.advance(ctx, &fetches))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-f.wake:
		case <-timer.C:
		}
	}
}

// advance does all that is due, and returns for how long nothing is.
func (f *Fleet) advance(ctx context.Context, fetches *sync.WaitGroup) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	for len(f.due) > 0 && !f.due[0].due.After(now) {
		w := f.due[0]
		f.plan(w, time.Time{})
		f.step(w, now)
	}
	next := now.Add(f.options.Interval)
	for _, s := range f.sources {
		if s.fetching {
			continue
		}
		if s.stale || !s.next.After(now) {
			s.stale, s.fetching = false, true
			fetches.Go(func() { f.fetch(ctx, s) })
		} else if s.next.Before(next) {
			next = s.next
		}
	}
	if len(f.due) > 0 && f.due[0].due.Before(next) {
		next = f.due[0].due
	}
	return max(0, next.Sub(now))
}

// plan sets when something of a follower is due, zero for never.
func (f *Fleet) plan(w *follower, at time.Time) {
	scheduled := !w.due.IsZero()
	w.due = at
	switch {
	case at.IsZero() && scheduled:
		heap.Remove(&f.due, w.index)
	case at.IsZero():
	case scheduled:
		heap.Fix(&f.due, w.index)
	default:
		heap.Push(&f.due, w)
	}
}

// schedule is a heap of followers by when they are due.
type schedule []*follower

func (s schedule) Len() int           { return len(s) }
func (s schedule) Less(i, j int) bool { return s[i].due.Before(s[j].due) }
func (s schedule) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].index, s[j].index = i, j
}

func (s *schedule) Push(x any) {
	w := x.(*follower)
	w.index = len(*s)
	*s = append(*s, w)
}

func (s *schedule) Pop() any {
	last := len(*s) - 1
	w := (*s)[last]
	(*s)[last] = nil
	*s = (*s)[:last]
	return w
}
