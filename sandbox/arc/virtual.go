package arc

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/kalypso-dev/kalypso/internal/armapi"
	"github.com/kalypso-dev/kalypso/internal/armemulator"
	"github.com/kalypso-dev/kalypso/sandbox/virtual"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/workshop"
)

// VirtualTag is the tag of clusters that are virtual; its value is true.
const VirtualTag = "kalypso-virtual"

// withVirtual is the backend with a fleet of virtual clusters. They are shown by
// what they report; nothing can be written to them.
type withVirtual struct {
	*backend
	fleet *virtual.Fleet
}

var _ armemulator.Backend = withVirtual{}

// report is that of a virtual cluster; false for another.
func (s withVirtual) report(c armapi.Cluster) (virtual.Report, bool) {
	if s.fleet == nil {
		return virtual.Report{}, false
	}
	r, found := s.fleet.Report(c.Name)
	return r, found && r.Reconciler == workshop.Flux
}

func (s withVirtual) Clusters() []armapi.Cluster {
	all := s.backend.Clusters()
	if s.fleet == nil {
		return all
	}
	for _, c := range s.fleet.Clusters() {
		if c.Reconciler == workshop.Flux {
			all = append(all, armapi.Cluster{Subscription: s.Subscription, ResourceGroup: s.ResourceGroup, Type: armapi.ConnectedClusters, Name: c.Name})
		}
	}
	return all
}

func (s withVirtual) Tags(c armapi.Cluster) map[string]string {
	if _, is := s.report(c); is {
		return map[string]string{VirtualTag: "true"}
	}
	return s.backend.Tags(c)
}

func (s withVirtual) Describe(ctx context.Context, of armapi.Cluster) armapi.ConnectedCluster {
	r, is := s.report(of)
	if !is {
		return s.backend.Describe(ctx, of)
	}
	c := s.described(of)
	c.Tags = map[string]string{VirtualTag: "true"}
	c.Properties.Distribution, c.Properties.Infrastructure = "virtual", "virtual"
	c.Properties.LastConnectivity = seen(r, s.now())
	if r.State == virtual.Offline {
		c.Properties.ConnectivityStatus = "Offline"
	}
	return c
}

// seen is when a cluster was reached last, nil for never.
func seen(r virtual.Report, now time.Time) *time.Time {
	if r.State != virtual.Offline {
		return &now
	}
	return notZero(r.LastSeen)
}

func notZero(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC().Truncate(time.Second)
	return &t
}

func (s withVirtual) Configurations(ctx context.Context, c armapi.Cluster) ([]armapi.Configuration, error) {
	r, is := s.report(c)
	if !is {
		return s.backend.Configurations(ctx, c)
	}
	var all []armapi.Configuration
	for i := 0; i < len(r.Sources); {
		end := i + 1
		for end < len(r.Sources) && r.Sources[end].Subscription == r.Sources[i].Subscription {
			end++
		}
		one := showVirtual(r.Sources[i:end], seen(r, s.now()))
		one.ID = c.ConfigurationID(one.Name)
		all = append(all, one)
		i = end
	}
	return all, nil
}

// showVirtual is a subscription of a virtual cluster, and what it has brought, as
// ARM shows a configuration.
func showVirtual(tree []virtual.Source, at *time.Time) armapi.Configuration {
	root := tree[0]
	interval := int64(60)
	state, _ := virtual.Combined(tree, root)
	c := armapi.Configuration{
		Name: root.Subscription, Type: armapi.ConfigurationType, SystemData: &armapi.SystemData{CreatedByType: "User"},
		Properties: armapi.Properties{
			Scope: "cluster", Namespace: root.Repository.Namespace, SourceKind: "GitRepository",
			GitRepository: &armapi.GitRepository{
				URL: root.URL, SyncIntervalInSeconds: &interval, TimeoutInSeconds: (*int64)(orDefault(nil)),
				RepositoryRef: armapi.RepositoryRef{Branch: orNil(root.Branch)},
			},
			Kustomizations: map[string]armapi.Kustomization{root.Subscription: {
				Name: root.Subscription, Path: root.Path, DependsOn: []string{}, Prune: true, Wait: new(bool),
				SyncIntervalInSeconds: &interval, TimeoutInSeconds: (*int64)(orDefault(nil)),
			}},
			ProvisioningState: "Succeeded", ComplianceState: string(state), StatusUpdatedAt: at,
			SourceUpdatedAt: notZero(root.FetchedAt),
		},
	}
	if root.Fetched != "" {
		c.Properties.SourceSyncedCommitID = orNil(root.Branch + "@sha1:" + root.Fetched)
	}
	for i, one := range tree {
		known := slices.ContainsFunc(tree[:i], func(before virtual.Source) bool { return before.Repository == one.Repository })
		if one.Repository.Name != "" && !known {
			c.Properties.Statuses = append(c.Properties.Statuses, objectStatus("GitRepository", one.Repository, one.AppliedBy, one.RepositoryState, one.RepositoryReason, "stored artifact for revision "+one.Fetched, one.FetchedAt))
		}
		if one.Object.Name != "" {
			c.Properties.Statuses = append(c.Properties.Statuses, objectStatus(one.Kind(), one.Object, one.AppliedBy, one.State, one.Reason, "Applied revision: "+one.Applied, one.AppliedAt))
		}
	}
	return c
}

func objectStatus(kind string, object, by virtual.Ref, state fleet.State, reason, well string, at time.Time) armapi.ObjectStatus {
	out := armapi.ObjectStatus{Name: object.Name, Namespace: object.Namespace, Kind: kind, ComplianceState: string(state)}
	if by.Name != "" {
		out.AppliedBy = &armapi.ObjectRef{Name: by.Name, Namespace: by.Namespace}
	}
	ready := armapi.Condition{Type: "Ready", Status: "Unknown", Reason: "Progressing", Message: reason, LastTransitionTime: at.UTC().Truncate(time.Second)}
	switch state {
	case fleet.Compliant:
		ready.Status, ready.Reason, ready.Message = "True", "Succeeded", well
	case fleet.NonCompliant:
		ready.Status, ready.Reason = "False", "ReconciliationFailed"
	}
	out.StatusConditions = []armapi.Condition{ready}
	return out
}

// unwritable is the error for a write to a virtual cluster.
func unwritable(name string) error {
	return armemulator.Errorf(http.StatusConflict, "VirtualCluster", "The cluster '%s' is virtual: what it follows is given when it is added, and cannot be changed here.", name)
}

func (s withVirtual) Write(ctx context.Context, c armapi.Cluster, name string, p armapi.Properties, keep bool) error {
	if _, is := s.report(c); is {
		return unwritable(c.Name)
	}
	return s.backend.Write(ctx, c, name, p, keep)
}

func (s withVirtual) Delete(ctx context.Context, c armapi.Cluster, name string, force bool) (bool, error) {
	if _, is := s.report(c); is {
		return false, unwritable(c.Name)
	}
	return s.backend.Delete(ctx, c, name, force)
}

func (s withVirtual) Progress(ctx context.Context, c armapi.Cluster, name string, deletion bool) (bool, *armemulator.Error, error) {
	if _, is := s.report(c); is {
		return false, nil, unwritable(c.Name)
	}
	return s.backend.Progress(ctx, c, name, deletion)
}
