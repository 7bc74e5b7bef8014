package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

// Provider creates a sandbox's clusters, runs them, and deletes them. The names
// are those of the tutorials. A provider changes nothing but what is this
// sandbox's.
type Provider interface {
	// Units make a cluster be there and keep it so, each after what it needs.
	// They start it, or create it where it is not there yet, and stop it without
	// losing anything. The one that bears the cluster's name is ready when the
	// API server answers; with all of them the cluster takes pods.
	Units(name string) []supervisor.Unit
	// Kubeconfig is the file with an administrator of the cluster, in a context
	// of the cluster's name. It is there as soon as the cluster is ready.
	Kubeconfig(name string) string
	// List returns the clusters of this sandbox that exist, running or not.
	List(ctx context.Context) ([]string, error)
	// Stop ends a cluster that no daemon runs any more, as the units would.
	Stop(ctx context.Context, name string) error
	// Delete removes a cluster with all that it holds, whether it runs or not.
	// One that is not there is no error.
	Delete(ctx context.Context, name string) error
	// Logs collects what the parts within a cluster have logged in a folder.
	Logs(ctx context.Context, name, dir string) error
}

// Loader is a Provider that loads images into its nodes, so that reconcilers can
// run in its clusters.
type Loader interface {
	Provider
	// Load puts an image on all nodes of a cluster, where they do not have it:
	// write gives the archive that `docker load` takes.
	Load(ctx context.Context, name, image string, write func(io.Writer) error) error
}

// Kubeconfig has one cluster and its user, with everything in it called by name.
func Kubeconfig(name string, c *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) *clientcmdapi.Config {
	one := clientcmdapi.NewConfig()
	one.Clusters[name], one.AuthInfos[name] = c, user
	one.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	one.CurrentContext = name
	return one
}

// MergeKubeconfigs returns one kubeconfig with the contexts of all clusters,
// the first one being current; file is where each has its own.
func MergeKubeconfigs(names []string, file func(name string) string) ([]byte, error) {
	all := clientcmdapi.NewConfig()
	for _, name := range names {
		c, err := clientcmd.LoadFromFile(file(name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // stopped before it was ever started; kubeconfig is done again when it comes
		}
		if err != nil {
			return nil, fmt.Errorf("cluster %s: %w", name, err)
		}
		all.Clusters[name], all.AuthInfos[name], all.Contexts[name] = c.Clusters[name], c.AuthInfos[name], c.Contexts[name]
		if all.CurrentContext == "" {
			all.CurrentContext = name
		}
	}
	return clientcmd.Write(*all)
}
