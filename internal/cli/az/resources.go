package az

import (
	"context"

	"github.com/spf13/cobra"
)

// Columns that Azure shows of resources, and of clusters of AKS.
var (
	resourceColumns = []string{"name", "resourceGroup", "location", "type", "status"}
	managedColumns  = []string{"name", "location", "resourceGroup", "kubernetesVersion", "provisioningState", "fqdn"}
)

// resourceKeys are there in each resource that the Azure CLI lists, also
// without a value.
var resourceKeys = []string{
	"changedTime", "createdTime", "extendedLocation", "identity", "kind", "managedBy", "plan", "properties", "provisioningState", "sku", "tags",
}

func resourceList(a *command) *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List the resources, which in the sandbox are its clusters"}
	var group string
	c.Flags().StringVarP(&group, "resource-group", "g", "", "resource group; all when it is not given")
	return leaf(a, c, resourceColumns, func(ctx context.Context, z *call) (any, error) {
		found, err := z.client.ListResources(ctx, group)
		if err != nil {
			return nil, err
		}
		all := []any{}
		for _, r := range found {
			flat, err := flat(r)
			if err != nil {
				return nil, err
			}
			for _, key := range resourceKeys {
				if _, there := flat[key]; !there {
					flat[key] = nil
				}
			}
			all = append(all, flat)
		}
		return all, nil
	})
}

func managedShow(a *command) *cobra.Command {
	c := &cobra.Command{Use: "show", Short: "Show a cluster"}
	var group, name string
	named(c, &group, &name)
	return leaf(a, c, managedColumns, func(ctx context.Context, z *call) (any, error) {
		found, err := z.client.ManagedCluster(ctx, group, name)
		if err != nil {
			return nil, err
		}
		return flat(found)
	})
}
