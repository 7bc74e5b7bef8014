package forge

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"time"
)

// BranchPrefix begins the names of the branches that belong to the scheduler.
const BranchPrefix = "kalypso/"

// The author and committer of every commit of the scheduler.
const (
	AuthorName  = "Kalypso Scheduler"
	AuthorEmail = "scheduler@kalypso.local"
)

// Change is one file of a commit.
type Change struct {
	Path    string
	Content []byte // nil removes the file
}

// CommitRequest describes a commit.
//
// Without FastForward, the branch is one of the scheduler's own and is made to
// point to the new commit whatever it held. With FastForward, the branch may
// be anyone's; nothing of it is lost, because the commit is made on top of it:
// Expect must be Parent. So may a branch be that is made, which expects NoBranch.
type CommitRequest struct {
	Branch      string
	Parent      string // full commit ID; the new commit holds its files with the changes
	Tree        string // full ID of the commit whose files it holds with the changes instead; "" for Parent
	Expect      string // the branch's present commit; "" when any will do. A branch elsewhere is ErrMoved
	FastForward bool
	Message     string
	When        time.Time // author and committer time
	Changes     []Change
	AllowEmpty  bool // the commit may hold just what its parent holds
}

// NoBranch is what a request expects of a branch that is not there.
const NoBranch = "0000000000000000000000000000000000000000"

// Validate returns an error when the request must not be carried out whatever
// the repository holds. Every Forge calls it first.
func (r CommitRequest) Validate() error {
	switch {
	case r.Parent == "":
		return errors.New("commit has no parent")
	case r.Branch == "":
		return errors.New("commit has no branch")
	case len(r.Changes) == 0 && !r.AllowEmpty:
		return errors.New("commit has no changes")
	case r.FastForward && r.Expect != r.Parent:
		return fmt.Errorf("a fast-forward of branch %s must expect its parent %q, not %q", r.Branch, r.Parent, r.Expect)
	case !r.FastForward && !OwnBranch(r.Branch) && r.Expect != NoBranch:
		return fmt.Errorf("branch %s is not below %s: the scheduler overwrites only its own branches", r.Branch, BranchPrefix)
	}
	seen := make(map[string]bool, len(r.Changes))
	for _, c := range r.Changes {
		if err := validPath(c.Path); err != nil {
			return err
		}
		if seen[c.Path] {
			return fmt.Errorf("path %s is changed twice", c.Path)
		}
		seen[c.Path] = true
	}
	return nil
}

// OwnBranch reports whether a branch belongs to the scheduler.
func OwnBranch(branch string) bool {
	return strings.HasPrefix(branch, BranchPrefix) && len(branch) > len(BranchPrefix)
}

// validPath refuses paths that git or a checkout would take for something
// other than a file of the repository.
func validPath(p string) error {
	if p == "" || p == "." || path.Clean(p) != p || path.IsAbs(p) || strings.ContainsAny(p, "\\\x00") {
		return fmt.Errorf("path %q is not a file of a repository", p)
	}
	for part := range strings.SplitSeq(p, "/") {
		if part == ".." || strings.EqualFold(part, ".git") {
			return fmt.Errorf("path %q is not a file of a repository", p)
		}
	}
	return nil
}
