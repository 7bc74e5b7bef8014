package explain

import "github.com/kalypso-dev/kalypso/scheduler/model"

// Query is a question about a deployment target.
type Query struct {
	// Target is its name, <workload>-<target>. The name it has in its workload
	// alone will do where only one target has it, and <workload>/<target> is
	// understood everywhere, which tells targets of one name apart.
	Target string
	// ClusterType narrows the answer to one cluster type and adds what the
	// target gets there; "" asks about all.
	ClusterType string
}

// Explanation is the answer. Lists that are empty are empty in JSON too, never
// null, and all of them come in the same order every time.
type Explanation struct {
	Environment string `json:"environment"`
	// ControlPlane is the environment's branch. Texts leave it out of places.
	ControlPlane Place `json:"controlPlane"`
	// GitOps is where generated files go.
	GitOps Place `json:"gitOps"`
	// ClusterTypes is how many the environment has.
	ClusterTypes int    `json:"clusterTypes"`
	Target       Target `json:"target"`
	// ClusterType is the one that was asked about, nil for all.
	ClusterType *ClusterType `json:"clusterType,omitempty"`
	// Assigned says where the target goes, sorted by cluster type, and with a
	// cluster type whether it goes there.
	Assigned []Assigned `json:"assigned"`
	// Nearest is the policy and the cluster type that miss by the fewest
	// clauses; nil when something is assigned or there is nothing to miss.
	Nearest *Nearest `json:"nearest,omitempty"`
	// Policies are those that select most first.
	Policies []Policy `json:"policies"`
	// Pair is what the target gets on the cluster type, nil without one.
	Pair *Pair `json:"pair,omitempty"`
	// Problems are the plan's about the target or, with a cluster type, the
	// pair.
	Problems []Problem `json:"problems"`
	// LeftOut are the errors of the environment: each stands for an object that
	// counts for nothing, which may be the one that somebody looks for.
	LeftOut []Problem `json:"leftOut"`
}

// Place is where something stands in a repository.
type Place = model.Position

// Target is a deployment target as policies see it: with the labels of its
// workload and those that the platform gives it.
type Target struct {
	Name      string            `json:"name"`
	Workload  string            `json:"workload"`
	Workspace string            `json:"workspace"`
	Labels    map[string]string `json:"labels"`
	Place     Place             `json:"place"`
	// Twins are where other targets of this name are defined. None of them gets
	// anything until the names differ.
	Twins []Place `json:"twins,omitempty"`
}

// ClusterType is a cluster type as policies see it.
type ClusterType struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels"`
	Place  Place             `json:"place"`
}

// Assigned is a cluster type that a target goes to, and because of whom.
type Assigned struct {
	ClusterType string   `json:"clusterType"`
	Policies    []string `json:"policies"` // sorted
}

// Nearest is what a target has missed most closely.
type Nearest struct {
	Policy      string   `json:"policy"`
	ClusterType string   `json:"clusterType"`
	Fails       []Clause `json:"fails"` // the target's, then the cluster type's
}

// Policy is what a SchedulingPolicy makes of the target.
type Policy struct {
	Name          string `json:"name"`
	Place         Place  `json:"place"`
	SelectsTarget bool   `json:"selectsTarget"`
	// Clauses are those about the target, in the order they are written in.
	Clauses []Clause `json:"clauses"`
	// ClusterTypes is what the policy makes of each: those it selects, then the
	// others, nearest first. It is empty for a policy that does not select the
	// target, unless one was asked about.
	ClusterTypes []Verdict `json:"clusterTypes"`
}

// Verdict is what a policy makes of a cluster type.
type Verdict struct {
	ClusterType string   `json:"clusterType"`
	Place       Place    `json:"place"`
	Selected    bool     `json:"selected"`
	Clauses     []Clause `json:"clauses"` // in the order they are written in
}

// Clause is one condition on labels: of a policy, or one label of a ConfigMap
// or ConfigSchema.
type Clause struct {
	Text  string `json:"text"` // what it wants: region=west-us
	Place Place  `json:"place"`
	Holds bool   `json:"holds"`
	Miss  *Miss  `json:"miss,omitempty"` // why it does not hold
}

// Miss is why a clause does not hold.
type Miss struct {
	// Reason is a sentence: wants region=westus, cluster type has west-us.
	Reason string `json:"reason"`
	// Nearest is the label or the value that was most likely meant, "" where
	// nothing looks misspelt; Hint says so in a sentence.
	Nearest string `json:"nearest,omitempty"`
	Hint    string `json:"hint,omitempty"`
	// Found is where the label stands that does not fit, Add where a missing
	// one would be added. At most one of them is set.
	Found *Place `json:"found,omitempty"`
	Add   *Place `json:"add,omitempty"`

	own bool // the object itself has what was most likely meant
}
