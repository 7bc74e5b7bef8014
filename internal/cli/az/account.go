package az

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"
)

// clusterColumns are those that Azure shows of connected clusters.
var clusterColumns = []string{"name", "location", "resourceGroup"}

func connectedList(a *command) *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List the clusters"}
	var group string
	c.Flags().StringVarP(&group, "resource-group", "g", "", "resource group; all when it is not given")
	return leaf(a, c, clusterColumns, func(ctx context.Context, z *call) (any, error) {
		all, err := z.client.ListConnectedClusters(ctx, group)
		if err != nil {
			return nil, err
		}
		return flatAll(all)
	})
}

func connectedShow(a *command) *cobra.Command {
	c := &cobra.Command{Use: "show", Short: "Show a cluster"}
	var group, name string
	named(c, &group, &name)
	return leaf(a, c, clusterColumns, func(ctx context.Context, z *call) (any, error) {
		found, err := z.client.ConnectedCluster(ctx, group, name)
		if err != nil {
			return nil, err
		}
		return flat(found)
	})
}

func graphQuery(a *command) *cobra.Command {
	c := &cobra.Command{Use: "query", Short: "Ask the Resource Graph for configurations (kubernetesconfigurationresources) or clusters (resources)"}
	var query, token string
	var first int
	c.Flags().StringVarP(&query, "graph-query", "q", "", "the query")
	c.Flags().IntVar(&first, "first", 100, "how many rows at most")
	c.Flags().StringVar(&token, "skip-token", "", "the rows after those of this token")
	require(c, "graph-query")
	return leaf(a, c, nil, func(ctx context.Context, z *call) (any, error) {
		found, err := z.client.Query(ctx, query, first, token)
		if err != nil {
			return nil, err
		}
		return map[string]any{
			"count": found.Count, "data": found.Data, "total_records": found.TotalRecords, "skip_token": text(found.SkipToken),
		}, nil
	})
}

// extensionAdd does nothing: what extensions bring is here.
func extensionAdd(a *command) *cobra.Command {
	c := &cobra.Command{Use: "add", Short: "Nothing to do here: there are no extensions"}
	c.Flags().StringP("name", "n", "", "name of the extension")
	return leaf(a, c, nil, func(context.Context, *call) (any, error) { return nil, nil })
}

func login(a *command) *cobra.Command {
	c := &cobra.Command{Use: "login", Short: "Show whether the login is good; the sandbox needs none, and Azure's comes from elsewhere"}
	return leaf(a, c, nil, func(ctx context.Context, z *call) (any, error) {
		account, err := z.account(ctx)
		if err != nil {
			return nil, err
		}
		if z.real {
			z.Messagef("The login that there is, is good: %s.", z.client.Account())
		} else {
			z.Messagef("The sandbox needs no login.")
		}
		return []any{account}, nil
	})
}

func accountShow(a *command) *cobra.Command {
	c := &cobra.Command{Use: "show", Short: "Show the subscription"}
	return leaf(a, c, nil, func(ctx context.Context, z *call) (any, error) { return z.account(ctx) })
}

func (z *call) account(ctx context.Context) (map[string]any, error) {
	if !z.real {
		return map[string]any{
			"environmentName": "kalypso", "homeTenantId": z.tenant, "id": z.client.Subscription(), "isDefault": true,
			"name": "kalypso sandbox", "state": "Enabled", "tenantId": z.tenant,
		}, nil
	}
	s, err := z.client.ShowSubscription(ctx)
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"environmentName": cmp.Or(z.client.Cloud().CLI, z.client.Cloud().Name), "homeTenantId": s.Tenant, "id": s.ID, "isDefault": true,
		"name": s.Name, "state": s.State, "tenantId": s.Tenant,
	}, nil
}
