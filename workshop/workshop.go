// Package workshop has what a sandbox is made of: a folder with workshop.yaml,
// the repositories with their branches, and scenarios.
//
//	my-kata/
//	  workshop.yaml
//	  repositories/NAME/BRANCH/...   files of a branch, or
//	  repositories/NAME.git          a bare repository with its history
//	  scenarios/*.txtar
//
// Nothing here knows of the sandbox. The format is described by schema.json, for
// editors and for [Parse].
package workshop

import (
	"io/fs"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"
)

// Names in the folder of a workshop.
const (
	File             = "workshop.yaml"
	RepositoryFolder = "repositories"
	ScenarioFolder   = "scenarios"
)

// The first lines of workshop.yaml.
const (
	APIVersion = "kalypso.dev/v1alpha1"
	Kind       = "Workshop"
)

// Workshop is a workshop.yaml with the folder that it describes.
type Workshop struct {
	APIVersion   string       `yaml:"apiVersion"`
	Kind         string       `yaml:"kind"`
	Name         string       `yaml:"name"`
	Title        string       `yaml:"title,omitempty"`
	Description  string       `yaml:"description,omitempty"`
	ControlPlane ControlPlane `yaml:"controlPlane"`
	Repositories []Repository `yaml:"repositories"` // in the order in which a user meets them
	Workflows    Workflows    `yaml:"workflows,omitempty"`
	Clusters     []Cluster    `yaml:"clusters,omitempty"`
	Images       []Image      `yaml:"images,omitempty"`
	Addresses    []Address    `yaml:"addresses,omitempty"`
	Scenarios    Scenarios    `yaml:"scenarios,omitempty"`

	// Files is the folder, "." its root.
	Files fs.FS `yaml:"-"`
	// Dir is the folder on disk, "" for a workshop that comes with kalypso.
	Dir string `yaml:"-"`
}

// ControlPlane says where the platform's model is.
type ControlPlane struct {
	Repository string `yaml:"repository"`
	// Environments in order of promotion: a commit is promoted to the first first.
	Environments []string `yaml:"environments"`
}

// Team is who owns a repository.
type Team string

// The teams of a workshop.
const (
	ApplicationTeam Team = "application"
	PlatformTeam    Team = "platform"
)

// Repository is a repository as the workshop begins. Its branches are folders
// below repositories/NAME, or those of a git repository.
type Repository struct {
	Name        string `yaml:"name"`
	Description string `yaml:"description,omitempty"`
	Team        Team   `yaml:"team,omitempty"` // ApplicationTeam when empty
	// Git is a URL, or a path relative to the workshop's folder; "" for folders of
	// branches, or for repositories/NAME.git where that is.
	Git string `yaml:"git,omitempty"`
	// Branches begin with the default one. Of a git repository none means all.
	Branches []Branch `yaml:"branches,omitempty"`
	// PullRequests are open as the workshop begins.
	PullRequests []PullRequest `yaml:"pullRequests,omitempty"`
	// Records says that the branches of a GitOps repository, except for the default
	// one, begin with a record of the control plane's first commit, as a merged pull
	// request would have left it: without it, there would be one to open before
	// anybody has done anything.
	Records bool `yaml:"records,omitempty"`

	// Bare is the folder of the git repository that has the branches, "" where they
	// are folders. Load fills it in.
	Bare string `yaml:"-"`
}

// Branch returns the branch of that name, or false.
func (r Repository) Branch(name string) (Branch, bool) {
	i := slices.IndexFunc(r.Branches, func(b Branch) bool { return b.Name == name })
	if i < 0 {
		return Branch{}, false
	}
	return r.Branches[i], true
}

// Branch is a branch. In YAML it is its name, where that is all.
type Branch struct {
	Name string `yaml:"name"`
	// Pinned branches belong to an environment, and begin with a BaseRepo that
	// takes the first commit of the repository's default branch, as a promotion
	// would have left it.
	Pinned bool `yaml:"pinned,omitempty"`
	// OnTop is the branch that this one adds a commit to; its folder has only what
	// differs. "" for a branch with a history of its own.
	OnTop string `yaml:"onTop,omitempty"`

	// Files are by slash-separated path. Load fills them in, except for branches of
	// a git repository.
	Files map[string][]byte `yaml:"-"`
}

// UnmarshalYAML reads a branch that is only its name, too.
func (b *Branch) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		return node.Decode(&b.Name)
	}
	type plain Branch
	return node.Decode((*plain)(b))
}

// MarshalYAML writes only the name where that is all.
func (b Branch) MarshalYAML() (any, error) {
	if !b.Pinned && b.OnTop == "" {
		return b.Name, nil
	}
	type plain Branch
	return plain(b), nil
}

// PullRequest asks to merge one branch into another.
type PullRequest struct {
	Head  string `yaml:"head"`
	Base  string `yaml:"base"`
	Title string `yaml:"title"`
	Body  string `yaml:"body,omitempty"`
}

