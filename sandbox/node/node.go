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
// The node's network has no route out of it. Three sockets in the node's folder,
// which both sides have mounted, cross its border:
//
//   - egress: the API server reaches kubelet, pods and Services through it, by
//     its own egress selector (see [Node.EgressConfig]);
//   - ingress: the node reaches a few servers on the machine's loopback, under
//     the same addresses: the API server, and Gitea with its registry;
//   - containerd.sock: images are loaded through it.
//
// The DNS server is a process of the node, not a pod: it needs no image, no
// scheduling and no kube-proxy, and cannot be deleted by mistake. It answers on
// the node's address, which the kubelet gives to pods; the Service kube-dns
// leads there too.
package node

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
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
	supervisor.Host // without a forge, the port gitea is 0
	// Cluster is the cluster's name, and the node's.
	Cluster string
	// Dir is the node's folder; it is made, and holds everything of the node.
	Dir string
	// PKI is the control plane's folder of certificates, with its authority.
	PKI string
	// Kubeconfig is the administrator's.
	Kubeconfig string
	// Reaches are listeners of the machine that the node reaches at their ports,
	// besides its API server and the forge.
	Reaches []string
}

// Name is the name of the node's unit.
func (n Node) Name() string { return "node-" + n.Cluster }

// Unit is the node as a part of the sandbox. It is ready when the cluster says
// that the node is, and its DNS answers.
func (n Node) Unit(needs ...string) supervisor.Unit {
	return supervisor.Unit{
		Name: n.Name(), Title: "node of cluster " + n.Cluster, Needs: needs,
		Component: newComponent(n), Deadline: readyDeadline, Log: n.Log(n.Name()),
	}
}

func (n Node) file(elem ...string) string {
	return filepath.Join(append([]string{n.Dir}, elem...)...)
}

func (n Node) egress() string     { return n.file("egress") }
func (n Node) ingress() string    { return n.file("ingress") }
func (n Node) containerd() string { return n.file("containerd.sock") }

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
func onNode(port int) string   { return net.JoinHostPort(Address, strconv.Itoa(port)) }

// UnsupportedError says why there can be no real node on this machine.
type UnsupportedError struct {
	Problem string
	Remedy  string
}

func (e *UnsupportedError) Error() string { return e.Problem + ": " + e.Remedy }

const dnsLimit = 3 * time.Second

// Dial connects to an address as the node sees it: a pod, a Service, itself.
func (n Node) Dial(ctx context.Context, address string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", n.egress())
	if err != nil {
		return nil, err
	}
	if deadline, ok := ctx.Deadline(); ok {
		_ = c.SetDeadline(deadline)
	}
	if _, err := fmt.Fprintf(c, "CONNECT %[1]s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", address); err != nil {
		c.Close()
		return nil, err
	}
	r := bufio.NewReader(c)
	answer, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect})
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s cannot be reached in the node: %s", address, answer.Status)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	_ = c.SetDeadline(time.Time{})
	return &connection{c.(*net.UnixConn), r}, nil
}

// connection reads what came with the answer to CONNECT, too.
type connection struct {
	*net.UnixConn
	r io.Reader
}

func (c *connection) Read(b []byte) (int, error) { return c.r.Read(b) }

// WriteTo hides that of the socket, which would skip what r has read.
func (c *connection) WriteTo(w io.Writer) (int64, error) { return io.Copy(w, c.r) }

// checkDNS asks the node's DNS server for the one name that every cluster has.
func (n Node) checkDNS(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, dnsLimit)
	defer cancel()
	r := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		c, err := n.Dial(ctx, onNode(53))
		// hidden behind an interface: a unix socket can also carry packets, and
		// then the resolver would send one
		return struct{ net.Conn }{c}, err
	}}
	if _, err := r.LookupHost(ctx, "kubernetes.default.svc.cluster.local."); err != nil {
		return fmt.Errorf("DNS of the node: %w", err)
	}
	return nil
}
