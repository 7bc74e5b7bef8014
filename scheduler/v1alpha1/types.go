// Package v1alpha1 holds the kinds of the platform model: what a platform team
// and an application team write into their repositories, and nothing that is
// computed from it.
//
// The kinds are those of Kalypso Scheduler's API group, field for field but for the
// field cel of selectors and the kind Rollout, so that repositories written for it work
// unchanged. The types carry json tags
// for the names; package model reads them from YAML and knows their positions.
package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Group is the API group of all kinds in this package.
const Group = "scheduler.kalypso.io"

// Version is the only version of the group.
const Version = "v1alpha1"

// APIVersion is what a document of this package has in its apiVersion field.
const APIVersion = Group + "/" + Version

// The kinds, as a document's kind field spells them.
const (
	KindEnvironment          = "Environment"
	KindBaseRepo             = "BaseRepo"
	KindGitOpsRepo           = "GitOpsRepo"
	KindRollout              = "Rollout"
	KindClusterType          = "ClusterType"
	KindSchedulingPolicy     = "SchedulingPolicy"
	KindConfigSchema         = "ConfigSchema"
	KindTemplate             = "Template"
	KindWorkloadRegistration = "WorkloadRegistration"
	KindWorkload             = "Workload"
)

// Kinds lists every kind of the group, sorted.
func Kinds() []string {
	return []string{
		KindBaseRepo,
		KindClusterType,
		KindConfigSchema,
		KindEnvironment,
		KindGitOpsRepo,
		KindRollout,
		KindSchedulingPolicy,
		KindTemplate,
		KindWorkload,
		KindWorkloadRegistration,
	}
}

// Metadata is what the platform model uses of a Kubernetes object's metadata.
type Metadata struct {
	Name        string            `json:"name"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// IgnoredMetadata lists the fields of metadata that Kubernetes knows and the
// platform model does not use, sorted. They are no mistake in a document.
func IgnoredMetadata() []string {
	return []string{
		"creationTimestamp",
		"deletionGracePeriodSeconds",
		"deletionTimestamp",
		"finalizers",
		"generateName",
		"generation",
		"managedFields",
		"namespace",
		"ownerReferences",
		"resourceVersion",
		"selfLink",
		"uid",
	}
}

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
// when Workspace is set, by their workspace too. With CEL they must fulfil that
// expression as well, see package expression. Kalypso Scheduler's own API has no
// such field.
type DeploymentTargetSelector struct {
	Workspace     string               `json:"workspace,omitempty"`
	LabelSelector metav1.LabelSelector `json:"labelSelector,omitempty"`
	CEL           string               `json:"cel,omitempty"`
}

// ClusterTypeSelector selects cluster types by their labels and, as a
// DeploymentTargetSelector does, by an expression.
type ClusterTypeSelector struct {
	LabelSelector metav1.LabelSelector `json:"labelSelector,omitempty"`
	CEL           string               `json:"cel,omitempty"`
}

// ConfigSchemaSpec holds a JSON schema that the platform configuration of
// every assignment must satisfy which the object's labels match.
type ConfigSchemaSpec struct {
	Schema string `json:"schema"`
}

// RepositoryFolder points to a folder on a branch of a repository.
type RepositoryFolder struct {
	Repo   string `json:"repo"`
	Branch string `json:"branch"`
	Path   string `json:"path,omitempty"`
}

// EnvironmentSpec says where the definition of an environment lies. The
// environment's name is the object's name.
type EnvironmentSpec struct {
	ControlPlane RepositoryFolder `json:"controlPlane"`
}

// BaseRepoSpec says where the environment takes what all environments share:
// templates and workload registrations. Commit pins the repository to what has
// been promoted to this environment; without it the branch's head counts.
type BaseRepoSpec struct {
	RepositoryFolder
	Commit string `json:"commit,omitempty"`
}

// GitOpsRepoSpec says where the environment's generated manifests go.
type GitOpsRepoSpec struct {
	RepositoryFolder
}

// WorkloadRegistrationSpec admits a workload to the platform. It points to the
// folder where the application team keeps its Workload.
type WorkloadRegistrationSpec struct {
	Workload  RepositoryFolder `json:"workload"`
	Workspace string           `json:"workspace"`
}

// WorkloadSpec says where an application team wants its workload to run, in
// its own words.
type WorkloadSpec struct {
	DeploymentTargets []DeploymentTarget `json:"deploymentTargets,omitempty"`
	// ConfigSchemas are JSON schemas of the platform configuration that all
	// deployment targets need.
	ConfigSchemas []string `json:"configSchemas,omitempty"`
}

// DeploymentTarget is one instance of a workload in one environment.
type DeploymentTarget struct {
	Name        string            `json:"name"`
	Labels      map[string]string `json:"labels,omitempty"`
	Environment string            `json:"environment"`
	// Manifests says where the instance's manifests lie: repo, branch, path
	// and any further keys that the platform's templates understand.
	Manifests     map[string]string `json:"manifests,omitempty"`
	ConfigSchemas []string          `json:"configSchemas,omitempty"`
}
