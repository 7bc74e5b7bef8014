package main

import (
	"context"

	"github.com/spf13/cobra"
)

// Columns that Azure shows of resources, and of clusters of AKS.
var (
	azResourceColumns = []string{"name", "resourceGroup", "location", "type", "status"}
	azManagedColumns  = []string{"name", "location", "resourceGroup", "kubernetesVersion", "provisioningState", "fqdn"}
)

// azResourceKeys are there in each resource that the Azure CLI lists, also
// without a value.
var azResourceKeys = []string{
	"changedTime", "createdTime", "extendedLocation", "identity", "kind", "managedBy", "plan", "properties", "provisioningState", "sku", "tags",
}

func azResourceList(a *azApp) *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List the resources, which in the sandbox are its clusters"}
	var group string
	c.Flags().StringVarP(&group, "resource-group", "g", "", "resource group; all when it is not given")
	return azLeaf(a, c, azResourceColumns, func(ctx context.Context, z *azCall) (any, error) {
		found, err := z.client.ListResources(ctx, group)
		if err != nil {
			return nil, err
		}
		all := []any{}
		for _, r := range found {
			flat, err := azFlat(r)
			if err != nil {
				return nil, err
			}
			for _, key := range azResourceKeys {
				if _, there := flat[key]; !there {
					flat[key] = nil
				}
			}
			all = append(all, flat)
		}
		return all, nil
	})
}

func azManagedShow(a *azApp) *cobra.Command {
	c := &cobra.Command{Use: "show", Short: "Show a cluster"}
	var group, name string
	azNamed(c, &group, &name)
	return azLeaf(a, c, azManagedColumns, func(ctx context.Context, z *azCall) (any, error) {
		found, err := z.client.ManagedCluster(ctx, group, name)
		if err != nil {
			return nil, err
		}
		return azFlat(found)
	})
}
