// Package plan decides what an environment's GitOps branch should hold.
//
// [New] takes the model of an environment and the branch's present content and
// returns a [Plan]: which deployment target is assigned to which cluster type
// and why, the platform configuration of each assignment and where every value
// comes from, the rendered files, what has to change on the branch, and all
// that could not be planned. Nothing in this package reads or writes anything else.
//
// Two rules keep a mistake from becoming an outage. An assignment with a
// problem keeps its files as they are. And while anything of the environment
// cannot be read, nothing is removed: what looks gone may still exist.
package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// Plan is what one environment should look like and how that differs from
// what its GitOps branch holds now. It is a pure function of its input: same
// input, same bytes.
type Plan struct {
	Environment string
	GitOps      model.Reference           // where the plan's files belong; Path is their root folder
	GitOpsHead  string                    // commit of the GitOps branch that the plan was made against
	Promoted    string                    // the base repository's pinned commit, "" when none
	BaseRepo    string                    // clone URL of the base repository with that commit
	Policies    map[string]model.Position // of the environment, by name
	Incomplete  bool                      // the model is: what is missing from the plan is not proven to be gone
	Targets     []Target                  // sorted by name
	Assignments []Assignment              // sorted by cluster type, then deployment target
	Problems    []Problem                 // sorted; what was left as it is, and why
	Changes     []Change                  // sorted by path; empty when nothing is to be done

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
	Name      string            `json:"name"` // <workload>-<target>
	Workload  string            `json:"workload"`
	Workspace string            `json:"workspace"`
	Labels    map[string]string `json:"labels"`
	Position  model.Position    `json:"position"`
	// WorkloadLabels are those of the workload alone, which are among Labels, too.
	WorkloadLabels map[string]string `json:"-"`
}

// Assignment is one deployment target on one cluster type.
type Assignment struct {
	ClusterType string        `json:"clusterType"`
	Target      string        `json:"target"`
	Policies    []string      `json:"policies"` // names of all policies that select the pair, sorted
	Config      []ConfigValue `json:"config"`
	Files       []string      `json:"files"` // paths from the repository's root, sorted
}

// ConfigValue is one key of the composed platform configuration with where
// its value comes from, and what it replaced.
//
// Maps and lists are merged rather than replaced, so such a key can have
// several sources without an override. Their Value is YAML.
type ConfigValue struct {
	Key       string         `json:"key"`
	Value     string         `json:"value"`
	Source    ConfigSource   `json:"-"`       // the last that gave it a value
	Overrides []ConfigSource `json:"-"`       // earlier, different values, oldest first
	Sources   []ConfigSource `json:"sources"` // all that gave it a value, in order of merging
}

// ConfigSource is a ConfigMap that gives a key a value.
type ConfigSource struct {
	ConfigMap string         `json:"configMap"`
	Value     string         `json:"value"`
	Position  model.Position `json:"position"` // of the key
	// Path leads to the part of a merged value that an override has replaced,
	// as in limits.cpu or containers[web].image, and then Value is that part.
	// It is "" where the source speaks of the whole value.
	Path string `json:"-"`
}

