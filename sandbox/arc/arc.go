// Package arc lets the sandbox's clusters appear in the emulated Azure Resource
// Manager as clusters that Azure Arc manages.
//
// It has no database. A configuration is the GitRepository, the Kustomizations
// and the secret that Azure's agent would make of it, on the cluster itself
// (see manifests.go), and each answer is computed from them and from what Flux
// reports in their status. So the emulator may be killed at any moment, and a
// GitRepository that was made in another way is a configuration, too, if it
// looks like one.
//
// Only what each cluster looked like last is kept, for the time when it is
// stopped; see lastSeen.
package arc

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/internal/armapi"
	"github.com/kalypso-dev/kalypso/internal/armemulator"
	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/virtual"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// ErrStopped is that a cluster is stopped, so that it cannot be asked.
var ErrStopped = errors.New("the cluster is stopped")

// Clusters are those that the emulator manages.
type Clusters interface {
	// Names are all of them, also the stopped ones, in a fixed order.
	Names() []string
	// Client connects to one. The error is ErrStopped for one that is stopped.
	Client(name string) (*cluster.Client, error)
}

// Options of New.
type Options struct {
	Subscription  string // ID of the only one
	Tenant        string
	ResourceGroup string // of all clusters
	Location      string // of all clusters, e.g. eastus
	Token         string // the bearer token of callers; not empty
	Clusters      Clusters
	Virtual       *virtual.Fleet // those that are virtual; nil for none
	// Dir keeps what was last seen of each cluster; "" keeps it in memory.
	Dir string
	Log *slog.Logger
}

// New makes the emulator of the sandbox.
func New(o Options) http.Handler {
	return armemulator.New(armemulator.Options{
		Subscriptions: []armapi.Subscription{{ID: o.Subscription, Name: o.ResourceGroup, State: "Enabled", Tenant: o.Tenant}},
		ResourceGroup: o.ResourceGroup, Location: o.Location, Token: o.Token, Log: o.Log,
		Backend: withVirtual{
			&backend{Options: o, seen: newLastSeen(o.Dir), now: func() time.Time { return time.Now().UTC().Truncate(time.Second) }},
			o.Virtual,
		},
	})
}

// backend has the sandbox's clusters, for the emulator.
type backend struct {
	Options
	seen *lastSeen
	now  func() time.Time
}

func (s *backend) Clusters() []armapi.Cluster {
	var all []armapi.Cluster
	for _, name := range s.Options.Clusters.Names() {
		all = append(all, armapi.Cluster{Subscription: s.Subscription, ResourceGroup: s.ResourceGroup, Type: armapi.ConnectedClusters, Name: name})
	}
	return all
}

func (s *backend) client(c armapi.Cluster) (*cluster.Client, error) {
	return s.Options.Clusters.Client(c.Name)
}

// Tags are none: users cannot set them.
func (s *backend) Tags(armapi.Cluster) map[string]string { return map[string]string{} }

// described is what is the same for all clusters that are connected.
func (s *backend) described(of armapi.Cluster) armapi.ConnectedCluster {
	return armapi.ConnectedCluster{
		ID:       of.ID(),
		Name:     of.Name,
		Type:     armapi.ConnectedClusters.ResourceType(),
		Location: s.Location,
		Tags:     map[string]string{},
		Identity: armapi.Identity{Type: "SystemAssigned", TenantID: s.Tenant},
		Properties: armapi.ConnectedClusterProperties{
			ProvisioningState: "Succeeded", ConnectivityStatus: "Connected",
			Distribution: "generic", Infrastructure: "generic",
		},
	}
}

func (s *backend) Describe(ctx context.Context, of armapi.Cluster) armapi.ConnectedCluster {
	c := s.described(of)
	client, err := s.client(of)
	if err == nil {
		err = describeNodes(ctx, client, &c.Properties)
	}
	if err == nil {
		c.Properties.AgentPublicKeyCertificate, err = certificate(ctx, client)
	}
	if err != nil {
		s.Log.Debug("cluster is offline", "cluster", of.Name, "reason", err)
		c.Properties.ConnectivityStatus = "Offline"
		c.Properties.LastConnectivity = s.seen.time(of.Name)
		return c
	}
	now := s.now()
	c.Properties.LastConnectivity = &now
	return c
}

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// certificate returns that of a cluster's own authority, as DER in base64. Azure has
// the agents' there, which the sandbox's clusters do not need. It is "" until the
// cluster has published its authority, and where a user may not read that.
func certificate(ctx context.Context, client *cluster.Client) (string, error) {
	published, err := client.Dynamic.Resource(configMaps).Namespace(metav1.NamespaceSystem).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	text, _, _ := unstructured.NestedString(published.Object, "data", "ca.crt")
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return "", nil
	}
	return base64.StdEncoding.EncodeToString(block.Bytes), nil
}

var nodes = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}

// describeNodes fills in what the agents on a cluster would report of its nodes.
func describeNodes(ctx context.Context, client *cluster.Client, p *armapi.ConnectedClusterProperties) error {
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

// isOffline is whether an error is that a cluster cannot be reached.
func isOffline(err error) bool {
	return errors.Is(err, ErrStopped) || errors.Is(err, context.DeadlineExceeded) ||
		utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsTimeout(err)
}

// offline is an error for a request that needs a cluster that is offline.
func offline(name string) error {
	return armemulator.Errorf(http.StatusConflict, "ClusterOffline", "The cluster '%s' is offline. Azure would keep the request until the cluster is back; the sandbox keeps everything on the clusters, so start it first.", name)
}
