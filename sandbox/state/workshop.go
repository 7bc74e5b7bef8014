package state

import (
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// DefaultWorkshop is what `kalypso up` brings by default.
const DefaultWorkshop = "hello-world"

// Workshop is what a tutorial needs beyond its repositories, which are
// fixtures.
type Workshop struct {
	Name         string
	ControlPlane string // repository
	Clusters     []Cluster
	Images       []Image
}

// Image is an image of a sample application that the registry holds when the
// workshop begins, since the manifests in git name it.
type Image struct {
	Name    string // below the organisation, with its tag
	Program string // of the component samples
}

// Cluster is a cluster with what it follows.
type Cluster struct {
	Name       string
	Reconciler Reconciler
	// Follows are the folders of GitOps repositories: a Flux configuration
	// each, or an Application of Argo CD.
	Follows []Subscription
	// Secret is the name of the forge's credentials for what the assigned
	// reconcilers fetch, "" for none.
	Secret string
	// Repositories are those that Argo CD gets credentials for.
	Repositories []string
}

// Reconciler makes a cluster follow git.
type Reconciler string

const (
	Flux   Reconciler = "flux"
	ArgoCD Reconciler = "argocd"
)

// Subscription is a folder that a cluster follows.
type Subscription struct{ Name, Repository, Branch, Path string }

// workshops are those of the tutorials; the names of clusters and of what they
// follow are those of the tutorials' own scripts.
var workshops = []Workshop{{
	Name:         "hello-world",
	ControlPlane: "kalypso-control-plane",
	Clusters: []Cluster{{
		Name:       "drone",
		Reconciler: Flux,
		Secret:     "repo-secret",
		Follows: []Subscription{
			{Name: "dev", Repository: "kalypso-gitops", Branch: "dev", Path: "drone"},
			{Name: "stage", Repository: "kalypso-gitops", Branch: "stage", Path: "drone"},
		},
	}, {
		Name:       "large",
		Reconciler: ArgoCD,
		Follows: []Subscription{
			{Name: "dev", Repository: "kalypso-gitops", Branch: "dev", Path: "large"},
			{Name: "stage", Repository: "kalypso-gitops", Branch: "stage", Path: "large"},
		},
		Repositories: []string{"kalypso-gitops", "kalypso-app-gitops", "kalypso-svc-gitops"},
	}},
	Images: []Image{{Name: "kalypso-app-src/hello-world:0.0.1-0", Program: "hello-world"}},
}, {
	Name:         "basic-inference",
	ControlPlane: "kalypso-control-plane",
	Clusters: []Cluster{{
		Name:       "arc-cluster",
		Reconciler: Flux,
		Follows: []Subscription{
			{Name: "platform-dev", Repository: "kalypso-platform-gitops", Branch: "dev", Path: "dev"},
		},
	}},
}}

// Workshops returns the names of all workshops.
func Workshops() []string {
	names := make([]string, len(workshops))
	for i, w := range workshops {
		names[i] = w.Name
	}
	return names
}

func findWorkshop(name string) (Workshop, error) {
	i := slices.IndexFunc(workshops, func(w Workshop) bool { return w.Name == name })
	if i < 0 {
		return Workshop{}, usage.Errorf("there is no workshop %q: choose one of %s", name, joined(Workshops()))
	}
	return workshops[i], nil
}

func (w Workshop) clusterNames() []string {
	names := make([]string, len(w.Clusters))
	for i, c := range w.Clusters {
		names[i] = c.Name
	}
	return names
}

// Listener names the port of the cluster's reconciler.
func (c Cluster) Listener() string { return string(c.Reconciler) + "-" + c.Name }

// listeners are the names of all ports that the workshop's sandbox keeps.
func (w Workshop) listeners() []string {
	names := []string{"gitea", "scheduler", "notifier", "arm", "runner"}
	for _, c := range w.Clusters {
		names = append(names, c.Name, c.Listener())
	}
	return names
}

// CheckName returns a *usage.Error for a name that is not among the known ones,
// with the nearest of them.
func CheckName(what, name string, known []string) error {
	if slices.Contains(known, name) {
		return nil
	}
	near := ""
	if n := model.Nearest(name, known); n != "" {
		near = ", did you mean " + n + "?"
	}
	return usage.Errorf("there is no %s %q%s\nChoose one of %s", what, name, near, joined(known))
}

func joined(names []string) string { return strings.Join(names, ", ") }
