package arc

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

var nodes = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}

// showSubscription answers whoever asks whether the login is good for it.
func (s *server) showSubscription(r *http.Request) (*answer, error) {
	if r.Method != http.MethodGet {
		return nil, wrongMethod(r)
	}
	return ok(arc.Subscription{ID: s.Subscription, Name: s.ResourceGroup, State: "Enabled", Tenant: s.Tenant}), nil
}

func (s *server) showCluster(r *http.Request, p path) (*answer, error) {
	if r.Method != http.MethodGet {
		return nil, wrongMethod(r)
	}
	return ok(s.connected(r.Context(), s.exact(p).Name)), nil
}

func (s *server) listClusters(r *http.Request) (*answer, error) {
	if r.Method != http.MethodGet {
		return nil, wrongMethod(r)
	}
	names := s.Clusters.Names()
	all := make([]arc.ConnectedCluster, len(names))
	var g errgroup.Group
	for i, name := range names {
		g.Go(func() error {
			all[i] = s.connected(r.Context(), name)
			return nil
		})
	}
	_ = g.Wait()
	return value(all), nil
}

// connected is a cluster as Azure Arc shows it.
func (s *server) connected(ctx context.Context, name string) arc.ConnectedCluster {
	c := arc.ConnectedCluster{
		ID:       arc.Cluster{ResourceGroup: s.ResourceGroup, Type: arc.ConnectedClusters, Name: name}.ID(s.Subscription),
		Name:     name,
		Type:     "microsoft.kubernetes/connectedclusters",
		Location: s.Location,
		Tags:     map[string]string{},
		Identity: arc.Identity{Type: "SystemAssigned", TenantID: s.Tenant},
		Properties: arc.ConnectedClusterProperties{
			ProvisioningState: "Succeeded", ConnectivityStatus: "Connected",
			Distribution: "generic", Infrastructure: "generic",
		},
	}
	client, err := s.Clusters.Client(name)
	if err == nil {
		err = agent(ctx, client, &c.Properties)
	}
	if err != nil {
		s.Log.Debug("cluster is offline", "cluster", name, "reason", err)
		c.Properties.ConnectivityStatus = "Offline"
		c.Properties.LastConnectivity = s.memory.seen(name)
		return c
	}
	now := s.now()
	c.Properties.LastConnectivity = &now
	return c
}

// agent finds out what the agents on a cluster would report.
func agent(ctx context.Context, client *cluster.Client, p *arc.ConnectedClusterProperties) error {
	list, err := client.Dynamic.Resource(nodes).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	p.TotalNodeCount = len(list.Items)
	for _, n := range list.Items {
		version, _, _ := unstructured.NestedString(n.Object, "status", "nodeInfo", "kubeletVersion")
		p.KubernetesVersion = strings.TrimPrefix(version, "v")
		cores, _, _ := unstructured.NestedString(n.Object, "status", "capacity", "cpu")
		if q, err := resource.ParseQuantity(cores); err == nil {
			p.TotalCoreCount += int(q.Value())
		}
	}
	return nil
}

// isAway tells whether an error is that a cluster cannot be reached.
func isAway(err error) bool {
	return errors.Is(err, ErrAway) || errors.Is(err, context.DeadlineExceeded) ||
		utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsTimeout(err)
}

// offline refuses what needs a cluster that is away.
func offline(name string) *armError {
	return errorf(http.StatusConflict, "ClusterOffline", "The cluster '%s' is offline. Azure would keep the request until the cluster is back; the sandbox keeps everything on the clusters, so start it first.", name)
}
