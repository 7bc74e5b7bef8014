package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Reader reads all that the clusters of a fleet, or of a part of one, follow.
type Reader interface {
	// Inventory returns every subscription to any branch. A cluster that cannot be
	// asked is among the clusters, with the reason, and keeps no other from being
	// read. An error means that it is not known which clusters there are.
	Inventory(ctx context.Context) (Snapshot, error)
}

// Watched is a Reader whose clusters can be asked one by one, and say when to.
type Watched interface {
	Reader
	Members() []Member // by name
}

// Member is one cluster of a Watched.
type Member interface {
	Name() string
	// Look asks the cluster now. With an error, which is its Unknown, it could not be asked.
	Look(ctx context.Context) (Cluster, error)
	// Watch calls changed, from several goroutines, when a look may find something else than
	// before, until ctx ends. connected is whether the cluster would say so: if not, it is
	// tried again, and changed is called after each try.
	Watch(ctx context.Context, changed func(connected bool))
}

// Fleet is what can be asked both about one branch and as a whole.
type Fleet interface {
	Observer
	Reader
}

// Snapshot is a fleet at one moment.
type Snapshot struct {
	At       time.Time `json:"at"`       // by the clock of the machine that asked
	Clusters []Cluster `json:"clusters"` // by name
}

// Cluster is a cluster with all that it follows.
type Cluster struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels,omitempty"`
	// LastSeen is the last contact with it, zero where that is not known.
	LastSeen time.Time `json:"lastSeen,omitzero"`
	// Unknown is why nothing certain is known of the cluster, "" for one that has
	// answered. Its subscriptions, all Unknown, are as they were seen last then.
	Unknown string `json:"unknown,omitempty"`
	// Approximate says that it was not asked itself: what it has applied was taken out of
	// texts, and not all that it follows needs to be there.
	Approximate   bool           `json:"approximate,omitempty"`
	Subscriptions []Subscription `json:"subscriptions"` // by namespace and name
}

// The kinds of subscriptions.
const (
	Kustomization = "Kustomization" // of Flux
	GitRepository = "GitRepository" // of Flux, one that no Kustomization beside it applies
	Application   = "Application"   // of Argo CD
	Playbook      = "Playbook"      // of Ansible, on a host
)

// Subscription is one folder of a branch that a reconciler follows: a Kustomization with
// its GitRepository, one source of an Application, or playbooks.
type Subscription struct {
	Kind string `json:"kind"` // one of those above
	Ref
	// Source is the GitRepository, or what a host follows, nil for other sources.
	Source *Ref `json:"source,omitempty"`
	// Repo, Branch and Path are what is followed; "" where it is not known, as of a
	// source of another kind than git.
	Repo   string `json:"repo,omitempty"` // URL
	Branch string `json:"branch,omitempty"`
	Path   string `json:"path,omitempty"`
	// Wave is that of a rollout whose branch is followed, where Branch and the commits are those of
	// the environment's instead.
	Wave string `json:"wave,omitempty"`
	// Commit is the one that was fetched last, Applied the one that was applied last
	// with success; "" before the first.
	Commit  string `json:"commit,omitempty"`
	Applied string `json:"applied,omitempty"`
	// State is that of the subscription and its source, without what it has brought.
	State  State  `json:"state"`
	Reason string `json:"reason,omitempty"` // of a state that is not Compliant
	// At is when that began, by the cluster's clock; zero where it does not say.
	At time.Time `json:"at,omitzero"`
	// Interval is after how many seconds it looks again at the latest, 0 where that is not
	// known.
	Interval int64 `json:"intervalSeconds,omitempty"`
	// Parent is what has applied it, nil for what a user, or Azure, has made.
	Parent  *Ref     `json:"parent,omitempty"`
	Objects []Object `json:"objects,omitempty"` // that it has applied
	// Edited is what somebody has changed on the cluster, and since EditedAt the reconciler
	// has put back; "" for nothing. It is not in what a cluster says of its objects.
	Edited   string    `json:"edited,omitempty"`
	EditedAt time.Time `json:"editedAt,omitzero"`
}

// Ref names an object of a cluster whose kind the context says.
type Ref struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// Object is something that a subscription has applied.
type Object struct {
	Group string `json:"group,omitempty"`
	Kind  string `json:"kind"`
	Ref
	// OutOfSync says that it differs from what is in git.
	OutOfSync bool `json:"outOfSync,omitempty"`
}

func (r Ref) compare(other Ref) int {
	return cmp.Or(cmp.Compare(r.Namespace, other.Namespace), cmp.Compare(r.Name, other.Name))
}

// UnknownCluster is a cluster that could not be asked.
func UnknownCluster(name string, err error) Cluster {
	return Cluster{Name: name, Unknown: err.Error(), Subscriptions: []Subscription{}}
}

// Single is the Snapshot of a cluster, asked now. One that lacks the reconciler's kinds follows
// nothing, and one that cannot be asked is Unknown.
func Single(name string, ask func() ([]Subscription, error)) Snapshot {
	now := time.Now().UTC()
	c := Cluster{Name: name, LastSeen: now, Subscriptions: []Subscription{}}
	switch all, err := ask(); {
	case apierrors.IsNotFound(err): // there are no such kinds
	case err != nil:
		c = UnknownCluster(name, err)
	default:
		c.Subscriptions = append(c.Subscriptions, all...)
		SortSubscriptions(c.Subscriptions)
	}
	return Snapshot{At: now, Clusters: []Cluster{c}}
}

// Forget makes all that is known of a cluster unknown.
func (c *Cluster) Forget(reason string) {
	c.Unknown = reason
	c.Subscriptions = slices.Clone(c.Subscriptions)
	for i := range c.Subscriptions {
		c.Subscriptions[i].State, c.Subscriptions[i].Reason = Unknown, reason
	}
}

