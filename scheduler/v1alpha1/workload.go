package v1alpha1

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
