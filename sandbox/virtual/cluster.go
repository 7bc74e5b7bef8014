package virtual

import (
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/workshop"
)

// The namespaces in which reconcilers have the objects of subscriptions.
const (
	fluxNamespace   = "flux-system"
	argoCDNamespace = "argocd"
)

// maxFollowers is how many folders one cluster may follow: what it applies can
// make it follow more, without an end.
const maxFollowers = 500

// cluster is one that is virtual.
type cluster struct {
	workshop.Cluster
	behaviour
	// roots are its subscriptions; what they apply hangs below them.
	roots []*follower
	count int // of all followers
}

// spec says what is followed: it is a Kustomization with its GitRepository, a
// GitRepository that nothing applies, or an Application.
type spec struct {
	namespace, name string // of the Kustomization or Application, "" for none
	repository      Ref    // the GitRepository, empty for an Application
	url, branch     string // "" for a repository that others bring
	folder          folderKey
	suspended       bool
	dependsOn       string // Kustomizations that go first: "namespace/name " each
	problem         string // why nothing can be fetched
}

// identity distinguishes what a cluster follows.
func (s *spec) identity() [4]string {
	if s.name == "" {
		return [4]string{"", "", s.repository.Namespace, s.repository.Name}
	}
	return [4]string{s.namespace, s.name}
}

// follower is a folder that a cluster follows.
type follower struct {
	*spec
	cluster *cluster
	parent  *follower // what has brought it; nil for a subscription
	source  *source   // nil where nothing can be fetched

	fetched, attempted, applied string    // commits
	fetchedAt, appliedAt        time.Time //
	pending                     *revision // is fetched and not attempted yet
	content                     *folder   // is applied
	sourceProblem               string    // as the cluster saw it last
	failed                      string    // why the attempted commit is not applied
	blocked                     string    // what the pending one waits for, but time
	children                    []*follower

	due   time.Time // zero for never
	index int       // in the schedule
}

func (f *Fleet) newCluster(c workshop.Cluster) *cluster {
	made := &cluster{Cluster: c, behaviour: newBehaviour(c, f.began)}
	for _, s := range c.Follows {
		root := &spec{url: f.options.Organisation + "/" + s.Repository, branch: s.Branch}
		root.folder = folderKey{path: s.Path, reconciler: c.Reconciler}
		if c.Reconciler == workshop.ArgoCD {
			root.namespace, root.name, root.folder.recurse = argoCDNamespace, s.Name, true
			root.folder.namespace = argoCDNamespace
		} else {
			// as Azure's agent calls them
			root.repository = Ref{fluxNamespace, s.Name}
			root.namespace, root.name = fluxNamespace, s.Name+"-"+s.Name
		}
		made.roots = append(made.roots, f.follow(made, nil, root))
	}
	return made
}

// is reports whether the cluster is as one is wanted.
func (c *cluster) is(wanted workshop.Cluster) bool { return reflect.DeepEqual(c.Cluster, wanted) }

// all are the followers of a cluster, each before those that it has brought.
func (c *cluster) all() iter.Seq[*follower] {
	return func(yield func(*follower) bool) {
		for _, root := range c.roots {
			if !root.each(yield) {
				return
			}
		}
	}
}

// each yields a follower and those below it, until that returns false.
func (w *follower) each(yield func(*follower) bool) bool {
	if !yield(w) {
		return false
	}
	for _, child := range w.children {
		if !child.each(yield) {
			return false
		}
	}
	return true
}

func (f *Fleet) follow(c *cluster, parent *follower, s *spec) *follower {
	w := &follower{spec: s, cluster: c, parent: parent}
	c.count++
	f.attach(w)
	return w
}

// attach lets a follower follow the source that its spec names.
func (f *Fleet) attach(w *follower) {
	url, branch := w.url, w.branch
	if url == "" && w.repository.Name != "" {
		for other := range w.cluster.all() {
			if other.repository == w.repository && other.url != "" {
				url, branch = other.url, other.branch
				break
			}
		}
	}
	if w.suspended || w.problem != "" || !strings.HasPrefix(url, f.options.Forge) {
		return // status says so
	}
	w.source = f.source(sourceKey{trimmed(url), branch})
	w.source.followers[w] = struct{}{}
	f.plan(w, time.Now())
	f.wakeUp()
}

func (f *Fleet) detach(w *follower) {
	f.plan(w, time.Time{})
	if s := w.source; s != nil {
		delete(s.followers, w)
		if len(s.followers) == 0 {
			delete(f.sources, s.sourceKey)
		}
		w.source = nil
	}
}

// drop ends a follower, with all that it has brought.
func (f *Fleet) drop(w *follower) {
	for _, child := range w.children {
		f.drop(child)
	}
	f.detach(w)
	w.cluster.count--
}

