// Package armapi has the resources of Azure Resource Manager that kalypso works
// with, as its JSON has them: clusters that Azure Arc manages, and their GitOps
// configurations. The client (scheduler/fleet/arc) and the emulator
// (internal/armemulator) share it.
package armapi

import "time"

// Subscription holds resources.
type Subscription struct {
	ID     string `json:"subscriptionId"`
	Name   string `json:"displayName"`
	State  string `json:"state"`
	Tenant string `json:"tenantId"`
}

// Configuration is a fluxConfiguration
// (learn.microsoft.com/rest/api/kubernetesconfiguration/fluxconfigurations).
// What may be null there is a pointer here.
type Configuration struct {
	ID         string      `json:"id,omitempty"`
	Name       string      `json:"name,omitempty"`
	Type       string      `json:"type,omitempty"`
	SystemData *SystemData `json:"systemData,omitempty"`
	Properties Properties  `json:"properties"`
}

// SystemData is when a resource was created and modified.
type SystemData struct {
	CreatedAt      *time.Time `json:"createdAt,omitempty"`
	CreatedBy      string     `json:"createdBy,omitempty"`
	CreatedByType  string     `json:"createdByType,omitempty"`
	LastModifiedAt *time.Time `json:"lastModifiedAt,omitempty"`
}

// Properties of a configuration: first what a caller sets, then what ARM reports.
type Properties struct {
	Scope          string                   `json:"scope,omitempty"` // cluster or namespace
	Namespace      string                   `json:"namespace,omitempty"`
	SourceKind     string                   `json:"sourceKind,omitempty"`
	Suspend        bool                     `json:"suspend"`
	GitRepository  *GitRepository           `json:"gitRepository,omitempty"`
	Kustomizations map[string]Kustomization `json:"kustomizations,omitempty"`
	// ProtectedSettings are secrets in base64: httpsKey, sshPrivateKey. ARM
	// never returns them.
	ProtectedSettings map[string]string `json:"configurationProtectedSettings,omitempty"`

	Statuses             []ObjectStatus `json:"statuses"`
	RepositoryPublicKey  string         `json:"repositoryPublicKey"`
	SourceSyncedCommitID *string        `json:"sourceSyncedCommitId"`
	SourceUpdatedAt      *time.Time     `json:"sourceUpdatedAt"`
	StatusUpdatedAt      *time.Time     `json:"statusUpdatedAt"`
	ComplianceState      string         `json:"complianceState,omitempty"`
	ProvisioningState    string         `json:"provisioningState,omitempty"`
	ErrorMessage         string         `json:"errorMessage"`
}

// GitRepository is the source of a configuration.
type GitRepository struct {
	URL                   string        `json:"url"`
	TimeoutInSeconds      *int64        `json:"timeoutInSeconds"`
	SyncIntervalInSeconds *int64        `json:"syncIntervalInSeconds"`
	RepositoryRef         RepositoryRef `json:"repositoryRef"`
	SSHKnownHosts         *string       `json:"sshKnownHosts"` // base64
	HTTPSUser             *string       `json:"httpsUser"`
	HTTPSCACert           *string       `json:"httpsCACert"` // base64
	LocalAuthRef          *string       `json:"localAuthRef"`
}

// RepositoryRef is what of a repository is followed; one of the four.
type RepositoryRef struct {
	Branch *string `json:"branch"`
	Tag    *string `json:"tag"`
	Semver *string `json:"semver"`
	Commit *string `json:"commit"`
}

// Kustomization is a folder of the source that is applied.
type Kustomization struct {
	Name                   string     `json:"name,omitempty"`
	Path                   string     `json:"path"`
	DependsOn              []string   `json:"dependsOn"`
	TimeoutInSeconds       *int64     `json:"timeoutInSeconds"`
	SyncIntervalInSeconds  *int64     `json:"syncIntervalInSeconds"`
	RetryIntervalInSeconds *int64     `json:"retryIntervalInSeconds"`
	Prune                  bool       `json:"prune"`
	Force                  bool       `json:"force"`
	Wait                   *bool      `json:"wait"`
	PostBuild              *PostBuild `json:"postBuild"`
}

// PostBuild are variables that are put into the manifests.
type PostBuild struct {
	Substitute     map[string]string `json:"substitute,omitempty"`
	SubstituteFrom []SubstituteFrom  `json:"substituteFrom,omitempty"`
}

// SubstituteFrom takes the variables from an object on the cluster.
type SubstituteFrom struct {
	Kind     string `json:"kind"`
	Name     string `json:"name"`
	Optional bool   `json:"optional"`
}

// ObjectStatus is one Flux object that the configuration made, or that came
// with what it applied.
type ObjectStatus struct {
	Name             string      `json:"name"`
	Namespace        string      `json:"namespace"`
	Kind             string      `json:"kind"`
	ComplianceState  string      `json:"complianceState"`
	AppliedBy        *ObjectRef  `json:"appliedBy"`
	StatusConditions []Condition `json:"statusConditions"`
}

// ObjectRef names an object on the cluster.
type ObjectRef struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
}

// Condition is a Kubernetes condition.
type Condition struct {
	LastTransitionTime time.Time `json:"lastTransitionTime"`
	Message            string    `json:"message"`
	Reason             string    `json:"reason"`
	Status             string    `json:"status"`
	Type               string    `json:"type"`
}

// ConnectedCluster is a cluster that Azure Arc manages.
type ConnectedCluster struct {
	ID         string                     `json:"id"`
	Name       string                     `json:"name"`
	Type       string                     `json:"type"`
	Location   string                     `json:"location"`
	Tags       map[string]string          `json:"tags"`
	Identity   Identity                   `json:"identity"`
	SystemData *SystemData                `json:"systemData,omitempty"`
	Properties ConnectedClusterProperties `json:"properties"`
}

// Identity of a cluster in the cloud's directory.
type Identity struct {
	Type     string `json:"type"`
	TenantID string `json:"tenantId,omitempty"`
}

// ConnectedClusterProperties are what the agents on a cluster report.
type ConnectedClusterProperties struct {
	AgentPublicKeyCertificate string     `json:"agentPublicKeyCertificate"` // DER in base64
	ProvisioningState         string     `json:"provisioningState"`
	ConnectivityStatus        string     `json:"connectivityStatus"` // Connected, Offline, Expired, Connecting
	Distribution              string     `json:"distribution"`
	Infrastructure            string     `json:"infrastructure"`
	KubernetesVersion         string     `json:"kubernetesVersion"`
	AgentVersion              string     `json:"agentVersion"`
	TotalNodeCount            int        `json:"totalNodeCount"`
	TotalCoreCount            int        `json:"totalCoreCount"`
	LastConnectivity          *time.Time `json:"lastConnectivityTime"`
}
