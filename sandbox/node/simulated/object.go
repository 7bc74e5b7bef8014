package simulated

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	nodes  = schema.GroupVersionKind{Version: "v1", Kind: "Node"}
	leases = schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}
)

// leaseNamespace is where nodes keep their leases.
const leaseNamespace = "kube-node-lease"

// object is the node as it is told to the cluster; its status is kwok's work.
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

// Forget removes a cluster's node when it is a simulated one, so that a real
// one of the same name is not taken for it. Pods bound to it stay, and the real
// node starts them.
func Forget(ctx context.Context, c *cluster.Client, name string) error {
	resource, err := c.Resource(nodes, "")
	if err != nil {
		return err
	}
	o, err := resource.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && o.GetLabels()[Mark] == "" {
		return nil
	}
	if err != nil {
		return err
	}
	uid := o.GetUID()
	err = resource.Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("remove the simulated node %s: %w", name, err)
	}
	return nil
}
