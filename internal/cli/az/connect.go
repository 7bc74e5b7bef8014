package az

import (
	"context"
	"fmt"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
	"github.com/spf13/cobra"
)

// connect connects nothing: the clusters that there are, are connected.
func connect(a *command) *cobra.Command {
	c := &cobra.Command{Use: "connect", Short: "Show a cluster that is connected already, as all of the sandbox are"}
	var group, name string
	named(c, &group, &name)
	return leaf(a, c, clusterColumns, func(ctx context.Context, z *call) (any, error) {
		found, err := z.client.ConnectedCluster(ctx, group, name)
		if arc.IsNotFound(err) {
			return nil, z.cannotConnect(ctx, group, name)
		}
		if err != nil {
			return nil, err
		}
		z.Messagef("%s is connected already.", found.Name)
		return flat(found)
	})
}

// cannotConnect tells which clusters there are in place of the one that is
// asked for.
func (z *call) cannotConnect(ctx context.Context, group, name string) error {
	if z.real {
		return cmdutil.NotFound(fmt.Errorf("there is no cluster %s in %s, and kalypso connects none to Azure: `az connectedk8s connect` of the Azure CLI does", name, group))
	}
	all, err := z.client.ListConnectedClusters(ctx, "")
	if err != nil {
		return err
	}
	var names []string
	for _, c := range all {
		names = append(names, c.Name)
	}
	return cmdutil.NotFound(fmt.Errorf("there is no cluster %s in the resource group %s, and none is made here: the sandbox has %s in the resource group %s, connected already",
		name, group, strings.Join(names, " and "), sandbox.ArmResourceGroup))
}

// proxy keeps nothing running: the sandbox's clusters are within reach.
func proxy(a *command) *cobra.Command {
	c := &cobra.Command{Use: "proxy", Short: "Say how kubectl gets to a cluster of the sandbox, which needs no proxy"}
	var group, name string
	named(c, &group, &name)
	return leaf(a, c, nil, func(ctx context.Context, z *call) (any, error) {
		if z.real {
			return nil, usage.New("proxy is for the sandbox only: `az connectedk8s proxy` of the Azure CLI makes one to a cluster on Azure")
		}
		found, err := z.client.ConnectedCluster(ctx, group, name)
		if err != nil {
			return nil, err
		}
		z.Messagef(`The context %[1]s is in the kubeconfig already, and nothing needs to be kept running.
Try: kalypso kubectl --context %[1]s get namespaces
or, for your own kubectl: export KUBECONFIG=$(kalypso kubeconfig --path)`, found.Name)
		return nil, nil
	})
}

// named are the flags that name a cluster.
func named(c *cobra.Command, group, name *string) {
	c.Flags().StringVarP(group, "resource-group", "g", "", "resource group of the cluster")
	c.Flags().StringVarP(name, "name", "n", "", "name of the cluster")
	require(c, "resource-group", "name")
}
