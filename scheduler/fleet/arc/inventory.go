package arc

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/internal/armapi"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
)

const (
	// heartbeat is how often the agents on a cluster report to Azure, and missedHeartbeats how
	// many of these may be missed before a cluster counts as Unknown
	// (learn.microsoft.com/azure/azure-arc/kubernetes/conceptual-connectivity-modes).
	heartbeat        = 5 * time.Minute
	missedHeartbeats = 3

	connected = "Connected"
)

// Inventory implements [fleet.Reader] by two queries of the Resource Graph: the
// configurations, and the clusters that Azure Arc manages. What a configuration has
// brought is in its status only, without the branch, and its commit only in a text, so
// that all clusters are Approximate.
func (c *Client) Inventory(ctx context.Context) (fleet.Snapshot, error) {
	now := time.Now().UTC()
	configurations, err := c.configurations(ctx, "")
	if err != nil {
		return fleet.Snapshot{}, err
	}
	clusters, err := rowsOf[armapi.ConnectedCluster](ctx, c, "resources"+
		" | where type == 'microsoft.kubernetes/connectedclusters'"+
		" | project id, name, tags, properties"+
		" | order by id asc")
	if err != nil {
		return fleet.Snapshot{}, err
	}
	all := map[string]*member{}
	var ids []string
	find := func(id string) (*member, error) {
		cluster, err := armapi.ParseClusterID(id)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
		key := strings.ToLower(cluster.ID())
		if all[key] == nil {
			all[key] = &member{id: cluster}
		}
		return all[key], nil
	}
	for i := range clusters {
		m, err := find(clusters[i].ID)
		if err != nil {
			return fleet.Snapshot{}, err
		}
		m.connected = &clusters[i]
	}
	for _, one := range configurations {
		m, err := find(one.ID)
		if err != nil {
			return fleet.Snapshot{}, err
		}
		m.configurations = append(m.configurations, one)
	}
	if err := c.checkSeen(ctx, ids); err != nil {
		return fleet.Snapshot{}, fmt.Errorf("which clusters there are: %w", err)
	}
	s := fleet.Snapshot{At: now, Clusters: []fleet.Cluster{}}
	members := slices.Collect(maps.Values(all))
	nameMembers(members)
	for _, m := range members {
		s.Clusters = append(s.Clusters, m.cluster(now))
	}
	slices.SortFunc(s.Clusters, func(a, b fleet.Cluster) int { return cmp.Compare(a.Name, b.Name) })
	return s, nil
}

// member is a cluster of the fleet as the graph has it.
type member struct {
	id             armapi.Cluster
	name           string
	connected      *armapi.ConnectedCluster // nil for a cluster of another type
	configurations []armapi.Configuration
}

// nameMembers gives the clusters names, with the resource group or all of the ID where
// two would have the same.
func nameMembers(all []*member) {
	for _, name := range []func(armapi.Cluster) string{
		func(c armapi.Cluster) string { return c.Name },
		func(c armapi.Cluster) string { return c.ResourceGroup + "/" + c.Name },
		func(c armapi.Cluster) string { return strings.Trim(c.ID(), "/") },
	} {
		times := map[string]int{}
		for _, m := range all {
			times[strings.ToLower(m.name)]++
		}
		for _, m := range all {
			if times[strings.ToLower(m.name)] > 1 || m.name == "" {
				m.name = name(m.id)
			}
		}
	}
}

func (m *member) cluster(now time.Time) fleet.Cluster {
	c := fleet.Cluster{Name: m.name, Approximate: true, Subscriptions: []fleet.Subscription{}}
	for _, one := range m.configurations {
		c.Subscriptions = append(c.Subscriptions, subscriptions(one)...)
		if at := one.Properties.StatusUpdatedAt; at != nil && at.After(c.LastSeen) {
			c.LastSeen = at.UTC()
		}
	}
	fleet.SortSubscriptions(c.Subscriptions)
	if m.connected == nil {
		if m.id.Type == armapi.ConnectedClusters {
			c.Forget("Azure does not show whether it is connected")
		}
		return c
	}
	c.Labels = m.connected.Tags
	p := m.connected.Properties
	last := "it has never been connected"
	if p.LastConnectivity != nil {
		c.LastSeen = p.LastConnectivity.UTC()
		last = "its last contact with Azure was " + c.LastSeen.Format(time.RFC3339)
	}
	switch {
	case p.ConnectivityStatus != connected:
		c.Forget(fmt.Sprintf("it is %s: %s", cmp.Or(p.ConnectivityStatus, "not connected"), last))
	case p.LastConnectivity != nil && now.Sub(c.LastSeen) > missedHeartbeats*heartbeat:
		c.Forget(last)
	}
	return c
}

