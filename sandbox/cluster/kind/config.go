package kind

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	"sigs.k8s.io/yaml"
)

// oldControlGroups lets the kubelet start where the machine has the first
// version of control groups, which it refuses since 1.35.
const oldControlGroups = "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\nfailCgroupV1: false\n"

// config is the cluster as kind is told of it.
func (n *node) config(ctx context.Context) ([]byte, error) {
	first := v1alpha4.Node{Role: v1alpha4.ControlPlaneRole, Labels: map[string]string{"kalypso.dev/sandbox": n.ID}}
	ports := n.Publish(n.name)
	for _, host := range slices.Sorted(maps.Keys(ports)) {
		first.ExtraPortMappings = append(first.ExtraPortMappings, v1alpha4.PortMapping{
			ContainerPort: int32(ports[host]), HostPort: int32(host), ListenAddress: "127.0.0.1",
		})
	}
	c := v1alpha4.Cluster{
		TypeMeta:   v1alpha4.TypeMeta{Kind: "Cluster", APIVersion: "kind.x-k8s.io/v1alpha4"},
		Name:       n.kind,
		Nodes:      []v1alpha4.Node{first},
		Networking: v1alpha4.Networking{APIServerAddress: "127.0.0.1", APIServerPort: int32(n.Port(n.name))},
	}
	old, err := n.Engine.oldControlGroups(ctx)
	if err != nil {
		return nil, err
	}
	if old {
		c.KubeadmConfigPatches = []string{oldControlGroups}
	}
	return yaml.Marshal(c)
}

// oldControlGroups tells whether the engine's machine has the first version.
func (e Engine) oldControlGroups(ctx context.Context) (bool, error) {
	format := "{{.CgroupVersion}}"
	if e.Program == "podman" {
		format = "{{.Host.CgroupsVersion}}"
	}
	out, err := e.quick(ctx, "info", "--format", format)
	return out == "1" || out == "v1", err
}

// kindKubeconfig is the file that kind writes.
func (p Provider) kindKubeconfig(name string) string {
	return filepath.Join(p.Dir, name, "kind.kubeconfig")
}

// writeKubeconfig gives the context that kind has made the cluster's name.
func (n *node) writeKubeconfig() error {
	c, err := clientcmd.LoadFromFile(n.kindKubeconfig(n.name))
	if err != nil {
		return err
	}
	context := c.Contexts[c.CurrentContext]
	if context == nil || c.Clusters[context.Cluster] == nil || c.AuthInfos[context.AuthInfo] == nil {
		return errors.New("kind has written no context: " + n.kindKubeconfig(n.name))
	}
	own := clientcmdapi.NewConfig()
	own.Clusters[n.name], own.AuthInfos[n.name] = c.Clusters[context.Cluster], c.AuthInfos[context.AuthInfo]
	own.Contexts[n.name] = &clientcmdapi.Context{Cluster: n.name, AuthInfo: n.name}
	own.CurrentContext = n.name
	if err := clientcmd.WriteToFile(*own, n.Kubeconfig(n.name)); err != nil {
		return err
	}
	return os.Remove(n.kindKubeconfig(n.name))
}
