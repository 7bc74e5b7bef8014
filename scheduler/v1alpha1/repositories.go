package v1alpha1

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
	RepositoryFolder `json:",inline"`
	Commit           string `json:"commit,omitempty"`
}

// GitOpsRepoSpec says where the environment's generated manifests go.
type GitOpsRepoSpec struct {
	RepositoryFolder `json:",inline"`
}