// subscriptions are the Kustomizations of a configuration, and what these have brought.
func subscriptions(c armapi.Configuration) []fleet.Subscription {
	p := c.Properties
	common := fleet.Subscription{Kind: fleet.Kustomization, State: fleet.Pending, Reason: cmp.Or(p.ErrorMessage, "it has not been reconciled yet")}
	if whole := observed(c, armapi.Cluster{}); whole.State == fleet.Suspended || whole.State == fleet.Unknown {
		common.State, common.Reason = whole.State, cmp.Or(whole.Reason, "Azure says that it is "+p.ComplianceState)
	}
	common.Source = &fleet.Ref{Namespace: p.Namespace, Name: c.Name}
	if g := p.GitRepository; g != nil {
		common.Repo, common.Interval = g.URL, orZero(g.SyncIntervalInSeconds)
		if g.RepositoryRef.Branch != nil {
			common.Branch = *g.RepositoryRef.Branch
		}
	}
	if p.SourceSyncedCommitID != nil {
		common.Commit = fleet.CommitOf(*p.SourceSyncedCommitID)
	}
	var all []fleet.Subscription
	known := map[fleet.Ref]bool{}
	for key, k := range p.Kustomizations {
		s := common
		s.Ref = fleet.Ref{Namespace: p.Namespace, Name: c.Name + "-" + cmp.Or(k.Name, key)}
		s.Path = k.Path
		s.Interval = max(s.Interval, orZero(k.SyncIntervalInSeconds))
		for _, status := range p.Statuses {
			// the service may call it as the configuration does, or as the cluster does
			if status.Kind == fleet.Kustomization && status.Namespace == p.Namespace && status.AppliedBy == nil &&
				(status.Name == s.Name || status.Name == cmp.Or(k.Name, key)) {
				s.Name = status.Name
				judge(&s, status)
			}
		}
		if source := failedSource(p, c.Name); source != nil && s.State != fleet.NonCompliant {
			judge(&s, *source)
		}
		if s.At.IsZero() && p.SourceUpdatedAt != nil {
			s.At = p.SourceUpdatedAt.UTC()
		}
		known[s.Ref] = true
		all = append(all, s)
	}
	for _, status := range p.Statuses {
		ref := fleet.Ref{Namespace: status.Namespace, Name: status.Name}
		if status.Kind != fleet.Kustomization || known[ref] {
			continue
		}
		known[ref] = true
		s := fleet.Subscription{Kind: fleet.Kustomization, Ref: ref, State: fleet.Unknown}
		if by := status.AppliedBy; by != nil {
			s.Parent = &fleet.Ref{Namespace: by.Namespace, Name: by.Name}
		}
		judge(&s, status)
		all = append(all, s)
	}
	if len(p.Kustomizations) == 0 {
		s := common
		s.Kind, s.Ref = fleet.GitRepository, *common.Source
		whole := observed(c, armapi.Cluster{})
		s.State, s.Reason = whole.State, whole.Reason
		all = append(all, s)
	}
	return all
}

func orZero(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

// failedSource is the status of a configuration's GitRepository where that has failed.
func failedSource(p armapi.Properties, name string) *armapi.ObjectStatus {
	for i, s := range p.Statuses {
		if s.Kind == fleet.GitRepository && s.Name == name && s.AppliedBy == nil && s.ComplianceState == string(fleet.NonCompliant) {
			return &p.Statuses[i]
		}
	}
	return nil
}

// appliedText is what kustomize-controller says of a revision that it has applied.
const appliedText = "Applied revision: "

// judge takes the state of a subscription from that of an object.
func judge(s *fleet.Subscription, status armapi.ObjectStatus) {
	s.Reason = ""
	switch s.State = fleet.State(status.ComplianceState); s.State {
	case fleet.Compliant, fleet.NonCompliant, fleet.Pending, fleet.Suspended:
	default:
		// an unknown state proves nothing
		s.State, s.Reason = fleet.Unknown, fmt.Sprintf("Azure says that it is %q", status.ComplianceState)
	}
	for _, c := range status.StatusConditions {
		if c.Type != "Ready" {
			continue
		}
		s.At = c.LastTransitionTime.UTC()
		if revision, ok := strings.CutPrefix(c.Message, appliedText); ok && status.Kind == fleet.Kustomization {
			s.Applied = fleet.CommitOf(strings.TrimSpace(revision))
		}
		if s.State != fleet.Compliant && s.Reason == "" {
			s.Reason = status.Kind + " " + status.Name + ": " + c.Message
		}
	}
}
