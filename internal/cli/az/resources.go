package az

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
	"github.com/spf13/cobra"
)

// clusterColumns are those that Azure shows of connected clusters.
var clusterColumns = []string{"name", "location", "resourceGroup"}

// clusterLeaf makes a command about the cluster of a name.
func clusterLeaf(a *command, c *cobra.Command, columns []string, run func(ctx context.Context, z *call, group, name string) (any, error)) *cobra.Command {
	var group, name string
	c.Flags().StringVarP(&group, "resource-group", "g", "", "resource group of the cluster")
	c.Flags().StringVarP(&name, "name", "n", "", "name of the cluster")
	require(c, "resource-group", "name")
	return leaf(a, c, columns, func(ctx context.Context, z *call) (any, error) { return run(ctx, z, group, name) })
}

// groupLeaf makes a command about all resources of a group, or of the
// subscription.
func groupLeaf(a *command, c *cobra.Command, columns []string, run func(ctx context.Context, z *call, group string) (any, error)) *cobra.Command {
	var group string
	c.Flags().StringVarP(&group, "resource-group", "g", "", "resource group; all when it is not given")
	return leaf(a, c, columns, func(ctx context.Context, z *call) (any, error) { return run(ctx, z, group) })
}

func connectedList(a *command) *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List the clusters"}
	return groupLeaf(a, c, clusterColumns, func(ctx context.Context, z *call, group string) (any, error) {
		return flatAll(z.client.ListConnectedClusters(ctx, group))
	})
}

func connectedShow(a *command) *cobra.Command {
	c := &cobra.Command{Use: "show", Short: "Show a cluster"}
	return clusterLeaf(a, c, clusterColumns, func(ctx context.Context, z *call, group, name string) (any, error) {
		return flat(z.client.ConnectedCluster(ctx, group, name))
	})
}

// connect connects nothing: the clusters that there are, are connected.
func connect(a *command) *cobra.Command {
	c := &cobra.Command{Use: "connect", Short: "Show a cluster that is connected already, as all of the sandbox are"}
	return clusterLeaf(a, c, clusterColumns, func(ctx context.Context, z *call, group, name string) (any, error) {
		found, err := z.client.ConnectedCluster(ctx, group, name)
		if arc.IsNotFound(err) {
			return nil, z.cannotConnect(ctx, group, name)
		}
		if err != nil {
			return nil, err
		}
		z.Messagef("%s is connected already.", found.Name)
		return flat(found, nil)
	})
}

// cannotConnect is the error for a cluster that does not exist, with those that
// do.
func (z *call) cannotConnect(ctx context.Context, group, name string) error {
	if z.real {
		return cmdutil.Classify(fmt.Errorf("there is no cluster %s in %s, and kalypso connects none to Azure: `az connectedk8s connect` of the Azure CLI does", name, group), cmdutil.ErrNotFound)
	}
	all, err := z.client.ListConnectedClusters(ctx, "")
	if err != nil {
		return err
	}
	var names []string
	for _, c := range all {
		names = append(names, c.Name)
	}
	return cmdutil.Classify(fmt.Errorf("there is no cluster %s in the resource group %s, and none is made here: the sandbox has %s in the resource group %s, connected already",
		name, group, strings.Join(names, " and "), sandbox.ArmResourceGroup), cmdutil.ErrNotFound)
}

// proxy writes the user's kubeconfig, as Azure's does. It keeps nothing running: the
// sandbox's clusters are within reach.
func proxy(a *command) *cobra.Command {
	c := &cobra.Command{Use: "proxy", Short: "Make a cluster of the sandbox, which needs no proxy, the current context of your kubeconfig"}
	return clusterLeaf(a, c, nil, func(ctx context.Context, z *call, group, name string) (any, error) {
		if z.real {
			return nil, usage.New("proxy is for the sandbox only: `az connectedk8s proxy` of the Azure CLI makes one to a cluster on Azure")
		}
		found, err := z.client.ConnectedCluster(ctx, group, name)
		if err != nil {
			return nil, err
		}
		home, err := z.Home()
		if err != nil {
			return nil, err
		}
		file, err := sandbox.UserKubeconfig()
		if err != nil {
			return nil, err
		}
		if home.Contains(file) {
			z.Messagef("The context %s is in %s already, and nothing needs to be kept running.", found.Name, file)
			return nil, nil
		}
		if _, err := sandbox.MergeKubeconfig(home, file, found.Name); err != nil {
			return nil, err
		}
		z.Messagef(`Merged %q as current context in %s; nothing needs to be kept running.
"kalypso down" takes it out again, and so does "kalypso kubeconfig --unmerge".`, found.Name, file)
		return nil, nil
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
			"count": found.Count, "data": found.Data, "total_records": found.TotalRecords, "skip_token": orNil(found.SkipToken),
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
	return groupLeaf(a, c, resourceColumns, func(ctx context.Context, z *call, group string) (any, error) {
		all, err := flatAll(z.client.ListResources(ctx, group))
		for _, one := range all {
			for _, key := range resourceKeys {
				if _, exists := one[key]; !exists {
					one[key] = nil
				}
			}
		}
		return all, err
	})
}

func managedShow(a *command) *cobra.Command {
	c := &cobra.Command{Use: "show", Short: "Show a cluster"}
	return clusterLeaf(a, c, managedColumns, func(ctx context.Context, z *call, group, name string) (any, error) {
		return flat(z.client.ManagedCluster(ctx, group, name))
	})
}
