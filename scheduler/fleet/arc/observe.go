package arc

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/kalypso-dev/kalypso/scheduler/fleet"
)

var _ fleet.Observer = (*Client)(nil)

// Observe asks the Resource Graph for all configurations of the subscription
// that follow the branch: one call, however many clusters there are.
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
	var all []fleet.Configuration
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
		all = append(all, found.observed(cluster))
	}
	slices.SortStableFunc(all, func(a, b fleet.Configuration) int { return cmp.Compare(a.ID(), b.ID()) })
	return all, nil
}

func (c Configuration) observed(cluster Cluster) fleet.Configuration {
	f := fleet.Configuration{Cluster: cluster.Name, Name: c.Name, State: fleet.State(c.Properties.ComplianceState), Reason: c.reason()}
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
func (c Configuration) reason() string {
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
