package main

import (
	"context"

	"github.com/spf13/cobra"
)

// azClusterColumns are those that Azure shows of connected clusters.
var azClusterColumns = []string{"name", "location", "resourceGroup"}

func azConnectedList(a *app) *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List the clusters"}
	var group string
	c.Flags().StringVarP(&group, "resource-group", "g", "", "resource group; all when it is not given")
	return azLeaf(a, c, azClusterColumns, func(ctx context.Context, z *azCall) (any, error) {
		all, err := z.client.ListConnectedClusters(ctx, group)
		if err != nil {
			return nil, err
		}
		return azFlatAll(all)
	})
}

func azConnectedShow(a *app) *cobra.Command {
	c := &cobra.Command{Use: "show", Short: "Show a cluster"}
	var group, name string
	c.Flags().StringVarP(&group, "resource-group", "g", "", "resource group of the cluster")
	c.Flags().StringVarP(&name, "name", "n", "", "name of the cluster")
	azRequire(c, "resource-group", "name")
	return azLeaf(a, c, azClusterColumns, func(ctx context.Context, z *azCall) (any, error) {
		found, err := z.client.ConnectedCluster(ctx, group, name)
		if err != nil {
			return nil, err
		}
		return azFlat(found)
	})
}

func azGraphQuery(a *app) *cobra.Command {
	c := &cobra.Command{Use: "query", Short: "Ask the Resource Graph for configurations (kubernetesconfigurationresources) or clusters (resources)"}
	var query, token string
	var first int
	c.Flags().StringVarP(&query, "graph-query", "q", "", "the query")
	c.Flags().IntVar(&first, "first", 100, "how many rows at most")
	c.Flags().StringVar(&token, "skip-token", "", "the rows after those of this token")
	azRequire(c, "graph-query")
	return azLeaf(a, c, nil, func(ctx context.Context, z *azCall) (any, error) {
		found, err := z.client.Query(ctx, query, first, token)
		if err != nil {
			return nil, err
		}
		return map[string]any{
			"count": found.Count, "data": found.Data, "total_records": found.TotalRecords, "skip_token": azText(found.SkipToken),
		}, nil
	})
}

// azExtensionAdd does nothing: what extensions bring is here.
func azExtensionAdd(a *app) *cobra.Command {
	c := &cobra.Command{Use: "add", Short: "Nothing to do here: there are no extensions"}
	c.Flags().StringP("name", "n", "", "name of the extension")
	return azLeaf(a, c, nil, func(context.Context, *azCall) (any, error) { return nil, nil })
}

func azLogin(a *app) *cobra.Command {
	c := &cobra.Command{Use: "login", Short: "Nothing to do here: the sandbox's own token is used"}
	return azLeaf(a, c, nil, func(_ context.Context, z *azCall) (any, error) {
		z.talk("The sandbox needs no login.")
		return []any{z.account()}, nil
	})
}

func azAccountShow(a *app) *cobra.Command {
	c := &cobra.Command{Use: "show", Short: "Show the sandbox's subscription"}
	return azLeaf(a, c, nil, func(_ context.Context, z *azCall) (any, error) { return z.account(), nil })
}

func (z *azCall) account() map[string]any {
	return map[string]any{
		"environmentName": "kalypso", "homeTenantId": z.tenant, "id": z.client.Subscription(), "isDefault": true,
		"name": "kalypso sandbox", "state": "Enabled", "tenantId": z.tenant,
	}
}