// Follows is whether the subscription is to a branch.
func (s Subscription) Follows(from Source) bool {
	return s.Repo != "" && s.Branch == from.Branch && SameRepository(s.Repo, from.Repo)
}

// Observe is an Observer's answer out of a Reader's. A cluster that could not be asked is
// an error, unless it is known what it followed last.
func Observe(ctx context.Context, r Reader, from Source) ([]Configuration, error) {
	all, err := r.Inventory(ctx)
	if err != nil {
		return nil, err
	}
	var found []Configuration
	for _, c := range all.Clusters {
		if c.Unknown != "" && len(c.Subscriptions) == 0 {
			return nil, fmt.Errorf("cluster %s: %s", c.Name, c.Unknown)
		}
		found = append(found, c.Configurations(from)...)
	}
	return found, nil
}

// Configurations are the subscriptions to a branch: those with one source together, and
// each in the state that it has with all that it has brought.
func (c Cluster) Configurations(from Source) []Configuration {
	var found []Configuration
	known := map[Ref]bool{}
	for i := range c.Subscriptions {
		s := &c.Subscriptions[i]
		if !s.Follows(from) || s.Source != nil && known[*s.Source] {
			continue
		}
		one := Configuration{Cluster: c.Name, Name: s.Name, Commit: s.Commit}
		tree := []*Subscription{s}
		if s.Source != nil {
			known[*s.Source] = true
			one.Name = s.Source.Name
			tree = c.tree(*s.Source)
		}
		one.State, one.Reason = combined(tree)
		found = append(found, one)
	}
	slices.SortStableFunc(found, func(a, b Configuration) int { return cmp.Compare(a.Name, b.Name) })
	return found
}

// tree are the subscriptions with a source, and after them what they have brought, level
// by level.
func (c Cluster) tree(source Ref) []*Subscription {
	var all []*Subscription
	reached := map[*Subscription]bool{}
	var level []Ref
	add := func(belongs func(*Subscription) bool) (next []Ref) {
		for i := range c.Subscriptions {
			// two Kustomizations can apply each other
			if s := &c.Subscriptions[i]; !reached[s] && belongs(s) {
				reached[s] = true
				all = append(all, s)
				if s.Kind != GitRepository {
					next = append(next, s.Ref)
				}
			}
		}
		return next
	}
	level = add(func(s *Subscription) bool { return s.Source != nil && *s.Source == source })
	for len(level) > 0 {
		level = add(func(s *Subscription) bool { return s.Parent != nil && slices.Contains(level, *s.Parent) })
	}
	return all
}

// combined is the state of all together, and the reason of the one that decides it: what
// failed, else what is not done, else what is suspended.
func combined(all []*Subscription) (State, string) {
	for _, state := range []State{NonCompliant, Pending, Suspended, Unknown} {
		for _, s := range all {
			if s.State == state {
				return state, s.Reason
			}
		}
	}
	return Compliant, ""
}

// Inventory implements Reader: it asks those of the observers that are Readers, all at
// once, and puts their answers together.
func (all Observers) Inventory(ctx context.Context) (Snapshot, error) {
	at := time.Now().UTC()
	answers, failed := make([]Snapshot, len(all)), make([]error, len(all))
	var g errgroup.Group
	g.SetLimit(atOnce)
	for i, o := range all {
		g.Go(func() error {
			if r, ok := o.(Reader); ok {
				answers[i], failed[i] = r.Inventory(ctx)
			} else {
				failed[i] = fmt.Errorf("%T can be asked about one branch only", o)
			}
			return nil
		})
	}
	_ = g.Wait() // all are asked, also when one fails
	return Together(at, answers...), errors.Join(failed...)
}

// Together is one snapshot of several parts of a fleet. Clusters that several know are put
// together: what a cluster says itself goes before what was said of it.
func Together(at time.Time, answers ...Snapshot) Snapshot {
	whole := Snapshot{At: at, Clusters: []Cluster{}}
	views := map[string][]Cluster{}
	for _, a := range answers {
		for _, one := range a.Clusters {
			views[one.Name] = append(views[one.Name], one)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(views)) {
		whole.Clusters = append(whole.Clusters, together(views[name]))
	}
	return whole
}

// atOnce is how many observers are asked at a time.
const atOnce = 32

// together is one cluster out of what several say of it. Those who have asked it itself
// decide; where nobody has, all do.
func together(views []Cluster) Cluster {
	whole := Cluster{Name: views[0].Name, Approximate: true, Subscriptions: []Subscription{}}
	for _, v := range views {
		whole.Approximate = whole.Approximate && v.Approximate
	}
	var reasons []string
	for _, v := range views {
		for key, value := range v.Labels {
			if whole.Labels == nil {
				whole.Labels = map[string]string{}
			}
			whole.Labels[key] = value
		}
		if v.LastSeen.After(whole.LastSeen) {
			whole.LastSeen = v.LastSeen
		}
		if v.Approximate != whole.Approximate {
			continue
		}
		if v.Unknown != "" && !slices.Contains(reasons, v.Unknown) {
			reasons = append(reasons, v.Unknown)
		}
		whole.Subscriptions = append(whole.Subscriptions, v.Subscriptions...)
	}
	SortSubscriptions(whole.Subscriptions)
	if len(reasons) > 0 {
		whole.Forget(strings.Join(reasons, "; "))
	}
	return whole
}

// SortSubscriptions puts them in the order that they have in a Cluster.
func SortSubscriptions(all []Subscription) {
	slices.SortStableFunc(all, func(a, b Subscription) int {
		return cmp.Or(a.Ref.compare(b.Ref), cmp.Compare(a.Kind, b.Kind))
	})
}