// step does what a cluster does now about a folder that it follows: to fetch, to
// apply, or to wait, for itself or until it is not offline any more.
func (f *Fleet) step(w *follower, now time.Time) {
	if w.source == nil {
		return
	}
	c := w.cluster
	if offline, _, until := c.offline(now); offline {
		f.plan(w, until)
		return
	}
	w.sourceProblem = w.source.problem
	head := w.source.head
	if head == nil {
		return
	}
	if w.fetched != head.commit && !c.fetches(head).After(now) {
		w.fetched, w.fetchedAt, w.pending = head.commit, now, head
	}
	if w.pending != nil && !c.applies(w.pending).After(now) {
		if w.blocked = f.unready(w); w.blocked == "" {
			f.apply(w, now)
			for other := range c.all() { // it may be what they depend on
				if other.blocked != "" {
					f.plan(other, now)
				}
			}
		}
	}
	next := time.Time{}
	if w.pending != nil && w.blocked == "" {
		next = c.applies(w.pending)
	}
	if at := c.fetches(head); w.fetched != head.commit && (next.IsZero() || at.Before(next)) {
		next = at
	}
	f.plan(w, next)
}

// fetches is when the cluster fetches a revision, and applies when it applies it.
func (b behaviour) fetches(r *revision) time.Time { return r.at.Add(b.lateness(r) / 2) }
func (b behaviour) applies(r *revision) time.Time { return r.at.Add(b.lateness(r)) }

// lateness is none for what was there before the cluster.
func (b behaviour) lateness(r *revision) time.Duration {
	if r.first {
		return 0
	}
	return b.delay()
}

// unready says what a Kustomization depends on and is not ready, as Flux decides it;
// "" for nothing.
func (f *Fleet) unready(w *follower) string {
	for dependency := range strings.FieldsSeq(w.dependsOn) {
		found := false
		for other := range w.cluster.all() {
			if other.name == "" || other.namespace+"/"+other.name != dependency {
				continue
			}
			found = true
			state, _ := f.applyState(other)
			same := other.source == w.source && other.applied != w.pending.commit
			if state != fleet.Compliant || same {
				return fmt.Sprintf("dependency '%s' is not ready", dependency)
			}
		}
		if !found {
			return fmt.Sprintf("dependency '%s' not found", dependency)
		}
	}
	return ""
}

func (f *Fleet) apply(w *follower, now time.Time) {
	r, c := w.pending, w.cluster
	w.pending, w.attempted = nil, r.commit
	if w.name == "" { // nothing applies it
		w.applied, w.appliedAt = r.commit, now
		return
	}
	d := r.folder(w.folder, f.options.Forge)
	switch {
	case d.problem != "":
		w.failed = d.problem
	case c.fails(d.digest):
		w.failed = fmt.Sprintf("a virtual cluster, on which the seed %d lets this revision fail", c.Seed)
	default:
		w.failed = ""
		w.applied, w.appliedAt, w.content = r.commit, now, d
		f.bring(w, d.specs)
	}
}

// bring makes a cluster follow what a folder says that it has just applied, and
// nothing else that the folder said before.
func (f *Fleet) bring(w *follower, wanted []*spec) {
	before := map[[4]string]*follower{}
	for _, child := range w.children {
		before[child.identity()] = child
	}
	w.children = nil
	for _, s := range wanted {
		if child := before[s.identity()]; child != nil {
			w.children = append(w.children, child)
			delete(before, s.identity())
		}
	}
	for _, child := range before {
		f.drop(child)
	}
	stay := w.children
	w.children = nil
	elsewhere := map[[4]string]bool{}
	for other := range w.cluster.all() {
		elsewhere[other.identity()] = true
	}
	w.children = stay
	for _, s := range wanted {
		switch i := slices.IndexFunc(stay, func(child *follower) bool { return child.identity() == s.identity() }); {
		case i >= 0:
			f.respecify(stay[i], s)
		case elsewhere[s.identity()]: // another folder has it
		case w.cluster.count >= maxFollowers:
			w.failed = fmt.Sprintf("a virtual cluster follows no more than %d folders", maxFollowers)
		default:
			elsewhere[s.identity()] = true
			w.children = append(w.children, f.follow(w.cluster, w, s))
		}
	}
	for other := range w.cluster.all() {
		if other.source == nil && other.url == "" { // its repository may have come
			f.attach(other)
		}
	}
}

// respecify lets a follower follow what its object says now, and keeps what it has
// applied until then.
func (f *Fleet) respecify(w *follower, s *spec) {
	same := *w.spec == *s
	w.spec = s // the one that others have, too
	if same {
		return
	}
	f.detach(w)
	w.fetched, w.pending, w.sourceProblem, w.blocked = "", nil, "", ""
	f.attach(w)
}
