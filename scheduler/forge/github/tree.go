package github

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	sdk "github.com/google/go-github/v88/github"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

var fullID = regexp.MustCompile(`^[0-9a-f]{40}$`)

// Modes of what a tree holds.
const (
	modeFile       = "100644"
	modeExecutable = "100755"
	modeFolder     = "040000"
)

// listing is what a commit holds: every leaf of its tree, by path.
type listing struct {
	root   string // the tree's ID
	leaves map[string]leaf
	count  model.Counter
}

type leaf struct {
	mode, id string
	size     int // of a file, as far as it is known
}

// isFile says whether a leaf is a file, and neither a link nor a submodule.
func (l leaf) isFile() bool { return l.mode == modeFile || l.mode == modeExecutable }

// readByAPI reads a commit, or the head of a branch.
func (f *Forge) readByAPI(ctx context.Context, repo string, ref model.Reference) (*model.Tree, error) {
	commit := ref.Commit
	if commit == "" {
		var err error
		if commit, err = f.head(ctx, repo, ref.Branch); err != nil {
			return nil, err
		}
	}
	if !fullID.MatchString(commit) {
		return nil, fmt.Errorf("commit %q of %s is not a full commit ID: %w", commit, repo, forge.ErrNotFound)
	}
	var files map[string][]byte
	list, err := f.list(ctx, repo, commit)
	if err == nil {
		if files, err = f.files(ctx, repo, list); err != nil {
			err = fmt.Errorf("commit %s of %s: %w", commit, repo, err)
		}
	}
	if err != nil {
		if limit := (*model.LimitError)(nil); errors.As(err, &limit) {
			limit.Commit = commit
		}
		return nil, err
	}
	return &model.Tree{Repo: ref.Repo, Branch: ref.Branch, Commit: commit, Files: files}, nil
}

// list returns what a commit holds. It never changes, so it is kept.
func (f *Forge) list(ctx context.Context, repo, commit string) (*listing, error) {
	if l := f.blobs.listing(repo, commit); l != nil {
		return l, nil
	}
	owner, name, err := split(repo)
	if err != nil {
		return nil, err
	}
	var root string
	err = f.call(ctx, func() (*sdk.Response, error) {
		c, r, err := f.client.Git.GetCommit(ctx, owner, name, commit)
		root = c.GetTree().GetSHA()
		return r, err
	})
	if err != nil {
		return nil, fmt.Errorf("commit %s of %s: %w", commit, repo, err)
	}
	l := &listing{root: root, leaves: map[string]leaf{}}
	if err := f.walk(ctx, owner, name, "", root, l); err != nil {
		return nil, fmt.Errorf("tree of commit %s of %s: %w", commit, repo, err)
	}
	f.blobs.keep(repo, commit, l)
	return l, nil
}

// walk adds all that is below a folder. GitHub cuts off what is longer than
// 100,000 entries or 7 MB and says so: such a folder is read once more without
// what is below it, and its own folders one by one.
func (f *Forge) walk(ctx context.Context, owner, name, path, id string, l *listing) error {
	tree, err := f.tree(ctx, owner, name, id, true)
	if err != nil {
		return err
	}
	whole := !tree.GetTruncated()
	if !whole {
		if tree, err = f.tree(ctx, owner, name, id, false); err != nil {
			return err
		}
		if tree.GetTruncated() {
			return fmt.Errorf("folder %q has more entries than GitHub lists: read it by git", path)
		}
	}
	for _, e := range tree.Entries {
		if err := l.count.Add(path+e.GetPath(), strings.Count(path+e.GetPath(), "/")); err != nil {
			return err
		}
		switch {
		case e.GetMode() != modeFolder:
			l.leaves[path+e.GetPath()] = leaf{e.GetMode(), e.GetSHA(), e.GetSize()}
		case !whole:
			if err := f.walk(ctx, owner, name, path+e.GetPath()+"/", e.GetSHA(), l); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *Forge) tree(ctx context.Context, owner, name, id string, recursive bool) (tree *sdk.Tree, err error) {
	err = f.call(ctx, func() (r *sdk.Response, err error) {
		tree, r, err = f.client.Git.GetTree(ctx, owner, name, id, recursive)
		return r, err
	})
	if err == nil && tree == nil {
		err = errors.New("GitHub's answer holds no tree")
	}
	return tree, err
}
