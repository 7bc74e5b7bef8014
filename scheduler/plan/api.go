package plan

import "github.com/kalypso-dev/kalypso/scheduler/model"

// Plan is what one environment should look like and how that differs from
// what its GitOps branch holds now. It is a pure function of its input: same
// input, same bytes.
type Plan struct {
	Environment string
	GitOps      model.Reference // where the plan's files belong; Path is their root folder
	GitOpsHead  string          // commit of the GitOps branch that the plan was made against
	Promoted    string          // the base repository's pinned commit, "" when none
	Incomplete  bool            // the model is: what is missing from the plan is not proven to be gone
	Targets     []Target        // sorted by name
	Assignments []Assignment    // sorted by cluster type, then deployment target
	Problems    []Problem       // sorted; what was left as it is, and why
	Changes     []Change        // sorted by path; empty when nothing is to be done

	files func() map[string][]byte
}

// Files returns every file the plan wants, by path from the repository's root.
// It puts them together anew each time: a fleet has very many.
func (p *Plan) Files() map[string][]byte {
	if p.files == nil {
		return nil
	}
	return p.files()
}

// Target is a deployment target of a registered workload.
type Target struct {
	Name      string // <workload>-<target>
	Workload  string
	Workspace string
	Labels    map[string]string
	Position  model.Position
}

// Assignment is one deployment target on one cluster type.
type Assignment struct {
	ClusterType string
	Target      string
	Policies    []string // names of all policies that select the pair, sorted
	Config      []ConfigValue
	Files       []string // paths from the repository's root, sorted
}

// ConfigValue is one key of the composed platform configuration with where
// its value comes from, and what it replaced.
//
// Maps and lists are merged rather than replaced, so such a key can have
// several sources without an override. Their Value is YAML.
type ConfigValue struct {
	Key       string
	Value     string
	Source    ConfigSource   // the last that gave it a value
	Overrides []ConfigSource // earlier, different values, oldest first
	Sources   []ConfigSource // all that gave it a value, in order of merging
}

// ConfigSource is a ConfigMap that gives a key a value.
type ConfigSource struct {
	ConfigMap string
	Value     string
	Position  model.Position // of the key
	// Path leads to the part of a merged value that an override has replaced,
	// as in limits.cpu or containers[web].image, and then Value is that part.
	// It is "" where the source speaks of the whole value.
	Path string
}

// Problem is something that could not be planned. ClusterType and Target are
// set when it concerns one assignment; then that assignment's files stay on
// the branch as they are, and the forge gets an issue about the pair.
//
// Several problems may concern one assignment; Reason tells a broken schema's
// findings from the rest.
type Problem struct {
	ClusterType string         `json:"clusterType,omitempty"`
	Target      string         `json:"target,omitempty"`
	Reason      Reason         `json:"reason"`
	Severity    model.Severity `json:"severity"`
	Position    model.Position `json:"position"`
	Message     string         `json:"message"`
	Hint        string         `json:"hint,omitempty"`
	Schema      model.Position `json:"-"` // of an InvalidConfig: the schema that is broken, which Position need not be
}

// Action is what happens to a file.
type Action string

const (
	Add    Action = "add"
	Modify Action = "modify"
	Remove Action = "remove"
)

// Change is one file of the GitOps branch that the plan adds, changes or
// removes.
type Change struct {
	Path    string
	Action  Action
	Content []byte // nil when removed
}
