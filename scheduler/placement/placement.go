// Package placement compares what should run where with what does: a placement is one
// assignment on one cluster.
//
// What should run is in git: the folder CLUSTER TYPE/TARGET of an environment's GitOps
// branch has the assignment, and in it a Kustomization or an Application that carries it and
// says which branch of the application's repository is followed. What does run is in a
// [fleet.Snapshot]. Objects are found by the names that they have in git; nothing is
// guessed.
//
// Whether a cluster has a commit is a question of order, not of equality: one that has gone
// on to a later commit of the branch has the earlier one, too.
package placement

import (
	"cmp"
	"regexp"
	"slices"
	"time"
)

// State is how a placement is.
type State string

// The states, worst first.
const (
	Failing   State = "failing"   // the cluster cannot apply it, or it is not healthy
	Missing   State = "missing"   // the cluster has the commit, and the object is not there
	Extra     State = "extra"     // it is there, and nothing in git asks for it
	Edited    State = "edited"    // it differs from the commit that it has
	Late      State = "late"      // rolling for longer than it should
	Suspended State = "suspended" // it is set to not follow its branch
	Unknown   State = "unknown"   // the cluster cannot be asked, or its commit is none of the branch
	Rolling   State = "rolling"   // the commit is not there yet, or not healthy yet
	OK        State = "ok"        // it has the commit or a later one, and is healthy
)

// States are all of them, worst first.
func States() []State {
	return []State{Failing, Missing, Extra, Edited, Late, Suspended, Unknown, Rolling, OK}
}

// Placement is an assignment on a cluster, as it should be and as it is.
type Placement struct {
	Cluster     string `json:"cluster"`
	Environment string `json:"environment"`
	// ClusterType and Target are "" where it is not known what a cluster follows. The
	// target of an extra one is the name of the object.
	ClusterType string   `json:"clusterType,omitempty"`
	Target      string   `json:"target,omitempty"`
	Desired     Revision `json:"desired,omitzero"`
	Actual      Revision `json:"actual,omitzero"` // what is known last, whatever the state
	State       State    `json:"state"`
	Reason      string   `json:"reason,omitempty"` // of a state that is not ok
	// Since is when the state began: by the cluster's clock, or where something is to
	// come, by that of the commit; zero where nobody says.
	Since time.Time `json:"since,omitzero"`
	// AsOf is when the cluster was asked, or of one that is unknown its last contact.
	AsOf        time.Time         `json:"asOf,omitzero"`
	Approximate bool              `json:"approximate,omitempty"` // Actual was taken out of a text
	Labels      map[string]string `json:"labels,omitempty"`      // of the cluster
}

// Revision is a commit of a branch, and the version that it has of the target.
type Revision struct {
	Repo    string `json:"repo,omitempty"`
	Branch  string `json:"branch,omitempty"`
	Commit  string `json:"commit,omitempty"`
	Version string `json:"version,omitempty"` // "" where no DeploymentDescriptor says
}

// Sort puts placements in the order of environments, then the worst first.
func Sort(all []Placement) {
	order := States()
	slices.SortFunc(all, func(a, b Placement) int {
		return cmp.Or(
			cmp.Compare(a.Environment, b.Environment), cmp.Compare(slices.Index(order, a.State), slices.Index(order, b.State)),
			cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Target, b.Target), cmp.Compare(a.ClusterType, b.ClusterType),
		)
	})
}

var (
	hashes  = regexp.MustCompile(`\b[0-9a-f]*[0-9][0-9a-f]*\b`)
	numbers = regexp.MustCompile(`[0-9]+`)
)

// Cause is a reason without its numbers and hashes, which are # in it: what differs only by them
// has one cause.
func Cause(reason string) string {
	return numbers.ReplaceAllString(hashes.ReplaceAllString(reason, "#"), "#")
}
