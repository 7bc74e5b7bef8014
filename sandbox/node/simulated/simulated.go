// Package simulated gives an embedded cluster a node that only looks like one,
// for machines that cannot have the real one of package node.
//
// The component kwok plays it. Pods bound to it are said to run and those of a
// Job to succeed, so Deployments become available and what waits for them goes
// on; nothing is started, no image is pulled, and a program that would crash
// runs well here. The node says so wherever one looks: its role in `kubectl get
// nodes`, a label and an annotation, the reason of its condition Ready, an
// event at each pod, and the error of `kubectl logs`, `exec` and
// `port-forward`.
//
// That error comes through the API server's egress selector: see
// [Node.EgressConfig].
package simulated

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// Mark is the label and the annotation of a simulated node, with the value
	// "true".
	Mark = "kalypso.dev/simulated"
	// because is the annotation with the reason.
	because = "kalypso.dev/simulated-because"

	// address and podNetwork are the real node's, so that what a user sees
	// is the same. No host has them.
	address    = "10.245.250.1"
	podNetwork = "10.245.0.1/24" // the first address, and its network

	readyDeadline = 60 * time.Second
)

// Node is the simulated node of one embedded cluster.
type Node struct {
	supervisor.Host
	// Cluster is the cluster's name, and the node's.
	Cluster string
	// Dir is the node's folder; it is made.
	Dir string
	// Clusters is the working folder of the control planes.
	Clusters string
	// Kubeconfig is the administrator's.
	Kubeconfig string
	// Why is why there can be no real node; the node carries it.
	Why string
}

// Name is the name of the node's unit, the same as a real node's.
func (n Node) Name() string { return "node-" + n.Cluster }

// Title is what users read about the unit.
func (n Node) Title() string {
	return fmt.Sprintf("simulated node of cluster %s: pods do not really run", n.Cluster)
}

// Unit is the node as a part of the sandbox. It is ready when the cluster says
// that the node is.
func (n Node) Unit(needs ...string) supervisor.Unit {
	return supervisor.Unit{
		Name: n.Name(), Title: n.Title(), Needs: needs,
		Component: newComponent(n), Deadline: readyDeadline, Log: n.Log(n.Name()),
	}
}

// egressSocket is the name of the socket in the node's folder, where the program
// runs: its whole path may be longer than the path of a socket can be.
const egressSocket = "egress"

// EgressConfig is the file for the API server's --egress-selector-config-file,
// and its content: what the API server dials in the cluster it is refused, with
// the reason. Without it those calls would leave the machine, to the hosts that
// have these addresses in its network. The path in it is relative to the working
// folder of the control planes, because a socket's path is limited.
func (n Node) EgressConfig() (file string, content []byte) {
	path := filepath.Join(n.Dir, egressSocket)
	if relative, err := filepath.Rel(n.Clusters, path); err == nil {
		path = relative
	}
	return filepath.Join(n.Dir, "egress.yaml"), EgressSelector(path)
}

// EgressSelector is a configuration of the API server by which it dials what is
// in the cluster through the HTTP proxy on a socket.
func EgressSelector(socket string) []byte {
	quoted, _ := json.Marshal(socket) // a string of JSON is one of YAML, and a string has one always
	return fmt.Appendf(nil, `apiVersion: apiserver.k8s.io/v1beta1
kind: EgressSelectorConfiguration
egressSelections:
- name: cluster
  connection:
    proxyProtocol: HTTPConnect
    transport:
      uds: {udsName: %s}
`, quoted)
}

var (
	nodes  = schema.GroupVersionKind{Version: "v1", Kind: "Node"}
	leases = schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}
)

// leaseNamespace is where nodes keep their leases.
const leaseNamespace = "kube-node-lease"

// object is the node as it is applied to the cluster; kwok sets its status.
// The label of the role is what `kubectl get nodes` shows.
func (n Node) object() ([]byte, error) {
	return json.Marshal(map[string]any{
		"apiVersion": "v1",
		"kind":       "Node",
		"metadata": map[string]any{
			"name": n.Cluster,
			"labels": map[string]string{
				Mark:                                "true",
				"node-role.kubernetes.io/simulated": "",
				"kubernetes.io/hostname":            n.Cluster,
				"kubernetes.io/os":                  "linux",
				"kubernetes.io/arch":                runtime.GOARCH,
			},
			"annotations": map[string]string{Mark: "true", because: n.Why},
		},
	})
}

// Remove removes a cluster's node when it is a simulated one, so that a real
// one of the same name is not taken for it. Pods bound to it stay, and the real
// node starts them.
func Remove(ctx context.Context, c *cluster.Client, name string) error {
	o, err := c.Find(ctx, nodes, "", name)
	if o == nil || o.GetLabels()[Mark] == "" {
		return err
	}
	uid := o.GetUID()
	if err := c.Delete(ctx, nodes, "", name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}); err != nil {
		return fmt.Errorf("remove the simulated node %s: %w", name, err)
	}
	return nil
}
