package armapi

import (
	"fmt"
	"net/url"
	"strings"
)

// ClusterType is the resource type of a cluster.
type ClusterType string

const (
	ConnectedClusters ClusterType = "connectedClusters" // Azure Arc
	ManagedClusters   ClusterType = "managedClusters"   // AKS
)

// Provider is the resource provider of clusters of the type, "" for an unknown
// type.
func (t ClusterType) Provider() string {
	switch t {
	case ConnectedClusters:
		return "Microsoft.Kubernetes"
	case ManagedClusters:
		return "Microsoft.ContainerService"
	}
	return ""
}

// ResourceType is the type as Azure spells it, as in
// Microsoft.Kubernetes/connectedClusters.
func (t ClusterType) ResourceType() string { return t.Provider() + "/" + string(t) }

// ParseClusterType takes the type in any case, as ARM does.
func ParseClusterType(s string) (ClusterType, error) {
	for _, t := range []ClusterType{ConnectedClusters, ManagedClusters} {
		if strings.EqualFold(string(t), s) {
			return t, nil
		}
	}
	return "", fmt.Errorf("cluster type %q is not supported: choose %s or %s", s, ConnectedClusters, ManagedClusters)
}

// SubscriptionID is the resource ID of a subscription.
func SubscriptionID(subscription string) string {
	return "/subscriptions/" + url.PathEscape(subscription)
}

// Cluster names a cluster.
type Cluster struct {
	Subscription  string
	ResourceGroup string
	Type          ClusterType
	Name          string
}

// ID is the cluster's resource ID.
func (c Cluster) ID() string {
	return SubscriptionID(c.Subscription) + "/resourceGroups/" + url.PathEscape(c.ResourceGroup) +
		"/providers/" + c.Type.Provider() + "/" + string(c.Type) + "/" + url.PathEscape(c.Name)
}

// ConfigurationType is the resource type of a fluxConfiguration.
const ConfigurationType = "Microsoft.KubernetesConfiguration/fluxConfigurations"

// ConfigurationsID is the path of the cluster's configurations.
func (c Cluster) ConfigurationsID() string { return c.ID() + "/providers/" + ConfigurationType }

// ConfigurationID is the resource ID of one of them.
func (c Cluster) ConfigurationID(name string) string {
	return c.ConfigurationsID() + "/" + url.PathEscape(name)
}

// ParseClusterID takes a cluster out of its resource ID, or out of the ID of a
// resource below it. An unknown type stays as it is written.
func ParseClusterID(id string) (Cluster, error) {
	s := strings.Split(strings.Trim(id, "/"), "/")
	if len(s) < 8 || !strings.EqualFold(s[0], "subscriptions") || !strings.EqualFold(s[2], "resourceGroups") || !strings.EqualFold(s[4], "providers") {
		return Cluster{}, fmt.Errorf("%q is not the ID of a cluster", id)
	}
	t, err := ParseClusterType(s[6])
	if err != nil {
		t = ClusterType(s[6])
	}
	return Cluster{Subscription: s[1], ResourceGroup: s[3], Type: t, Name: s[7]}, nil
}
