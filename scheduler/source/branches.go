package source

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// checkedOut returns the branch that HEAD names, and false when it names a
// commit.
func (r *repository) checkedOut() (string, bool, error) {
	r.git.mu.Lock()
	defer r.git.mu.Unlock()
	head, err := r.git.repo.Reference(plumbing.HEAD, false)
	if err != nil {
		return "", false, fmt.Errorf("git repository %s: HEAD: %w", r.dir, err)
	}
	if head.Type() != plumbing.SymbolicReference || !head.Target().IsBranch() {
		return "", false, nil
	}
	return head.Target().Short(), true, nil
}

// defaultBranch prefers the names that default branches have: what is checked
// out is often an environment's branch.
func (r *repository) defaultBranch(context.Context) (string, error) {
	current, onBranch, err := r.checkedOut()
	if err != nil {
		return "", err
	}
	if r.top != "" {
		for _, name := range []string{"main", "master"} {
			if current == name {
				return name, nil
			}
			if _, err := r.find(name); err == nil {
				return name, nil
			} else if !errors.Is(err, model.ErrNotFound) {
				return "", err
			}
		}
	}
	if !onBranch {
		return headBranch, nil
	}
	return current, nil
}

// find returns the commit at a branch's head.
func (r *repository) find(branch string) (plumbing.Hash, error) {
	r.git.mu.Lock()
	defer r.git.mu.Unlock()
	names := []plumbing.ReferenceName{plumbing.NewBranchReferenceName(branch), plumbing.NewRemoteReferenceName("origin", branch)}
	if branch == headBranch {
		names = []plumbing.ReferenceName{plumbing.HEAD}
	}
	for _, name := range names {
		reference, err := r.git.repo.Reference(name, true)
		if err == nil {
			return reference.Hash(), nil
		}
		if !errors.Is(err, plumbing.ErrReferenceNotFound) {
			return plumbing.ZeroHash, fmt.Errorf("branch %s of %s: %w", branch, r.dir, err)
		}
	}
	return plumbing.ZeroHash, absent("branch %s of %s", branch, r.dir)
}

var fullID = regexp.MustCompile(`^[0-9a-f]{40}$`)

func (r *repository) read(_ context.Context, branch, commit string) (*model.Tree, error) {
	if commit != "" {
		if !fullID.MatchString(commit) {
			return nil, absent("commit %q of %s is not a full commit ID", commit, r.dir)
		}
		if !r.has(plumbing.NewHash(commit)) {
			return nil, absent("commit %s of %s", commit, r.dir)
		}
		return r.objects(branch, plumbing.NewHash(commit))
	}
	current, onBranch, err := r.checkedOut()
	if err != nil {
		return nil, err
	}
	if r.top != "" && (branch == headBranch || onBranch && branch == current) {
		return r.workingTree(branch)
	}
	hash, err := r.find(branch)
	if err != nil {
		return nil, err
	}
	return r.objects(branch, hash)
}
