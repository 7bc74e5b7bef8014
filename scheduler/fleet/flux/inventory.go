package flux

import (
	"context"
	"regexp"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

// Cluster is a fleet.Reader and fleet.Observer of the objects of Flux on one cluster. One
// without Flux follows nothing.
type Cluster struct {
	Name   string
	Client dynamic.Interface
}

var (
	_ fleet.Reader   = Cluster{}
	_ fleet.Observer = Cluster{}
)

// Observe implements fleet.Observer: every GitRepository counts that follows the branch,
// whatever has brought it.
func (c Cluster) Observe(ctx context.Context, s fleet.Source) ([]fleet.Configuration, error) {
	return fleet.Observe(ctx, c, s)
}

// Inventory implements fleet.Reader. It never fails: a cluster that cannot be asked is
// Unknown.
func (c Cluster) Inventory(ctx context.Context) (fleet.Snapshot, error) {
	return fleet.Single(c.Name, func() ([]fleet.Subscription, error) { return c.Subscriptions(ctx) }), nil
}

// Subscriptions asks the cluster for all that it follows by Flux.
func (c Cluster) Subscriptions(ctx context.Context) ([]fleet.Subscription, error) {
	objects, err := Read(ctx, c.Client)
	if err != nil {
		return nil, err
	}
	return objects.Subscriptions(), nil
}

// Subscriptions are all that the cluster follows, whatever has brought it.
func (o *Objects) Subscriptions() []fleet.Subscription {
	all := []fleet.Subscription{}
	type beside struct{ repository, parent Ref }
	applied := map[beside]bool{}
	repositories := map[Ref]*unstructured.Unstructured{}
	for i := range o.Repositories {
		repositories[refOf(&o.Repositories[i])] = &o.Repositories[i]
	}
	for i := range o.Kustomizations {
		k := &o.Kustomizations[i]
		source, ok := SourceOf(k)
		repository := repositories[source]
		if !ok {
			repository = nil
		}
		if repository != nil {
			parent, _ := AppliedBy(k)
			applied[beside{source, parent}] = true
		}
		all = append(all, subscription(k, repository))
	}
	for i := range o.Repositories {
		r := &o.Repositories[i]
		parent, _ := AppliedBy(r)
		if !applied[beside{refOf(r), parent}] {
			all = append(all, subscription(nil, r))
		}
	}
	fleet.SortSubscriptions(all)
	return all
}

// subscription is a Kustomization with its GitRepository; either may be nil.
func subscription(k, repository *unstructured.Unstructured) fleet.Subscription {
	var s fleet.Subscription
	var statuses []Status
	if repository != nil {
		ref := refOf(repository)
		s.Source = &ref
		s.Repo, s.Branch = text(repository, "spec", "url"), text(repository, "spec", "ref", "branch")
		s.Commit = fleet.CommitOf(Revision(repository))
		s.Interval = interval(repository)
		statuses = append(statuses, repositoryStatus(repository))
	}
	decides := repository
	if k == nil {
		s.Kind, s.Ref = fleet.GitRepository, refOf(repository)
	} else {
		decides = k
		s.Kind, s.Ref = fleet.Kustomization, refOf(k)
		s.Path = text(k, "spec", "path")
		s.Applied = fleet.CommitOf(text(k, "status", "lastAppliedRevision"))
		s.Interval = max(s.Interval, interval(k))
		s.Objects = appliedObjects(k)
		revision := ""
		if repository != nil {
			revision = Revision(repository)
		} else if ref, ok := SourceOf(k); ok {
			s.Source = &ref
		}
		statuses = append(statuses, kustomizationStatus(k, revision))
	}
	if parent, ok := AppliedBy(decides); ok {
		s.Parent = &parent
	}
	s.State, s.Reason = Combined(statuses)
	if s.State != fleet.Compliant && repository != nil && len(statuses) > 1 && statuses[0].State == s.State {
		decides = repository
	}
	s.At = since(decides, s.State)
	return s
}

// since is when an object came into its state: for one that complies, when it had first
// applied the revision that it has, which kustomize-controller keeps since 1.7.
func since(o *unstructured.Unstructured, state fleet.State) time.Time {
	if state == fleet.Compliant {
		history, _, _ := unstructured.NestedSlice(o.Object, "status", "history")
		for _, item := range history {
			m, _ := item.(map[string]any)
			revision, _, _ := unstructured.NestedString(m, "metadata", "revision")
			result, _ := m["lastReconciledStatus"].(string)
			if revision == "" || revision != text(o, "status", "lastAppliedRevision") || result != reconciled {
				continue
			}
			first, _ := m["firstReconciled"].(string)
			if at, err := time.Parse(time.RFC3339, first); err == nil {
				return at.UTC()
			}
		}
	}
	if ready := find(conditions(o), "Ready"); ready != nil {
		return ready.LastTransitionTime.UTC()
	}
	return time.Time{}
}

// reconciled is the result in the history of what was applied and is well.
const reconciled = "ReconciliationSucceeded"

// interval is that of an object in seconds, 0 for none that can be read.
func interval(o *unstructured.Unstructured) int64 {
	var d metav1.Duration
	if d.UnmarshalJSON([]byte(`"`+text(o, "spec", "interval")+`"`)) != nil {
		return 0
	}
	return int64(d.Seconds())
}

// appliedObjects are those in the inventory of a Kustomization, whose IDs are
// NAMESPACE_NAME_GROUP_KIND, with two underscores for a colon in a name.
func appliedObjects(k *unstructured.Unstructured) []fleet.Object {
	entries, _, _ := unstructured.NestedSlice(k.Object, "status", "inventory", "entries")
	var all []fleet.Object
	for _, item := range entries {
		m, _ := item.(map[string]any)
		id, _ := m["id"].(string)
		if parts := inventoryID.FindStringSubmatch(id); parts != nil {
			name := strings.ReplaceAll(parts[2], "__", ":")
			all = append(all, fleet.Object{Group: parts[3], Kind: parts[4], Ref: Ref{Namespace: parts[1], Name: name}})
		}
	}
	return all
}

var inventoryID = regexp.MustCompile(`^([^_]*)_(.+)_([^_]*)_([^_]+)$`)
