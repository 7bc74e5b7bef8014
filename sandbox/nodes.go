package sandbox

import (
	"path/filepath"

	"github.com/kalypso-dev/kalypso/sandbox/node"
	"github.com/kalypso-dev/kalypso/sandbox/node/simulated"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

// nodeProgram is the component that embedded clusters' nodes are made of.
func (w *world) nodeProgram() string {
	if w.simulated != nil {
		return "kwok"
	}
	return "node"
}

// nodeUnit is a cluster's node: a real one where this machine can have it.
func (w *world) nodeUnit(cluster, unpack string) supervisor.Unit {
	if w.simulated != nil {
		return w.simulatedNode(cluster).Unit(cluster, unpack)
	}
	return w.node(cluster).Unit(cluster, unpack)
}

// node is the node of an embedded cluster.
func (w *world) node(name string) node.Node {
	return node.Node{
		Cluster:    name,
		Dir:        w.home.Path("clusters", name, "node"),
		PKI:        w.home.Path("clusters", name, "pki"),
		Kubeconfig: w.embedded.AdminKubeconfig(name),
		Kube:       w.embedded.Program,
		Programs:   w.staged("node"),
		APIPort:    w.state.Ports[name],
		ForgePort:  w.state.Ports["gitea"],
		Registry:   w.home.Path("children"),
		Env:        w.embedded.Env,
		Log:        w.home.Log("node-" + name),
	}
}

// simulatedNode is the node of a cluster on a machine that cannot have a real
// one.
func (w *world) simulatedNode(name string) simulated.Node {
	kwok := w.staged("kwok")
	return simulated.Node{
		Cluster:    name,
		Dir:        w.home.Path("clusters", name, "node"),
		Clusters:   w.embedded.Dir,
		Kubeconfig: w.embedded.AdminKubeconfig(name),
		Why:        w.simulated.Error(),
		Program:    func() string { return filepath.Join(kwok(), "kwok") },
		Registry:   w.home.Path("children"),
		Env:        w.embedded.Env,
		Log:        w.home.Log("node-" + name),
	}
}
