package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// azFluxColumns are those that Azure shows of configurations.
var azFluxColumns = []string{"namespace", "name", "scope", "provisioningState", "complianceState", "statusUpdatedAt", "sourceUpdatedAt"}

// azTarget are the flags that name a cluster and a configuration of it.
type azTarget struct {
	resourceGroup, cluster, clusterType, name string
}

func (t *azTarget) addTo(c *cobra.Command, named bool) {
	f := c.Flags()
	f.StringVarP(&t.resourceGroup, "resource-group", "g", "", "resource group of the cluster")
	f.StringVarP(&t.cluster, "cluster-name", "c", "", "name of the cluster")
	f.StringVarP(&t.clusterType, "cluster-type", "t", "", "connectedClusters or managedClusters")
	azRequire(c, "resource-group", "cluster-name", "cluster-type")
	if named {
		f.StringVarP(&t.name, "name", "n", "", "name of the configuration")
		azRequire(c, "name")
	}
}

func (t *azTarget) of() (arc.Cluster, error) {
	kind, err := arc.ParseClusterType(t.clusterType)
	if err != nil {
		return arc.Cluster{}, &sandbox.UsageError{Message: "--cluster-type: " + err.Error()}
	}
	return arc.Cluster{ResourceGroup: t.resourceGroup, Type: kind, Name: t.cluster}, nil
}

func azFluxShow(a *azApp) *cobra.Command {
	c := &cobra.Command{Use: "show", Short: "Show a configuration"}
	var t azTarget
	t.addTo(c, true)
	return azLeaf(a, c, azFluxColumns, func(ctx context.Context, z *azCall) (any, error) {
		cluster, err := t.of()
		if err != nil {
			return nil, err
		}
		found, err := z.client.Get(ctx, cluster, t.name)
		if err != nil {
			return nil, err
		}
		return azFlat(found)
	})
}

func azFluxList(a *azApp) *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List the configurations of a cluster"}
	var t azTarget
	t.addTo(c, false)
	return azLeaf(a, c, azFluxColumns, func(ctx context.Context, z *azCall) (any, error) {
		cluster, err := t.of()
		if err != nil {
			return nil, err
		}
		all, err := z.client.List(ctx, cluster)
		if err != nil {
			return nil, err
		}
		return azFlatAll(all)
	})
}

func azFluxDelete(a *azApp) *cobra.Command {
	c := &cobra.Command{Use: "delete", Short: "Delete a configuration, with what it applied where it prunes"}
	var t azTarget
	var yes, force, noWait bool
	t.addTo(c, true)
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	c.Flags().BoolVar(&force, "force", false, "do not let the cluster clean up")
	c.Flags().BoolVar(&noWait, "no-wait", false, "do not wait until it is gone")
	return azLeaf(a, c, nil, func(ctx context.Context, z *azCall) (any, error) {
		cluster, err := t.of()
		if err != nil {
			return nil, err
		}
		if !yes {
			if err := z.sure(); err != nil {
				return nil, err
			}
		}
		found, err := z.client.Get(ctx, cluster, t.name)
		if arc.IsNotFound(err) && strings.Contains(arc.Message(err), "(FluxConfigurationNotFound)") {
			z.talk("No flux configuration with name '%s' found on cluster '%s', so nothing to delete", t.name, t.cluster)
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for _, k := range found.Properties.Kustomizations {
			if k.Prune {
				z.talk("Prune is enabled: what the configuration applied is deleted from the cluster, too.")
				break
			}
		}
		return nil, z.client.Delete(ctx, cluster, t.name, force, !noWait)
	})
}

// sure asks a person.
func (z *azCall) sure() error {
	f, ok := z.in.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return &sandbox.UsageError{Message: "nobody can be asked whether to delete it: say --yes"}
	}
	fmt.Fprint(z.err, "Are you sure you want to perform this operation? (y/n): ")
	line, err := bufio.NewReader(f).ReadString('\n')
	if err != nil && err != io.EOF {
		return err
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return nil
	}
	return fmt.Errorf("operation cancelled")
}
