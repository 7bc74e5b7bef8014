package arc

import "github.com/kalypso-dev/kalypso/internal/armapi"

// The resources of ARM, for callers of the client.
type (
	Cluster          = armapi.Cluster
	ClusterType      = armapi.ClusterType
	Configuration    = armapi.Configuration
	Properties       = armapi.Properties
	GitRepository    = armapi.GitRepository
	RepositoryRef    = armapi.RepositoryRef
	Kustomization    = armapi.Kustomization
	ConnectedCluster = armapi.ConnectedCluster
	Subscription     = armapi.Subscription
)

const (
	ConnectedClusters = armapi.ConnectedClusters
	ManagedClusters   = armapi.ManagedClusters
	ConfigurationType = armapi.ConfigurationType
)

var (
	ParseClusterID   = armapi.ParseClusterID
	ParseClusterType = armapi.ParseClusterType
)