// Workflows are what the workflows of the repositories find on the forge.
type Workflows struct {
	// Secrets are the names by which the workflows know the token of an account
	// that may write to all repositories and start workflows in them.
	Secrets []string `yaml:"secrets,omitempty"`
	// Variables are those of all repositories.
	Variables map[string]string `yaml:"variables,omitempty"`
	// NextEnvironment is what the workflows call the variable of an environment
	// that names the one after it.
	NextEnvironment string `yaml:"nextEnvironment,omitempty"`
}

// Reconciler makes a cluster follow git.
type Reconciler string

// The reconcilers.
const (
	Flux   Reconciler = "flux"
	ArgoCD Reconciler = "argocd"
	// Ansible makes hosts follow git, and no clusters.
	Ansible Reconciler = "ansible"
)

// Node is what runs the pods of a cluster.
type Node string

// The kinds of nodes.
const (
	RealNode      Node = "real"      // where the machine can, else a simulated one
	SimulatedNode Node = "simulated" // pods are said to run
	NoNode        Node = "none"      // pods stay pending
)

// ClusterKind is what stands behind a cluster.
type ClusterKind string

// The kinds of clusters.
const (
	RealCluster    ClusterKind = "real"    // a Kubernetes control plane
	VirtualCluster ClusterKind = "virtual" // follows its folders and reports, and runs nothing
	// Host is a machine that is no cluster, where the machine can have one.
	Host ClusterKind = "host"
)

// Cluster is a cluster with what it follows. The name of virtual ones may have a
// range, store-{001..200}: that is a cluster for each number.
type Cluster struct {
	Name       string      `yaml:"name"`
	Type       string      `yaml:"type,omitempty"` // cluster type; the name when empty
	Kind       ClusterKind `yaml:"kind,omitempty"` // RealCluster when empty
	Reconciler Reconciler  `yaml:"reconciler"`
	Node       Node        `yaml:"node,omitempty"` // RealNode when empty
	// Follows are the folders of GitOps repositories: a Flux configuration each,
	// an Application of Argo CD, or what Ansible runs the playbooks of.
	Follows []Subscription `yaml:"follows"`
	// Credentials is the name of the Secret with the forge's credentials for what
	// the assigned reconcilers fetch, "" for none.
	Credentials string `yaml:"credentials,omitempty"`
	// Repositories are those that Argo CD gets credentials for; those that it
	// follows when there are none.
	Repositories []string `yaml:"repositories,omitempty"`
	// Virtual says how virtual clusters behave.
	Virtual *Virtual `yaml:"virtual,omitempty"`
}

// Subscription is a folder that a cluster follows.
type Subscription struct {
	Name       string `yaml:"name"`
	Repository string `yaml:"repository"`
	Branch     string `yaml:"branch"`
	Path       string `yaml:"path,omitempty"` // the root when empty
}

// Virtual is how the virtual clusters of one entry behave. The same seed makes
// the same clusters late, failing and offline.
type Virtual struct {
	Seed uint64 `yaml:"seed,omitempty"`
	// Delay is the longest time from a push until a cluster has applied it; each
	// cluster has its own between nothing and that.
	Delay time.Duration `yaml:"delay,omitempty"`
	// Failing is the share of the clusters, 0 to 1, on which a revision fails.
	Failing float64 `yaml:"failing,omitempty"`
	// Offline is the share of the time, 0 to 1, that a cluster cannot be reached,
	// for OfflineFor at a time.
	Offline    float64       `yaml:"offline,omitempty"`
	OfflineFor time.Duration `yaml:"offlineFor,omitempty"`
}

// Image is an image of a sample application that the registry holds when the
// workshop begins, since the manifests in git name it.
type Image struct {
	Name    string `yaml:"name"`    // below the organisation, with its tag
	Program string `yaml:"program"` // of those that come with kalypso
}

// Address is what stands in files for an address of the forge. One of
// Organisation, Registry and Repository says which.
type Address struct {
	From         string `yaml:"from"`                   // such as https://github.com/YOUR_ORG
	Organisation bool   `yaml:"organisation,omitempty"` // what URLs of repositories begin with
	Registry     bool   `yaml:"registry,omitempty"`     // what names of images begin with
	Repository   string `yaml:"repository,omitempty"`   // the URL of this repository
}

// Scenarios are the names of the files in scenarios, without their ending.
type Scenarios struct {
	Order []string `yaml:"order,omitempty"`
	Apart []string `yaml:"apart,omitempty"` // not run with all others
}

// Repository returns the repository of that name, or false.
func (w *Workshop) Repository(name string) (Repository, bool) {
	i := slices.IndexFunc(w.Repositories, func(r Repository) bool { return r.Name == name })
	if i < 0 {
		return Repository{}, false
	}
	return w.Repositories[i], true
}

// DefaultBranch is that of a repository, "main" of one that is to be fetched.
func (w *Workshop) DefaultBranch(repository string) string {
	if r, ok := w.Repository(repository); ok && len(r.Branches) > 0 {
		return r.Branches[0].Name
	}
	return "main"
}

// Next returns the environment that follows one, by name, of all but the last.
func (w *Workshop) Next() map[string]string {
	all := map[string]string{}
	for i, next := range w.ControlPlane.Environments[1:] {
		all[w.ControlPlane.Environments[i]] = next
	}
	return all
}
