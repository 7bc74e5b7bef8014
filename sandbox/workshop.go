package sandbox

import (
	"fmt"
	"slices"
	"strings"
)

// workshop is the world of one tutorial beyond its repositories, which are
// fixtures.
type workshop struct {
	name         string
	controlPlane string // repository
	clusters     []clusterSpec
	images       []imageSpec
}

// imageSpec is an image of a sample application that the registry holds when
// the workshop begins, since the manifests in git name it.
type imageSpec struct {
	name    string // below the organisation, with its tag
	program string // of the component samples
}

// clusterSpec is a cluster with what it follows.
type clusterSpec struct {
	name       string
	reconciler reconciler
	// follows are the folders of GitOps repositories: a Flux configuration
	// each, or an Application of Argo CD.
	follows []subscriptionSpec
	// secret is the name of the forge's credentials for what the assigned
	// reconcilers fetch, "" for none.
	secret string
	// repositories are those that Argo CD gets credentials for.
	repositories []string
}

// reconciler is what makes a cluster follow git.
type reconciler string

const (
	flux   reconciler = "flux"
	argoCD reconciler = "argocd"
)

type subscriptionSpec struct {
	name, repository, branch, path string
}

// DefaultWorkshop is what `kalypso up` brings when it is not told.
const DefaultWorkshop = "hello-world"

// workshops are the tutorials' worlds; the names of clusters and of what they
// follow are those of the tutorials' own scripts.
var workshops = []workshop{{
	name:         "hello-world",
	controlPlane: "kalypso-control-plane",
	clusters: []clusterSpec{{
		name:       "drone",
		reconciler: flux,
		secret:     "repo-secret",
		follows: []subscriptionSpec{
			{name: "dev", repository: "kalypso-gitops", branch: "dev", path: "drone"},
			{name: "stage", repository: "kalypso-gitops", branch: "stage", path: "drone"},
		},
	}, {
		name:       "large",
		reconciler: argoCD,
		follows: []subscriptionSpec{
			{name: "dev", repository: "kalypso-gitops", branch: "dev", path: "large"},
			{name: "stage", repository: "kalypso-gitops", branch: "stage", path: "large"},
		},
		repositories: []string{"kalypso-gitops", "kalypso-app-gitops", "kalypso-svc-gitops"},
	}},
	images: []imageSpec{{name: "kalypso-app-src/hello-world:0.0.1-0", program: "hello-world"}},
}, {
	name:         "basic-inference",
	controlPlane: "kalypso-control-plane",
	clusters: []clusterSpec{{
		name:       "arc-cluster",
		reconciler: flux,
		follows: []subscriptionSpec{
			{name: "platform-dev", repository: "kalypso-platform-gitops", branch: "dev", path: "dev"},
		},
	}},
}}

// Workshops returns the names of all workshops.
func Workshops() []string {
	names := make([]string, len(workshops))
	for i, w := range workshops {
		names[i] = w.name
	}
	return names
}

func findWorkshop(name string) (workshop, error) {
	i := slices.IndexFunc(workshops, func(w workshop) bool { return w.name == name })
	if i < 0 {
		return workshop{}, &UsageError{fmt.Sprintf("there is no workshop %q: choose one of %s", name, strings.Join(Workshops(), ", "))}
	}
	return workshops[i], nil
}

func (w workshop) clusterNames() []string {
	names := make([]string, len(w.clusters))
	for i, c := range w.clusters {
		names[i] = c.name
	}
	return names
}

// made are the names of the clusters that a sandbox makes; the others the person
// has already.
func (w workshop) made(s *State) []string {
	return slices.DeleteFunc(w.clusterNames(), func(name string) bool {
		_, given := s.Existing[name]
		return given
	})
}

// reconcilers are those of the workshop's clusters, each once.
func (w workshop) reconcilers() []reconciler {
	var all []reconciler
	for _, c := range w.clusters {
		if !slices.Contains(all, c.reconciler) {
			all = append(all, c.reconciler)
		}
	}
	return all
}

// listener names the port of the cluster's reconciler.
func (c clusterSpec) listener() string { return string(c.reconciler) + "-" + c.name }

// listeners are the names of all ports that the workshop's sandbox keeps.
func (w workshop) listeners() []string {
	names := []string{"gitea", "scheduler", "notifier", "arm", "runner"}
	for _, c := range w.clusters {
		names = append(names, c.name, c.listener())
	}
	return names
}

// UsageError is a mistake in how something was asked for.
type UsageError struct{ Message string }

func (e *UsageError) Error() string { return e.Message }
