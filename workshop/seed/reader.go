package seed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/memory"
	"github.com/go-git/go-git/v5/storage/transactional"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/workshop"
)

// Reader reads a workshop's repositories as they begin, as if they were on a
// forge. It implements [model.Reader].
type Reader struct{ repositories map[string]begun }

// begun is a repository with its first commits.
type begun struct {
	store storer.EncodedObjectStorer
	heads map[plumbing.ReferenceName]plumbing.Hash
}

// NewReader makes the first commits of a workshop that has been loaded for a
// location, in memory.
func NewReader(w *workshop.Workshop, at workshop.Location) (*Reader, error) {
	all, err := Of(w, at)
	if err != nil {
		return nil, err
	}
	r := &Reader{map[string]begun{}}
	for _, s := range all {
		b := begun{store: memory.NewStorage()}
		if s.Bare != "" { // the history stays where it is
			b.store = transactional.NewStorage(bareStore(s.Bare), memory.NewStorage())
		}
		if b.heads, err = s.Commits(b.store); err != nil {
			return nil, fmt.Errorf("repository %s: %w", s.Name, err)
		}
		r.repositories[at.Repositories+"/"+s.Name] = b
	}
	return r, nil
}

// Read returns the tree at a commit, or at the head of a branch.
func (r *Reader) Read(_ context.Context, ref model.Reference) (*model.Tree, error) {
	repository, ok := r.repositories[strings.TrimSuffix(ref.Repo, ".git")]
	if !ok {
		return nil, fmt.Errorf("%s is no repository of the workshop: %w", ref.Repo, model.ErrNotFound)
	}
	hash := plumbing.NewHash(ref.Commit)
	if ref.Commit == "" {
		if hash, ok = repository.heads[plumbing.NewBranchReferenceName(ref.Branch)]; !ok {
			return nil, fmt.Errorf("%s has no branch %s: %w", ref.Repo, ref.Branch, model.ErrNotFound)
		}
	}
	commit, err := object.GetCommit(repository.store, hash)
	if err != nil {
		return nil, fmt.Errorf("%s has no commit %s: %w", ref.Repo, hash, model.ErrNotFound)
	}
	tree := &model.Tree{Repo: ref.Repo, Branch: ref.Branch, Commit: hash.String(), Files: map[string][]byte{}}
	root, err := commit.Tree()
	if err != nil {
		return nil, err
	}
	walk := object.NewTreeWalker(root, true, nil)
	defer walk.Close()
	for {
		name, entry, err := walk.Next()
		switch {
		case errors.Is(err, io.EOF):
			return tree, nil
		case err != nil:
			return nil, err
		case entry.Mode == filemode.Symlink:
			tree.Skipped = append(tree.Skipped, model.Skipped{Path: name, What: model.SymbolicLink})
		case entry.Mode == filemode.Submodule:
			tree.Skipped = append(tree.Skipped, model.Skipped{Path: name, What: model.Submodule})
		case entry.Mode.IsFile():
			if tree.Files[name], err = content(repository.store, entry.Hash); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
}

// content is that of a file, nil of one that is too large for the model.
func content(store storer.EncodedObjectStorer, hash plumbing.Hash) ([]byte, error) {
	if size, err := store.EncodedObjectSize(hash); err != nil || size > model.MaxFile {
		return nil, err
	}
	blob, err := object.GetBlob(store, hash)
	if err != nil {
		return nil, err
	}
	in, err := blob.Reader()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return io.ReadAll(in)
}
