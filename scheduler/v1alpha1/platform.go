package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DefaultConfigType is the name of the config Template of a ClusterType that
// names none.
const DefaultConfigType = "configmap"

// ClusterTypeSpec describes a group of clusters (or other hosts) that are
// alike in what runs on them and how they are configured. The fields name
// Template objects.
type ClusterTypeSpec struct {
	Reconciler       string `json:"reconciler"`
	NamespaceService string `json:"namespaceService"`
	ConfigType       string `json:"configType,omitempty"`
}

// SchedulingPolicySpec assigns every deployment target that its first selector
// matches to every cluster type that its second one matches. An empty selector
// matches all.
type SchedulingPolicySpec struct {
	DeploymentTargetSelector DeploymentTargetSelector `json:"deploymentTargetSelector,omitempty"`
	ClusterTypeSelector      ClusterTypeSelector      `json:"clusterTypeSelector,omitempty"`
}

// DeploymentTargetSelector selects deployment targets by their labels and,
// when Workspace is set, by their workspace too.
type DeploymentTargetSelector struct {
	Workspace     string               `json:"workspace,omitempty"`
	LabelSelector metav1.LabelSelector `json:"labelSelector,omitempty"`
}

// ClusterTypeSelector selects cluster types by their labels.
type ClusterTypeSelector struct {
	LabelSelector metav1.LabelSelector `json:"labelSelector,omitempty"`
}

// ConfigSchemaSpec holds a JSON schema that the platform configuration of
// every assignment must satisfy which the object's labels match.
type ConfigSchemaSpec struct {
	Schema string `json:"schema"`
}