// Problem is something that could not be planned. ClusterType and Target are
// set when it concerns one assignment; then that assignment's files stay on
// the branch as they are, and the forge gets an issue about the pair.
//
// Several problems may concern one assignment.
type Problem struct {
	ClusterType string         `json:"clusterType,omitempty"`
	Target      string         `json:"target,omitempty"`
	Reason      Reason         `json:"reason"`
	Code        string         `json:"-"` // divides a reason that stands for several, see below
	Severity    model.Severity `json:"severity"`
	Position    model.Position `json:"position"`
	Message     string         `json:"message"`
	Hint        string         `json:"hint,omitempty"`
	Schema      model.Position `json:"-"` // of an InvalidConfig: the schema that is broken, which Position need not be
	Fix         model.Position `json:"-"` // of an InvalidConfig that lacks a value: where the value belongs; zero for Position
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

// Reason is the kind of a problem, by which reports differ.
type Reason string

// The reasons of problems.
const (
	InvalidModel    Reason = "InvalidModel"    // a diagnostic of the model
	InvalidConfig   Reason = "InvalidConfig"   // the composed configuration breaks a schema, or part of it cannot be read
	InvalidSchema   Reason = "InvalidSchema"   // a schema is none
	UnknownTemplate Reason = "UnknownTemplate" // a cluster type names a template that is not there, or not of that type
	TemplateFailed  Reason = "TemplateFailed"  // a template does not render
	InvalidName     Reason = "InvalidName"     // a computed name is ambiguous or too long
	InvalidText     Reason = "InvalidText"     // a workload's label or manifest must not go into a file
	Held            Reason = "Held"            // something is kept because the model is incomplete
)

// The codes of problems whose reason is not specific enough.
const (
	WrongTemplate   = "wrong-template"   // an UnknownTemplate that is there, for another file
	AmbiguousName   = "ambiguous-name"   // an InvalidName that two deployment targets have
	SharedNamespace = "shared-namespace" // an InvalidName that two assignments have
)

func newProblem(severity model.Severity, reason Reason, position model.Position, hint, format string, args ...any) Problem {
	return Problem{Reason: reason, Severity: severity, Position: position, Message: redact.Text(fmt.Sprintf(format, args...)), Hint: redact.Text(hint)}
}

func compareProblems(a, b Problem) int {
	return cmp.Or(
		cmp.Compare(a.ClusterType, b.ClusterType),
		cmp.Compare(a.Target, b.Target),
		cmp.Compare(a.Severity, b.Severity),
		model.ComparePositions(a.Position, b.Position),
		cmp.Compare(a.Reason, b.Reason),
		cmp.Compare(a.Message, b.Message),
		cmp.Compare(a.Hint, b.Hint),
		model.ComparePositions(a.Schema, b.Schema),
	)
}

// unreadableProblems are about a ConfigMap that assignments need and that cannot
// be read.
func unreadableProblems(config model.PlatformConfig) []Problem {
	problems := ModelProblems(config.Unreadable)
	for i := range problems {
		problems[i].Reason = InvalidConfig
		problems[i].Message = fmt.Sprintf("ConfigMap %s cannot be read: %s", config.Name, problems[i].Message)
	}
	return problems
}

// ModelProblems are diagnostics of the model as problems.
func ModelProblems(diagnostics []model.Diagnostic) []Problem {
	problems := make([]Problem, len(diagnostics))
	for i, d := range diagnostics {
		problems[i] = Problem{
			Reason:   InvalidModel,
			Severity: d.Severity,
			Position: d.Position,
			Message:  d.Message,
			Hint:     d.Hint,
		}
	}
	return problems
}

// environmentProblems are the environment's diagnostics. A file or an object that
// holds nothing is an error as soon as something is held back that may have come from it.
func environmentProblems(env *model.Environment, held bool) []Problem {
	if !held || len(env.Blank) == 0 {
		return ModelProblems(env.Diagnostics)
	}
	blank := func(d model.Diagnostic) bool { return slices.Contains(env.Blank, d) }
	problems := ModelProblems(slices.Concat(env.Blank, slices.DeleteFunc(slices.Clone(env.Diagnostics), blank)))
	for i := range env.Blank {
		problems[i].Severity = model.Error
	}
	return problems
}

// unassignedProblems warns of what will fail as soon as a policy selects it.
func unassignedProblems(s *state) []Problem {
	admits := make([]bool, len(s.policies.rules))
	var problems []Problem
	for _, r := range s.rows {
		for _, n := range r.admitting {
			admits[n] = true
		}
		problems = append(problems, r.mistyped...)
		if len(r.cells) == 0 && !s.env.BaseUnreadable {
			problems = append(problems, r.unknown...)
		}
	}
	assigned := func(t *target) bool {
		return slices.ContainsFunc(t.selecting, func(n int32) bool { return admits[n] })
	}
	duplicateAssigned := map[string]bool{}
	for _, t := range s.targets.sorted {
		if len(t.duplicates) > 0 && assigned(t) {
			duplicateAssigned[t.Name] = true
		}
	}
	for _, t := range s.targets.sorted {
		if !assigned(t) && !duplicateAssigned[t.Name] {
			problems = append(problems, targetProblems(t)...)
		}
	}
	for i := range problems {
		problems[i].Severity = model.Warning
	}
	return problems
}

// unvalidated warns that an assignment stays as it is because a ConfigSchema could
// not be read, which may concern it. As an error it would make an issue of each.
func unvalidated(position model.Position, p pair) Problem {
	return newProblem(model.Warning, Held, position, "correct the errors of the environment first",
		"%s/%s stays as it is: a ConfigSchema could not be read, so that its configuration cannot be validated", p.clusterType.Name, p.target.Name)
}
