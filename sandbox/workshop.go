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
	promoteTo    string // first environment
	clusters     []clusterSpec
}

// clusterSpec is a cluster with what it follows.
type clusterSpec struct {
	name          string
	subscriptions []subscriptionSpec
}

type subscriptionSpec struct {
	name, repository, branch, path string
}

// DefaultWorkshop is what `kalypso up` brings when it is not told.
const DefaultWorkshop = "basic-inference"

var workshops = []workshop{{
	name:         "basic-inference",
	controlPlane: "kalypso-control-plane",
	promoteTo:    "dev",
	clusters: []clusterSpec{{
		name: "arc-cluster",
		subscriptions: []subscriptionSpec{
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

// UsageError is a mistake in how something was asked for.
type UsageError struct{ Message string }

func (e *UsageError) Error() string { return e.Message }
