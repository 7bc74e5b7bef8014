package model

import (
	"context"
	"errors"
	"fmt"
)

// ErrNotFound is what a Reader's error wraps when the repository, the branch
// or the commit does not exist. It is the one read error that is somebody's
// input and not a failure: it becomes a diagnostic at the reference. Every
// other read error stops the plan.
var ErrNotFound = errors.New("not found")

// Reference points to a folder of a git repository.
type Reference struct {
	Repo   string // clone URL
	Branch string
	Path   string // folder in the repository; "" and "." are its root
	Commit string // full commit ID; when set it wins over Branch
}

// Tree is the content of a repository at one commit. It is never changed once
// it has been handed out, so it may be shared and cached.
type Tree struct {
	Repo   string // clone URL
	Branch string
	Commit string // full ID of the commit that was read
	// Files are all regular files, by slash-separated path from the
	// repository's root. One whose content was not read is nil: it is larger than
	// MaxFile, or does not matter to the platform model, see [MayMatter].
	Files map[string][]byte
}

// Reader reads repositories for LoadEnvironment.
type Reader interface {
	// Read returns the tree at ref's commit, or at the head of its branch.
	// ref.Path does not narrow what is returned.
	Read(ctx context.Context, ref Reference) (*Tree, error)
}

// Position is where something stands in a repository, for people. What is not
// known of it is "" or 0, and missing from JSON.
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
	Severity Severity `json:"severity"`
	Position Position `json:"position"`
	Message  string   `json:"message"`
	Hint     string   `json:"hint,omitempty"`
}
