package arc

import (
	"fmt"
	"net/url"
	"strings"
)

// ClusterType is how ARM keeps a cluster.
type ClusterType string

const (
	ConnectedClusters ClusterType = "connectedClusters" // Azure Arc
	ManagedClusters   ClusterType = "managedClusters"   // AKS
)

// Provider is the resource provider of clusters of the type, "" for a type that
// there is none of here.
func (t ClusterType) Provider() string {
	switch t {
	case ConnectedClusters:
		return "Microsoft.Kubernetes"
	case ManagedClusters:
		return "Microsoft.ContainerService"
	}
	return ""
}

// ParseClusterType takes the type in any case, as ARM does.
func ParseClusterType(s string) (ClusterType, error) {
	for _, t := range []ClusterType{ConnectedClusters, ManagedClusters} {
		if strings.EqualFold(string(t), s) {
			return t, nil
		}
	}
	return "", fmt.Errorf("cluster type %q is not supported: choose %s or %s", s, ConnectedClusters, ManagedClusters)
}

// Cluster names a cluster in a subscription.
type Cluster struct {
	ResourceGroup string
	Type          ClusterType
	Name          string
}

// ID is the cluster's resource ID.
func (c Cluster) ID(subscription string) string {
	return subscriptionID(subscription) + "/resourceGroups/" + url.PathEscape(c.ResourceGroup) +
		"/providers/" + c.Type.Provider() + "/" + string(c.Type) + "/" + url.PathEscape(c.Name)
}

// ConfigurationType is the ARM type of a fluxConfiguration.
const ConfigurationType = "Microsoft.KubernetesConfiguration/fluxConfigurations"

// ConfigurationsID is the path of the cluster's configurations.
func (c Cluster) ConfigurationsID(subscription string) string {
	return c.ID(subscription) + "/providers/" + ConfigurationType
}

// ConfigurationID is the resource ID of one of them.
func (c Cluster) ConfigurationID(subscription, name string) string {
	return c.ConfigurationsID(subscription) + "/" + url.PathEscape(name)
}

// cutConfiguration parts the ID of a configuration into that of its cluster and
// the rest.
func cutConfiguration(id string) (cluster, rest string, found bool) {
	i := strings.LastIndex(strings.ToLower(id), "/providers/"+strings.ToLower(ConfigurationType))
	if i < 0 {
		return id, "", false
	}
	return id[:i], id[i:], true
}

// ParseClusterID takes a cluster out of its resource ID, or out of the ID of
// something below it. A type that is not known stays as it is written.
func ParseClusterID(id string) (Cluster, error) {
	s := strings.Split(strings.Trim(id, "/"), "/")
	if len(s) < 8 || !strings.EqualFold(s[0], "subscriptions") || !strings.EqualFold(s[2], "resourceGroups") || !strings.EqualFold(s[4], "providers") {
		return Cluster{}, fmt.Errorf("%q is no ID of a cluster", id)
	}
	t, err := ParseClusterType(s[6])
	if err != nil {
		t = ClusterType(s[6])
	}
	return Cluster{ResourceGroup: s[3], Type: t, Name: s[7]}, nil
}
