package explain

import (
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// Query is a question about a deployment target.
type Query struct {
	// Target is its name, <workload>-<target>. The name it has in its workload
	// alone will do where only one target has it, and <workload>/<target> is
	// understood everywhere, which distinguishes targets of one name.
	Target string
	// ClusterType narrows the answer to one cluster type and adds what the
	// target gets there; "" asks about all.
	ClusterType string
	// Present are the files of the GitOps branch by path, nil for none.
	Present map[string][]byte
}

// Explanation is the answer. Lists that are empty are empty in JSON too, never
// null, and all of them come in the same order every time.
type Explanation struct {
	Environment string `json:"environment"`
	// ControlPlane is the environment's branch. Texts leave it out of places.
	ControlPlane Position `json:"controlPlane"`
	// GitOps is where generated files go.
	GitOps Position `json:"gitOps"`
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

// Position is where something stands in a repository.
type Position = model.Position

// Target is a deployment target as policies see it: with the labels of its
// workload and those that the platform gives it.
type Target struct {
	Name      string            `json:"name"`
	Workload  string            `json:"workload"`
	Workspace string            `json:"workspace"`
	Labels    map[string]string `json:"labels"`
	Place     Position          `json:"place"`
	// Twins are where other targets of this name are defined. None of them gets
	// anything until the names differ.
	Twins []Position `json:"twins,omitempty"`
}

// ClusterType is a cluster type as policies see it.
type ClusterType struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels"`
	Place  Position          `json:"place"`
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
	Name          string   `json:"name"`
	Place         Position `json:"place"`
	SelectsTarget bool     `json:"selectsTarget"`
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
	Place       Position `json:"place"`
	Selected    bool     `json:"selected"`
	Clauses     []Clause `json:"clauses"` // in the order they are written in
}

// Clause is one condition on labels: of a policy, or one label of a ConfigMap
// or ConfigSchema.
type Clause struct {
	Text  string   `json:"text"` // what it wants: region=west-us
	Place Position `json:"place"`
	Holds bool     `json:"holds"`
	Miss  *Miss    `json:"miss,omitempty"` // why it does not hold
	// Values are those of the labels and names that an expression in CEL looks at.
	Values []LookedAt `json:"values,omitempty"`
}

// LookedAt is a part of an expression with the object's value.
type LookedAt struct {
	Expression string `json:"expression"` // labels["region"]
	Value      string `json:"value"`
	Missing    bool   `json:"missing,omitempty"` // the object has no such label
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
	Found *Position `json:"found,omitempty"`
	Add   *Position `json:"add,omitempty"`

	own bool // the object itself has what was most likely meant
}

// Pair is what a deployment target gets on a cluster type. Where no policy
// assigns it, it is what the target would get if one did, and where others have
// the target's name, what it would get if it had the name alone.
type Pair struct {
	Assigned bool `json:"assigned"`
	// Config is the composed configuration, sorted by key.
	Config []Value `json:"config"`
	// ConfigMaps are all of the environment: those that match in the order in
	// which they are merged, then the others, nearest first.
	ConfigMaps []Labelled `json:"configMaps"`
	// Schemas are those that the configuration is checked against.
	Schemas []Schema `json:"schemas"`
	// OtherSchemas are the ConfigSchemas that do not match, nearest first.
	OtherSchemas []Labelled `json:"otherSchemas"`
	Templates    []Template `json:"templates"`
	// Files are what the pair has or will have on the GitOps branch, sorted by
	// path; of a pair that gets nothing what it would add, and what it has there
	// that goes.
	Files []File `json:"files"`
	// Problems are what would be wrong with a pair that gets nothing. Those of
	// another are the Explanation's.
	Problems []Problem `json:"problems"`
}

// Value is one key of the composed configuration.
type Value struct {
	Key   string `json:"key"`
	Value string `json:"value"` // a map or a list as YAML
	// Sources are all that give the key a value, in order of merging. The last
	// one decides.
	Sources []Source `json:"sources"`
	// Parts are what merging has taken away inside of a map or a list.
	Parts []Part `json:"parts,omitempty"`
}

// Source is a ConfigMap that gives a key a value.
type Source struct {
	ConfigMap string   `json:"configMap"`
	Value     string   `json:"value"`
	Place     Position `json:"place"`
	Role      Role     `json:"role"`
}

// Part is a part of a merged value that a later source has replaced.
type Part struct {
	Path      string   `json:"path"`  // limits.cpu or containers[web].image
	Value     string   `json:"value"` // what it was
	ConfigMap string   `json:"configMap"`
	Place     Position `json:"place"` // of the key
}

// Role says what has become of a source's value.
type Role string

// The roles of sources.
const (
	Decides    Role = "decides"    // the last, whose value it is or completes it
	Merged     Role = "merged"     // a map or list that the later ones were merged into
	Repeated   Role = "repeated"   // the later ones say the same
	Overridden Role = "overridden" // a later one has replaced it
)

// Labelled is a ConfigMap or a ConfigSchema and whether its labels match the
// pair.
type Labelled struct {
	Name    string   `json:"name"`
	Place   Position `json:"place"`
	Matches bool     `json:"matches"`
	Clauses []Clause `json:"clauses"`           // its labels that count, in the order they are written in
	Ignored []string `json:"ignored,omitempty"` // labels that belong to Kubernetes or Flux, sorted
	// Keys are those of a ConfigMap whose keys carry labels of their own: the
	// ones that do not apply.
	Keys []Key `json:"keys,omitempty"`
}

// Key is a key label.value.key of a ConfigMap that does not apply to the pair.
type Key struct {
	Field string   `json:"field"`
	Place Position `json:"place"`
	Miss  Miss     `json:"miss"`
}

// Schema is a JSON schema that the pair's configuration is checked against.
type Schema struct {
	Of       string   `json:"of"` // "deployment target", "workload" or the ConfigSchema's name
	Place    Position `json:"place"`
	Findings []string `json:"findings"` // what breaks it, sorted
}

// Template is a template that makes one of the pair's files.
type Template struct {
	File    string    `json:"file"` // namespace, platform-config or reconciler
	Name    string    `json:"name"`
	Place   *Position `json:"place,omitempty"` // nil when there is no such template
	NamedBy Position  `json:"namedBy"`         // the cluster type's field
}

// File is a file of the pair on the GitOps branch.
type File struct {
	Path   string `json:"path"`   // from the repository's root
	Action string `json:"action"` // add, modify, remove or keep
}

// Problem is something that is wrong, where, and what to do.
type Problem struct {
	ClusterType string   `json:"clusterType,omitempty"`
	Severity    string   `json:"severity"`
	Reason      string   `json:"reason"`
	Place       Position `json:"place"`
	Message     string   `json:"message"`
	Hint        string   `json:"hint,omitempty"`
}
