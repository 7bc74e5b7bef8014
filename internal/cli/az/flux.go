package az

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/armapi"
	"github.com/kalypso-dev/kalypso/internal/armemulator"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// fluxColumns are those that Azure shows of configurations.
var fluxColumns = []string{"namespace", "name", "scope", "provisioningState", "complianceState", "statusUpdatedAt", "sourceUpdatedAt"}

// fluxLeaf makes a command about a cluster's configurations, or about the one of
// a name.
func fluxLeaf(a *command, c *cobra.Command, named bool, run func(ctx context.Context, z *call, cluster armapi.Cluster, name string) (any, error)) *cobra.Command {
	var group, cluster, clusterType, name string
	f := c.Flags()
	f.StringVarP(&group, "resource-group", "g", "", "resource group of the cluster")
	f.StringVarP(&cluster, "cluster-name", "c", "", "name of the cluster")
	f.StringVarP(&clusterType, "cluster-type", "t", "", "connectedClusters or managedClusters")
	require(c, "resource-group", "cluster-name", "cluster-type")
	if named {
		f.StringVarP(&name, "name", "n", "", "name of the configuration")
		require(c, "name")
	}
	return leaf(a, c, fluxColumns, func(ctx context.Context, z *call) (any, error) {
		kind, err := armapi.ParseClusterType(clusterType)
		if err != nil {
			return nil, usage.New("--cluster-type: " + err.Error())
		}
		return run(ctx, z, armapi.Cluster{ResourceGroup: group, Type: kind, Name: cluster}, name)
	})
}

func fluxShow(a *command) *cobra.Command {
	c := &cobra.Command{Use: "show", Short: "Show a configuration"}
	return fluxLeaf(a, c, true, func(ctx context.Context, z *call, cluster armapi.Cluster, name string) (any, error) {
		return flat(z.client.Get(ctx, cluster, name))
	})
}

func fluxList(a *command) *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List the configurations of a cluster"}
	return fluxLeaf(a, c, false, func(ctx context.Context, z *call, cluster armapi.Cluster, _ string) (any, error) {
		return flatAll(z.client.List(ctx, cluster))
	})
}

func fluxDelete(a *command) *cobra.Command {
	c := &cobra.Command{Use: "delete", Short: "Delete a configuration, with what it applied where it prunes"}
	var yes, force, noWait bool
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	c.Flags().BoolVar(&force, "force", false, "do not let the cluster clean up")
	c.Flags().BoolVar(&noWait, "no-wait", false, "do not wait until it is gone")
	return fluxLeaf(a, c, true, func(ctx context.Context, z *call, cluster armapi.Cluster, name string) (any, error) {
		if !yes {
			if err := z.confirm(); err != nil {
				return nil, err
			}
		}
		found, err := z.client.Get(ctx, cluster, name)
		if arc.IsNotFound(err) && strings.Contains(arc.Message(err), "(FluxConfigurationNotFound)") {
			z.Messagef("No flux configuration with name '%s' found on cluster '%s', so nothing to delete", name, cluster.Name)
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
		return nil, z.client.Delete(ctx, cluster, name, force, !noWait)
	})
}

// confirm asks the user.
func (z *call) confirm() error {
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

func fluxCreate(a *command) *cobra.Command {
	c := &cobra.Command{Use: "create", Short: "Make a cluster follow a repository"}
	var s sourceFlags
	var scope, namespace string
	s.addTo(c)
	c.Flags().StringVarP(&scope, "scope", "s", "cluster", "cluster or namespace")
	c.Flags().StringVar(&namespace, "namespace", "default", "namespace of the configuration's objects")
	require(c, "url")
	return fluxLeaf(a, c, true, func(ctx context.Context, z *call, cluster armapi.Cluster, name string) (any, error) {
		set, err := s.properties(z, c.Flags().Changed)
		if err != nil {
			return nil, err
		}
		p := armapi.Properties{SourceKind: "GitRepository", Scope: scope, Namespace: namespace}
		if err := convert(set, &p); err != nil {
			return nil, err
		}
		if len(p.Kustomizations) == 0 {
			z.Messagef("Warning! No kustomizations were specified: one is made with the default name 'kustomization-1'.")
			p.Kustomizations = map[string]armapi.Kustomization{"kustomization-1": {}}
		}
		for name, k := range p.Kustomizations {
			k.Name, k.DependsOn = name, append([]string{}, k.DependsOn...)
			p.Kustomizations[name] = k
		}
		if err := armemulator.Check(name, p); err != nil {
			return nil, usage.New(err.Error())
		}
		z.Messagef("Creating the flux configuration '%s' in the cluster.", name)
		made, err := z.client.Put(ctx, cluster, name, p, !s.noWait)
		if err != nil || s.noWait {
			return nil, err
		}
		return flat(made, nil)
	})
}

func fluxUpdate(a *command) *cobra.Command {
	c := &cobra.Command{Use: "update", Short: "Change a configuration; what is not given stays"}
	var s sourceFlags
	s.addTo(c)
	return fluxLeaf(a, c, true, func(ctx context.Context, z *call, cluster armapi.Cluster, name string) (any, error) {
		set, err := s.properties(z, c.Flags().Changed)
		if err != nil {
			return nil, err
		}
		changed, err := z.client.Patch(ctx, cluster, name, set, !s.noWait)
		if err != nil || s.noWait {
			return nil, err
		}
		return flat(changed, nil)
	})
}
