package cluster

import (
	"errors"
	"fmt"
	"io/fs"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

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
