// Package model reads the platform model out of git trees: YAML documents
// become typed objects, each with the position it was read from, and everything
// that is wrong with them becomes a diagnostic that names file and line.
//
// [LoadEnvironment] is where to begin. It reads through a [Reader] and decides by
// content only: never by a file's name or folder, and never by the order in
// which files come, so that the same trees always give the same model.
//
// The trap is absence. An object that could not be read looks exactly like one
// that somebody has deleted, and a plan made from it would delete what it
// stands for. So a read error ends LoadEnvironment, and what is in the trees
// but cannot be understood sets [Environment.Incomplete].
package model

import (
	"context"
	"errors"
	"fmt"

	"github.com/kalypso-dev/kalypso/internal/yamlpos"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
	"go.yaml.in/yaml/v3"
)

// ErrNotFound is what a Reader's error wraps when the repository, the branch
// or the commit does not exist. It is a mistake in the input and no failure: it
// becomes a diagnostic at the reference. Every other read error, except for a
// [LimitError], ends the loading.
var ErrNotFound = errors.New("not found")

// Reference points to a folder of a git repository.
type Reference struct {
	Repo   string `json:"repo"` // clone URL
	Branch string `json:"branch"`
	Path   string `json:"path,omitempty"`   // folder in the repository; "" and "." are its root
	Commit string `json:"commit,omitempty"` // full commit ID; when set it wins over Branch
}

// Tree is the content of a repository at one commit. It is never changed once
// it has been handed out, so it may be shared and cached.
type Tree struct {
	Repo   string // clone URL
	Branch string
	Commit string // full ID of the commit that was read
	// Own says that the scheduler has made the commit, as its committer says. Only a
	// forge knows.
	Own bool
	// Files are all regular files, by slash-separated path from the
	// repository's root. One whose content was not read is nil: it is larger than
	// MaxFile, or does not matter to the platform model, see [MayMatter].
	Files map[string][]byte
	// Skipped are the symbolic links and submodules in place of files and folders,
	// sorted by path. Nothing follows them.
	Skipped []Skipped
}

// Skipped is an entry of a repository that has no content there.
type Skipped struct {
	Path string
	What string // SymbolicLink or Submodule
}

// What an entry without content is.
const (
	SymbolicLink = "symbolic link"
	Submodule    = "submodule"
)

// Reader reads repositories for LoadEnvironment.
type Reader interface {
	// Read returns the tree at ref's commit, or at the head of its branch.
	// ref.Path does not narrow what is returned.
	Read(ctx context.Context, ref Reference) (*Tree, error)
}

// Position is where something stands in a repository. What is not known of it is
// "" or 0, and missing from JSON.
type Position struct {
	Repo   string `json:"repo,omitempty"` // clone URL
	Branch string `json:"branch,omitempty"`
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`   // from 1; 0 when only the file is known
	Column int    `json:"column,omitempty"` // from 1
}

// String returns "repository@branch:file:line", with the repository's last
// path element as its name, and less where less is known.
func (p Position) String() string {
	s := p.File
	if p.Line > 0 {
		s = fmt.Sprintf("%s:%d", s, p.Line)
	}
	name := repoName(p.Repo)
	switch {
	case name == "":
		return s
	case s == "":
		return name + "@" + p.Branch
	}
	return name + "@" + p.Branch + ":" + s
}

// Severity says how much a diagnostic stops.
type Severity string

const (
	Error   Severity = "error"   // something was left out
	Warning Severity = "warning" // nothing was left out
)

// Diagnostic is one finding about the input: what is wrong, where, and what
// to do.
type Diagnostic struct {
	Code     string   `json:"-"` // one of the constants below
	Severity Severity `json:"severity"`
	Position Position `json:"position"`
	Message  string   `json:"message"`
	Hint     string   `json:"hint,omitempty"`
}

// The codes of diagnostics. Package validate has rules of the same names, which
// explain them.
const (
	AppConfigKey      = "app-config-key"
	DuplicateObject   = "duplicate-object"
	CostlyExpression  = "costly-expression"
	InvalidExpression = "invalid-expression"
	InvalidField      = "invalid-field"
	InvalidName       = "invalid-name"
	InvalidRollout    = "invalid-rollout"
	InvalidSelector   = "invalid-selector"
	InvalidValue      = "invalid-value"
	InvalidYAML       = "invalid-yaml"
	MisplacedObject   = "misplaced-object"
	MisplacedWorkload = "misplaced-workload"
	MissingField      = "missing-field"
	MissingObject     = "missing-object"
	MissingReference  = "missing-reference"
	MissingWorkload   = "missing-workload"
	NoEffect          = "no-effect"
	RefusedHost       = "refused-host"
	TooLarge          = "too-large"
	UnknownField      = "unknown-field"
	UnknownKind       = "unknown-kind"
	UnreadableSource  = "unreadable-source"
)

// Object is one document of the platform model.
type Object[Spec any] struct {
	v1alpha1.Metadata
	Spec     Spec
	Position Position // of the document's first field

	// Unreadable are the errors because of which only name and labels are
	// known, and Spec is empty.
	Unreadable []Diagnostic

	node    *yaml.Node
	content []byte // of the file of a SchedulingPolicy, whose expressions have positions of their own
}

// ConfigMap is the part of a Kubernetes ConfigMap that the platform model
// uses.
type ConfigMap struct {
	Data map[string]string `json:"data,omitempty"`
}

// The objects of the platform model.
type (
	EnvironmentObject    = Object[v1alpha1.EnvironmentSpec]
	BaseRepo             = Object[v1alpha1.BaseRepoSpec]
	GitOpsRepo           = Object[v1alpha1.GitOpsRepoSpec]
	ClusterType          = Object[v1alpha1.ClusterTypeSpec]
	SchedulingPolicy     = Object[v1alpha1.SchedulingPolicySpec]
	ConfigSchema         = Object[v1alpha1.ConfigSchemaSpec]
	Template             = Object[v1alpha1.TemplateSpec]
	WorkloadRegistration = Object[v1alpha1.WorkloadRegistrationSpec]
	PlatformConfig       = Object[ConfigMap]
	Rollout              = Object[v1alpha1.RolloutSpec]
)

// Workload is a workload with the registration that admits it.
type Workload struct {
	Object[v1alpha1.WorkloadSpec]
	Registration WorkloadRegistration
}

// At returns where a field of the document stands: its key's position in a
// mapping, the element's in a list (numbered from 0). Where the path leads
// nowhere it is the position of the last field on the way that exists.
func (o Object[Spec]) At(path ...string) Position {
	return positionAt(o.node, o.Position, path)
}

// InText returns where a byte of the text stands that the field at a path holds.
func (o Object[Spec]) InText(index int, path ...string) Position {
	at := o.At(path...)
	if value := yamlpos.Value(o.node, path...); value != nil && len(o.content) > 0 {
		at.Line, at.Column = yamlpos.InText(o.content, value, index)
	}
	return at
}

// Same says whether two objects are the same reading of a document, so that
// nothing can differ between them. Documents with the same content in two files,
// or in a file that was parsed twice, are not.
func (o Object[Spec]) Same(other Object[Spec]) bool {
	return o.node != nil && o.node == other.node && o.Position == other.Position
}

func positionAt(node *yaml.Node, position Position, path []string) Position {
	if key, _ := yamlpos.Closest(node, path...); key != nil {
		position.Line, position.Column = key.Line, key.Column
	}
	return position
}
