package stack

import (
	"cmp"
	"slices"

	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"github.com/kalypso-dev/kalypso/sandbox/virtual"
	"github.com/kalypso-dev/kalypso/workshop"
)

// ClusterRequest is the body of a request to change the clusters.
type ClusterRequest struct {
	Add    []workshop.Cluster `json:"add,omitempty"` // each of one name
	Remove []string           `json:"remove,omitempty"`
}

// ClusterAnswer says what a change of the clusters has led to.
type ClusterAnswer struct {
	Virtual int `json:"virtual"` // how many virtual clusters there are now
	// Components are those that were added for real clusters, and are starting.
	Components []string `json:"components,omitempty"`
}

// Cluster is a cluster of a sandbox, real or virtual, or a host.
type Cluster struct {
	Name       string               `json:"name"`
	Type       string               `json:"type"`
	Kind       workshop.ClusterKind `json:"kind"`
	Reconciler workshop.Reconciler  `json:"reconciler"`
	Follows    []ClusterFollows     `json:"follows"`
	State      string               `json:"state"` // of a virtual one as package virtual has it, else of its components
	Reason     string               `json:"reason,omitempty"`
}

// ClusterFollows is a folder that a cluster follows.
type ClusterFollows struct {
	Name       string `json:"name"`
	Repository string `json:"repository"`
	Branch     string `json:"branch"`
	Path       string `json:"path,omitempty"`
	Applied    string `json:"applied,omitempty"` // the commit; of virtual clusters and hosts only
}

// ListClusters are the real ones, in the workshop's order, then the hosts, and then the
// virtual ones, by name.
func (st *Stack) ListClusters(components []supervisor.Status) []Cluster {
	var all []Cluster
	for _, c := range st.state.Clusters() {
		one := Cluster{Name: c.Name, Type: cmp.Or(c.Type, c.Name), Kind: workshop.RealCluster, Reconciler: c.Reconciler, State: string(supervisor.Ready)}
		for _, f := range c.Follows {
			one.Follows = append(one.Follows, ClusterFollows{Name: f.Name, Repository: f.Repository, Branch: f.Branch, Path: f.Path})
		}
		if i := slices.IndexFunc(components, func(s supervisor.Status) bool { return s.Group == c.Name && s.State != supervisor.Ready }); i >= 0 {
			one.State, one.Reason = string(components[i].State), components[i].Reason
		}
		all = append(all, one)
	}
	all = append(all, st.listHosts(components)...)
	for _, r := range st.virtual.Reports() {
		one := Cluster{Name: r.Name, Type: cmp.Or(r.Type, r.Name), Kind: workshop.VirtualCluster, Reconciler: r.Reconciler, State: string(r.State), Reason: r.Reason}
		for _, f := range r.Follows {
			i := slices.IndexFunc(r.Sources, func(s virtual.Source) bool { return s.Subscription == f.Name })
			one.Follows = append(one.Follows, ClusterFollows{f.Name, f.Repository, f.Branch, f.Path, r.Sources[i].Applied})
		}
		all = append(all, one)
	}
	return all
}
