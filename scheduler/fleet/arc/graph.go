package arc

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/armapi"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
)

// GraphResult is the answer to a query of Azure Resource Graph.
type GraphResult struct {
	TotalRecords int64             `json:"totalRecords"`
	Count        int64             `json:"count"`
	Data         []json.RawMessage `json:"data"`
	SkipToken    string            `json:"$skipToken,omitempty"`
	Truncated    string            `json:"resultTruncated,omitempty"` // "true" or "false"
}

const (
	graphPath = "/providers/Microsoft.ResourceGraph/resources"
	graphPage = 1000
)

// Query asks Azure Resource Graph one page of at most first rows, of all that
// the fleet's subscriptions have; skipToken is that of the page before.
//
// The graph is an index: it can be a few minutes behind the resources
// themselves, and it has only what the account may read.
func (c *Client) Query(ctx context.Context, query string, first int, skipToken string) (*GraphResult, error) {
	options := map[string]any{"resultFormat": "objectArray", "$top": first}
	if skipToken != "" {
		options["$skipToken"] = skipToken
	}
	r, err := c.request(ctx, http.MethodPost, graphPath, graphVersion, map[string]any{
		"subscriptions": c.fleet, "query": query, "options": options,
	})
	if err != nil {
		return nil, err
	}
	var out GraphResult
	if err := c.call(r, &out); err != nil {
		return nil, fmt.Errorf("query of the resource graph: %w", err)
	}
	return &out, nil
}

// queryAll reads all pages. An answer that is cut off, or that has fewer rows
// than it says there are, is an error.
func (c *Client) queryAll(ctx context.Context, query string) ([]json.RawMessage, error) {
	var all []json.RawMessage
	token, followed := "", map[string]bool{}
	for {
		page, err := c.Query(ctx, query, graphPage, token)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Data...)
		token = page.SkipToken
		switch {
		case token != "" && followed[token]:
			return nil, fmt.Errorf("query of the resource graph: its pages lead in a circle after %d rows", len(all))
		case token != "":
			followed[token] = true
		case strings.EqualFold(page.Truncated, "true") || int64(len(all)) < page.TotalRecords:
			return nil, fmt.Errorf("query of the resource graph: %d rows came of %d, and the rest cannot be had: a part of the fleet says nothing about all of it; ask again, or for fewer subscriptions", len(all), page.TotalRecords)
		default:
			return all, nil
		}
	}
}

// quoted is a string literal of the graph's query language.
func quoted(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`, "\r", `\r`).Replace(s) + "'"
}

var (
	_ fleet.Observer = (*Client)(nil)
	_ fleet.Reader   = (*Client)(nil)
)

// Observe asks the Resource Graph for all configurations of the fleet that follow
// the branch: one query, however many clusters and subscriptions there are.
//
// A subscription of which the graph has nothing is read itself, since the graph
// leaves out what the account cannot see.
func (c *Client) Observe(ctx context.Context, s fleet.Source) ([]fleet.Configuration, error) {
	// the URL is compared here, since one repository has several spellings
	found, err := c.configurations(ctx, " | where properties.gitRepository.repositoryRef.branch == "+quoted(s.Branch))
	if err != nil {
		return nil, err
	}
	var all []follower
	var ids []string
	for _, one := range found {
		g := one.Properties.GitRepository
		if g == nil || !fleet.SameRepository(g.URL, s.Repo) {
			continue
		}
		cluster, err := armapi.ParseClusterID(one.ID)
		if err != nil {
			return nil, err
		}
		all, ids = append(all, follower{cluster, one.ID, observed(one, cluster)}), append(ids, one.ID)
	}
	if err := c.checkSeen(ctx, ids); err != nil {
		return nil, fmt.Errorf("whether clusters follow branch %s: %w", s.Branch, err)
	}
	return named(all), nil
}

// configurations are those of the fleet, narrowed by operators of a query.
func (c *Client) configurations(ctx context.Context, where string) ([]armapi.Configuration, error) {
	return rowsOf[armapi.Configuration](ctx, c, "kubernetesconfigurationresources"+
		" | where type == 'microsoft.kubernetesconfiguration/fluxconfigurations'"+where+
		" | project id, name, properties"+
		" | order by id asc")
}

// rowsOf are all rows of a query.
func rowsOf[T any](ctx context.Context, c *Client, query string) ([]T, error) {
	rows, err := c.queryAll(ctx, query)
	if err != nil {
		return nil, err
	}
	all := make([]T, len(rows))
	for i, row := range rows {
		if err := json.Unmarshal(row, &all[i]); err != nil {
			return nil, fmt.Errorf("a row of the resource graph: %w", err)
		}
	}
	return all, nil
}

// checkSeen is an error for a subscription that the account cannot see, where none of
// the resources that were found is in it.
func (c *Client) checkSeen(ctx context.Context, found []string) error {
	for _, id := range c.fleet {
		prefix := strings.ToLower(armapi.SubscriptionID(id)) + "/"
		if slices.ContainsFunc(found, func(one string) bool { return strings.HasPrefix(strings.ToLower(one), prefix) }) {
			continue
		}
		if err := c.checkVisible(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// follower is a configuration with its full ID.
type follower struct {
	cluster armapi.Cluster
	id      string
	fleet.Configuration
}

// named are the configurations in the order of their names. Names of clusters
// are unique in their resource group only: where two
// would be the same, the group is added, or the whole ID is taken.
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

func observed(c armapi.Configuration, cluster armapi.Cluster) fleet.Configuration {
	f := fleet.Configuration{Cluster: cluster.Name, Name: c.Name, State: fleet.State(c.Properties.ComplianceState), Reason: reason(c)}
	if id := c.Properties.SourceSyncedCommitID; id != nil {
		f.Commit = fleet.CommitOf(*id)
	}
	switch f.State {
	case fleet.Compliant, fleet.NonCompliant, fleet.Pending, fleet.Suspended:
	default:
		// an unknown state proves nothing
		f.State = fleet.Unknown
	}
	return f
}

// reason is the message of the first object that keeps the configuration from
// being compliant, those that failed first.
func reason(c armapi.Configuration) string {
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
