package arc

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/armapi"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
)

var _ fleet.Observer = (*Client)(nil)

// Observe asks the Resource Graph for all configurations of the fleet that follow
// the branch: one query, however many clusters and subscriptions there are.
//
// A subscription of which the graph has nothing is asked itself whether the
// account can see it at all: what it cannot see is not a fleet without clusters.
func (c *Client) Observe(ctx context.Context, s fleet.Source) ([]fleet.Configuration, error) {
	// the URL is compared here, since people write one repository in several ways
	rows, err := c.queryAll(ctx, "kubernetesconfigurationresources"+
		" | where type == 'microsoft.kubernetesconfiguration/fluxconfigurations'"+
		" | where properties.gitRepository.repositoryRef.branch == "+quoted(s.Branch)+
		" | project id, name, properties"+
		" | order by id asc")
	if err != nil {
		return nil, err
	}
	var all []follower
	for _, row := range rows {
		var found Configuration
		if err := json.Unmarshal(row, &found); err != nil {
			return nil, fmt.Errorf("a configuration in the resource graph: %w", err)
		}
		g := found.Properties.GitRepository
		if g == nil || !fleet.SameRepository(g.URL, s.Repo) {
			continue
		}
		cluster, err := ParseClusterID(found.ID)
		if err != nil {
			return nil, err
		}
		all = append(all, follower{cluster, found.ID, observed(found, cluster)})
	}
	for _, id := range c.fleet {
		prefix := strings.ToLower(armapi.SubscriptionID(id)) + "/"
		if slices.ContainsFunc(all, func(f follower) bool { return strings.HasPrefix(strings.ToLower(f.id), prefix) }) {
			continue
		}
		if err := c.visible(ctx, id); err != nil {
			return nil, fmt.Errorf("whether clusters follow branch %s: %w", s.Branch, err)
		}
	}
	return named(all), nil
}

// follower is a configuration with its full ID.
type follower struct {
	cluster Cluster
	id      string
	fleet.Configuration
}

// named are the configurations in the order of their names. Names of clusters
// are unique in their resource group only: of those that would be taken for one
// another, the group is told, too, or all of the ID.
func named(all []follower) []fleet.Configuration {
	for _, name := range []func(follower) string{
		func(f follower) string { return f.cluster.ResourceGroup + "/" + f.cluster.Name },
		func(f follower) string { return strings.Trim(f.id[:strings.LastIndex(f.id, "/providers/")], "/") },
	} {
		times := map[string]int{}
		for _, f := range all {
			times[strings.ToLower(f.ID())]++
		}
		for i, f := range all {
			if times[strings.ToLower(f.ID())] > 1 {
				all[i].Cluster = name(f)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b follower) int { return cmp.Compare(a.ID(), b.ID()) })
	out := make([]fleet.Configuration, 0, len(all))
	for _, f := range all {
		out = append(out, f.Configuration)
	}
	return out
}

func observed(c Configuration, cluster Cluster) fleet.Configuration {
	f := fleet.Configuration{Cluster: cluster.Name, Name: c.Name, State: fleet.State(c.Properties.ComplianceState), Reason: reason(c)}
	if id := c.Properties.SourceSyncedCommitID; id != nil {
		f.Commit = fleet.CommitOf(*id)
	}
	switch f.State {
	case fleet.Compliant, fleet.NonCompliant, fleet.Pending, fleet.Suspended:
	default:
		// a word that is new to us proves nothing
		f.State = fleet.Unknown
	}
	return f
}

// reason is the message of the first object that keeps the configuration from
// being compliant, those that failed first.
func reason(c Configuration) string {
	if c.Properties.ComplianceState == string(fleet.Compliant) {
		return ""
	}
	if c.Properties.ErrorMessage != "" {
		return c.Properties.ErrorMessage
	}
	for _, state := range []fleet.State{fleet.NonCompliant, fleet.Pending, fleet.Suspended} {
		for _, s := range c.Properties.Statuses {
			if s.ComplianceState != string(state) {
				continue
			}
			for _, condition := range s.StatusConditions {
				if condition.Type == "Ready" && condition.Status != "True" {
					return s.Kind + " " + s.Name + ": " + condition.Message
				}
			}
		}
	}
	return ""
}
