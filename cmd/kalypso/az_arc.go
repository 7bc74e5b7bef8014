package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
	"github.com/spf13/cobra"
)

// azConnect connects nothing: the clusters that there are, are connected.
func azConnect(a *azApp) *cobra.Command {
	c := &cobra.Command{Use: "connect", Short: "Show a cluster that is connected already, as all of the sandbox are"}
	var group, name string
	azNamed(c, &group, &name)
	return azLeaf(a, c, azClusterColumns, func(ctx context.Context, z *azCall) (any, error) {
		found, err := z.client.ConnectedCluster(ctx, group, name)
		if arc.IsNotFound(err) {
			return nil, z.cannotConnect(ctx, group, name)
		}
		if err != nil {
			return nil, err
		}
		z.talk("%s is connected already.", found.Name)
		return azFlat(found)
	})
}

// cannotConnect tells which clusters there are in place of the one that is
// asked for.
func (z *azCall) cannotConnect(ctx context.Context, group, name string) error {
	if z.real {
		return &azNotFoundError{fmt.Errorf("there is no cluster %s in %s, and kalypso connects none to Azure: `az connectedk8s connect` of the Azure CLI does", name, group)}
	}
	all, err := z.client.ListConnectedClusters(ctx, "")
	if err != nil {
		return err
	}
	var names []string
	for _, c := range all {
		names = append(names, c.Name)
	}
	return &azNotFoundError{fmt.Errorf("there is no cluster %s in the resource group %s, and none is made here: the sandbox has %s in the resource group %s, connected already",
		name, group, strings.Join(names, " and "), sandbox.ArmResourceGroup)}
}

// azProxy keeps nothing running: the sandbox's clusters are within reach.
func azProxy(a *azApp) *cobra.Command {
	c := &cobra.Command{Use: "proxy", Short: "Say how kubectl gets to a cluster of the sandbox, which needs no proxy"}
	var group, name string
	azNamed(c, &group, &name)
	return azLeaf(a, c, nil, func(ctx context.Context, z *azCall) (any, error) {
		if z.real {
			return nil, &sandbox.UsageError{Message: "proxy is for the sandbox only: `az connectedk8s proxy` of the Azure CLI makes one to a cluster on Azure"}
		}
		found, err := z.client.ConnectedCluster(ctx, group, name)
		if err != nil {
			return nil, err
		}
		z.talk(`The context %[1]s is in the kubeconfig already, and nothing needs to be kept running.
Try: kalypso kubectl --context %[1]s get namespaces
or, for your own kubectl: export KUBECONFIG=$(kalypso kubeconfig --path)`, found.Name)
		return nil, nil
	})
}

// azNamed are the flags that name a cluster.
func azNamed(c *cobra.Command, group, name *string) {
	c.Flags().StringVarP(group, "resource-group", "g", "", "resource group of the cluster")
	c.Flags().StringVarP(name, "name", "n", "", "name of the cluster")
	azRequire(c, "resource-group", "name")
}
