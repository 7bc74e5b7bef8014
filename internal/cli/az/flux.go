package az

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/armapi"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// fluxColumns are those that Azure shows of configurations.
var fluxColumns = []string{"namespace", "name", "scope", "provisioningState", "complianceState", "statusUpdatedAt", "sourceUpdatedAt"}

// target are the flags that name a cluster and a configuration of it.
type target struct {
	resourceGroup, cluster, clusterType, name string
}

func (t *target) addTo(c *cobra.Command, named bool) {
	f := c.Flags()
	f.StringVarP(&t.resourceGroup, "resource-group", "g", "", "resource group of the cluster")
	f.StringVarP(&t.cluster, "cluster-name", "c", "", "name of the cluster")
	f.StringVarP(&t.clusterType, "cluster-type", "t", "", "connectedClusters or managedClusters")
	require(c, "resource-group", "cluster-name", "cluster-type")
	if named {
		f.StringVarP(&t.name, "name", "n", "", "name of the configuration")
		require(c, "name")
	}
}

func (t *target) of() (armapi.Cluster, error) {
	kind, err := armapi.ParseClusterType(t.clusterType)
	if err != nil {
		return armapi.Cluster{}, usage.New("--cluster-type: " + err.Error())
	}
	return armapi.Cluster{ResourceGroup: t.resourceGroup, Type: kind, Name: t.cluster}, nil
}

func fluxShow(a *command) *cobra.Command {
	c := &cobra.Command{Use: "show", Short: "Show a configuration"}
	var t target
	t.addTo(c, true)
	return leaf(a, c, fluxColumns, func(ctx context.Context, z *call) (any, error) {
		cluster, err := t.of()
		if err != nil {
			return nil, err
		}
		found, err := z.client.Get(ctx, cluster, t.name)
		if err != nil {
			return nil, err
		}
		return flat(found)
	})
}

func fluxList(a *command) *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List the configurations of a cluster"}
	var t target
	t.addTo(c, false)
	return leaf(a, c, fluxColumns, func(ctx context.Context, z *call) (any, error) {
		cluster, err := t.of()
		if err != nil {
			return nil, err
		}
		all, err := z.client.List(ctx, cluster)
		if err != nil {
			return nil, err
		}
		return flatAll(all)
	})
}

func fluxDelete(a *command) *cobra.Command {
	c := &cobra.Command{Use: "delete", Short: "Delete a configuration, with what it applied where it prunes"}
	var t target
	var yes, force, noWait bool
	t.addTo(c, true)
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	c.Flags().BoolVar(&force, "force", false, "do not let the cluster clean up")
	c.Flags().BoolVar(&noWait, "no-wait", false, "do not wait until it is gone")
	return leaf(a, c, nil, func(ctx context.Context, z *call) (any, error) {
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
			z.Messagef("No flux configuration with name '%s' found on cluster '%s', so nothing to delete", t.name, t.cluster)
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for _, k := range found.Properties.Kustomizations {
			if k.Prune {
				z.Messagef("Prune is enabled: what the configuration applied is deleted from the cluster, too.")
				break
			}
		}
		return nil, z.client.Delete(ctx, cluster, t.name, force, !noWait)
	})
}

// sure asks a person.
func (z *call) sure() error {
	f, ok := z.In.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return usage.New("nobody can be asked whether to delete it: say --yes")
	}
	fmt.Fprint(z.Err, "Are you sure you want to perform this operation? (y/n): ")
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
