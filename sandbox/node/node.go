// Package node gives an embedded cluster a real node: kubelet, containerd,
// runc, kube-proxy and a DNS server on this machine, without a container
// engine and without touching anything of the machine's.
//
// All of it runs below one process of the supervisor, in namespaces of its own
// (processes, mounts, network and more), made by the program init of the
// component node. When that process ends, in whatever way, the kernel ends
// every process of every pod and takes away the mounts, the interfaces and the
// firewall's rules. Control groups and the node's folder stay; [Clean] removes
// the groups, and [Leftovers] lists what there is.
//
// The node has no way out. Three doors lead through it, all of them files in
// its folder that both sides see:
//
//   - egress: the API server reaches kubelet, pods and Services through it, by
//     its own egress selector (see [Node.EgressConfig]);
//   - ingress: the node reaches a few servers on the machine's loopback, under
//     the same addresses: the API server, and Gitea with its registry;
//   - containerd.sock: images are loaded through it.
//
// The DNS server is a process of the node, not a pod: it needs no image, no
// scheduling and no kube-proxy, and nobody deletes it by mistake. It answers on
// the node's address, which the kubelet gives to pods; the Service kube-dns
// leads there too.
package node

import (
	"net"
	"path/filepath"
	"strconv"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

const (
	// Address is the node's own; every node has its own network, so all have
	// the same.
	Address = "10.245.250.1"
	// PodNetwork is where pods get their addresses.
	PodNetwork = "10.245.0.0/24"
	// ServiceNetwork is the control plane's --service-cluster-ip-range.
	ServiceNetwork = "10.96.0.0/16"
	// DNSService is the address of the Service kube-dns.
	DNSService = "10.96.0.10"
	// ForgeName is how pods reach the forge, for whom localhost is themselves.
	ForgeName = "forge.kalypso.internal"

	kubeletPort   = 10250
	readyDeadline = 90 * time.Second
	// maxSocket is the longest path of a socket on Linux.
	maxSocket = 107
)

// Node is the node of one embedded cluster.
type Node struct {
	// Cluster is the cluster's name, and the node's.
	Cluster string
	// Dir is the node's folder; it is made, and holds everything of the node.
	Dir string
	// PKI is the control plane's folder of certificates, with its authority.
	PKI string
	// Kubeconfig is the administrator's.
	Kubeconfig string
	// Kube is the path of the program kube, and Programs the folder of the
	// component node; both are asked when they have been staged.
	Kube, Programs func() string
	// APIPort and ForgePort are ports on the machine's loopback. Without a
	// forge the latter is 0.
	APIPort, ForgePort int
	// Registry, Env and Log are as in supervisor.Process.
	Registry string
	Env      []string
	Log      string
}

// Name is the name of the node's unit.
func (n Node) Name() string { return "node-" + n.Cluster }

// Unit is the node as a part of the sandbox. It is ready when the cluster says
// that the node is, and its DNS answers.
func (n Node) Unit(needs ...string) supervisor.Unit {
	return supervisor.Unit{
		Name: n.Name(), Title: "node of cluster " + n.Cluster, Needs: needs,
		Component: newComponent(n), Deadline: readyDeadline, Log: n.Log,
	}
}

func (n Node) file(elem ...string) string {
	return filepath.Join(append([]string{n.Dir}, elem...)...)
}

func (n Node) egress() string     { return n.file("egress") }
func (n Node) ingress() string    { return n.file("ingress") }
func (n Node) containerd() string { return n.file("containerd.sock") }

func (n Node) server() string {
	return "https://" + loopback(n.APIPort)
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
func onNode(port int) string   { return net.JoinHostPort(Address, strconv.Itoa(port)) }
