// Package kind gets clusters from kind: each is one container of an engine such
// as Docker, with a whole Kubernetes in it.
//
// The containers bear the sandbox's ID in their names, and nothing without it
// is ever touched. They outlive the daemon; the next one finds them again.
package kind

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	kindcluster "sigs.k8s.io/kind/pkg/cluster"
	"sigs.k8s.io/kind/pkg/cluster/nodes"
	"sigs.k8s.io/kind/pkg/cluster/nodeutils"
	"sigs.k8s.io/yaml"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

const (
	// clusterDeadline is for creating on a machine that does much else.
	clusterDeadline = 5 * time.Minute
	stopGrace       = 8 * time.Second
)

// Provider makes a sandbox's clusters with kind.
type Provider struct {
	// Host has a listener of each cluster's name, for the API server, and the
	// forge's, which the nodes are to find on their loopback, too.
	supervisor.Host
	Engine Engine
	ID     string        // of the sandbox
	Image  func() string // of the nodes
	Dir    string        // folder for the clusters' files
	// Publish are more listeners of a cluster, with the node's port behind each.
	Publish map[string]map[string]int
}

var _ cluster.Loader = Provider{}

// RelayName is the unit of a cluster's relay to the forge.
func RelayName(cluster string) string { return "relay-" + cluster }

// Units implements cluster.Provider.
func (p Provider) Units(name string) []supervisor.Unit {
	n := p.node(name)
	return []supervisor.Unit{{
		Name: name, Title: "Kubernetes cluster " + name, Deadline: clusterDeadline, Log: p.Log(name),
		Component: &supervisor.Background{Run: n.run, Check: n.healthy, End: n.stop},
	}, {
		Name: RelayName(name), Title: "the cluster's way to the forge", Needs: []string{name}, Deadline: relayDeadline, Log: p.Log(RelayName(name)),
		Component: &supervisor.Background{Run: n.relay},
	}}
}

// Kubeconfig implements cluster.Provider.
func (p Provider) Kubeconfig(name string) string {
	return filepath.Join(p.Dir, name, "admin.kubeconfig")
}

// kindName is what kind calls a cluster.
func (p Provider) kindName(name string) string { return p.prefix() + name }

func (p Provider) prefix() string { return "kalypso-" + p.ID + "-" }

func (p Provider) node(name string) *node {
	return &node{
		Provider: p, name: name, kind: p.kindName(name),
		container: p.kindName(name) + "-control-plane", // as kind names the first node
	}
}

// kindProvider talks to the engine through kind, which has no cancellation.
func (p Provider) kindProvider(log *logger) *kindcluster.Provider {
	option := map[string]kindcluster.ProviderOption{
		"docker": kindcluster.ProviderWithDocker(), "podman": kindcluster.ProviderWithPodman(), "nerdctl": kindcluster.ProviderWithNerdctl(""),
	}[p.Engine.Program]
	return kindcluster.NewProvider(kindcluster.ProviderWithLogger(log), option)
}

// NoAnswerError is about an engine that does not answer, so that it is unknown which
// clusters exist.
type NoAnswerError struct {
	Program string
	Err     error
}

func (e *NoAnswerError) Error() string { return e.Program + " does not answer: " + e.Err.Error() }
func (e *NoAnswerError) Unwrap() error { return e.Err }

// Answers returns a *NoAnswerError when the engine does not answer.
func (p Provider) Answers(ctx context.Context) error {
	if err := p.Engine.Answers(ctx); err != nil {
		return &NoAnswerError{p.Engine.Program, err}
	}
	return nil
}

// Container is the name of the container that a cluster is.
func (p Provider) Container(name string) string { return p.node(name).container }

// List implements cluster.Provider.
func (p Provider) List(ctx context.Context) ([]string, error) {
	if err := p.Answers(ctx); err != nil {
		return nil, err
	}
	all, err := p.kindProvider(quiet()).List()
	if err != nil {
		return nil, err
	}
	var own []string
	for _, c := range all {
		if name, ok := strings.CutPrefix(c, p.prefix()); ok {
			own = append(own, name)
		}
	}
	return own, nil
}

