package simulated

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// component is the program kwok, with what must be done around it.
type component struct {
	*supervisor.Process
	node   Node
	client *cluster.Client // made once; the supervisor calls one method at a time
	began  time.Time
}

var _ supervisor.Component = (*component)(nil)

func newComponent(n Node) *component {
	c := &component{node: n, Process: n.Process(n.Name(), n.Dir)}
	c.Prepare = c.prepare
	c.Check = c.check
	return c
}

func (c *component) prepare(ctx context.Context) error {
	if c.client == nil {
		client, err := cluster.NewClient(c.node.Kubeconfig, "")
		if err != nil {
			return err
		}
		c.client = client
	}
	object, err := c.node.object()
	if err != nil {
		return err
	}
	if err := c.client.Apply(ctx, object); err != nil {
		return fmt.Errorf("register the simulated node: %w", err)
	}
	if err := c.endLease(ctx); err != nil {
		return err
	}
	if err := os.MkdirAll(c.node.Dir, 0o700); err != nil {
		return err
	}
	c.began = time.Now()
	c.Path = filepath.Join(c.node.Staged("kwok"), "kwok")
	c.Argv = []string{"kwok",
		"--node=" + c.node.Cluster,
		"--kubeconfig=" + c.node.Kubeconfig,
		"--address=" + address,
		"--pods=" + podNetwork,
		"--egress=" + egressSocket,
	}
	return nil
}

// check waits for the node, and for a sign of life of this start: the object
// may be as an earlier run left it.
func (c *component) check(ctx context.Context) error {
	o, err := c.client.Get(ctx, nodes, "", c.node.Cluster)
	if err != nil {
		return err
	}
	if err := cluster.Condition(o, "Ready"); err != nil {
		return err
	}
	lease, err := c.client.Get(ctx, leases, leaseNamespace, c.node.Cluster)
	if err != nil {
		return err
	}
	if at := renewed(lease); at.Before(c.began) {
		return fmt.Errorf("the node's lease is of an earlier run, of %s", at.Format(time.TimeOnly))
	}
	return nil
}

// endLease removes the lease of an earlier run. Kwok makes a new one at once; one
// that is there it would renew only when a quarter of its time is over.
func (c *component) endLease(ctx context.Context) error {
	if err := c.client.Delete(ctx, leases, leaseNamespace, c.node.Cluster, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("remove the lease of node %s: %w", c.node.Cluster, err)
	}
	return nil
}

// renewed is when a lease was renewed the last time.
func renewed(lease *unstructured.Unstructured) time.Time {
	at, _, _ := unstructured.NestedString(lease.Object, "spec", "renewTime")
	t, _ := time.Parse(time.RFC3339, at) // no time is long ago
	return t
}
