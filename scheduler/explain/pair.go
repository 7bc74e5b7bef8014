package explain

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
	ConfigMap string `json:"configMap"`
	Value     string `json:"value"`
	Place     Place  `json:"place"`
	Role      Role   `json:"role"`
}

// Part is a part of a merged value that a later source has replaced.
type Part struct {
	Path      string `json:"path"`  // limits.cpu or containers[web].image
	Value     string `json:"value"` // what it was
	ConfigMap string `json:"configMap"`
	Place     Place  `json:"place"` // of the key
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
	Place   Place    `json:"place"`
	Matches bool     `json:"matches"`
	Clauses []Clause `json:"clauses"`           // its labels that count, in the order they are written in
	Ignored []string `json:"ignored,omitempty"` // labels that belong to Kubernetes or Flux, sorted
	// Keys are those of a ConfigMap whose keys carry labels of their own: the
	// ones that do not apply.
	Keys []Key `json:"keys,omitempty"`
}

// Key is a key label.value.key of a ConfigMap that does not apply to the pair.
type Key struct {
	Field string `json:"field"`
	Place Place  `json:"place"`
	Miss  Miss   `json:"miss"`
}

// Schema is a JSON schema that the pair's configuration is checked against.
type Schema struct {
	Of       string   `json:"of"` // "deployment target", "workload" or the ConfigSchema's name
	Place    Place    `json:"place"`
	Findings []string `json:"findings"` // what breaks it, sorted
}

// Template is a template that makes one of the pair's files.
type Template struct {
	File    string `json:"file"` // namespace, platform-config or reconciler
	Name    string `json:"name"`
	Place   *Place `json:"place,omitempty"` // nil when there is no such template
	NamedBy Place  `json:"namedBy"`         // the cluster type's field
}

// File is a file of the pair on the GitOps branch.
type File struct {
	Path   string `json:"path"`   // from the repository's root
	Action string `json:"action"` // add, modify, remove or keep
}

// Problem is something that is wrong, where, and what to do.
type Problem struct {
	ClusterType string `json:"clusterType,omitempty"`
	Severity    string `json:"severity"`
	Reason      string `json:"reason"`
	Place       Place  `json:"place"`
	Message     string `json:"message"`
	Hint        string `json:"hint,omitempty"`
}