// Stop implements cluster.Provider.
func (p Provider) Stop(ctx context.Context, name string) error { return p.node(name).stop(ctx) }

// Delete implements cluster.Provider.
func (p Provider) Delete(ctx context.Context, name string) error {
	existing, err := p.List(ctx)
	if err != nil {
		return err
	}
	if slices.Contains(existing, name) {
		// the folder's own, so that kind does not change the user's kubeconfig
		if err := p.kindProvider(quiet()).Delete(p.kindName(name), p.kindKubeconfig(name)); err != nil {
			return fmt.Errorf("delete cluster %s: %w", name, err)
		}
	}
	return os.RemoveAll(filepath.Join(p.Dir, name))
}

// Logs implements cluster.Provider.
func (p Provider) Logs(ctx context.Context, name, dir string) error {
	if err := p.Answers(ctx); err != nil {
		return err
	}
	return p.kindProvider(quiet()).CollectLogs(p.kindName(name), dir)
}

// Load implements cluster.Loader.
func (p Provider) Load(ctx context.Context, name, image string, write func(io.Writer) error) error {
	all, err := p.kindProvider(quiet()).ListInternalNodes(p.kindName(name))
	if err != nil {
		return err
	}
	for _, n := range all {
		if err := p.loadNode(ctx, n, image, write); err != nil {
			return fmt.Errorf("load image %s on %s: %w", image, n, err)
		}
	}
	return nil
}

func (p Provider) loadNode(ctx context.Context, n nodes.Node, image string, write func(io.Writer) error) error {
	has, err := p.Engine.run(ctx, "exec", n.String(), "ctr", "--namespace=k8s.io", "images", "list", "--quiet", "name=="+image)
	if err != nil || has != "" {
		return err
	}
	r, w := io.Pipe()
	go func() { w.CloseWithError(write(w)) }()
	err = nodeutils.LoadImageArchive(n, r)
	r.CloseWithError(io.ErrClosedPipe)
	return err
}

// allowCgroupV1 lets the kubelet start on a machine with cgroup v1, which it
// refuses since 1.35.
const allowCgroupV1 = "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\nfailCgroupV1: false\n"

// config is kind's configuration of the cluster.
func (n *node) config(ctx context.Context) ([]byte, error) {
	first := v1alpha4.Node{Role: v1alpha4.ControlPlaneRole, Labels: map[string]string{"kalypso.dev/sandbox": n.ID}}
	ports := n.Publish[n.name]
	for _, listener := range slices.Sorted(maps.Keys(ports)) {
		first.ExtraPortMappings = append(first.ExtraPortMappings, v1alpha4.PortMapping{
			ContainerPort: int32(ports[listener]), HostPort: int32(n.Port(listener)), ListenAddress: "127.0.0.1",
		})
	}
	c := v1alpha4.Cluster{
		TypeMeta:   v1alpha4.TypeMeta{Kind: "Cluster", APIVersion: "kind.x-k8s.io/v1alpha4"},
		Name:       n.kind,
		Nodes:      []v1alpha4.Node{first},
		Networking: v1alpha4.Networking{APIServerAddress: "127.0.0.1", APIServerPort: int32(n.Port(n.name))},
	}
	v1, err := n.Engine.usesCgroupV1(ctx)
	if err != nil {
		return nil, err
	}
	if v1 {
		c.KubeadmConfigPatches = []string{allowCgroupV1}
	}
	return yaml.Marshal(c)
}

// usesCgroupV1 reports whether the engine's machine has cgroup v1.
func (e Engine) usesCgroupV1(ctx context.Context) (bool, error) {
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
	own := cluster.Kubeconfig(n.name, c.Clusters[context.Cluster], c.AuthInfos[context.AuthInfo])
	if err := clientcmd.WriteToFile(*own, n.Kubeconfig(n.name)); err != nil {
		return err
	}
	return os.Remove(n.kindKubeconfig(n.name))
}
