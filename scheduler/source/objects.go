package source

import (
	"errors"
	"fmt"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// has says whether a commit is in the repository. A clone without history may
// know the ID of a commit that it does not have.
func (r *repository) has(commit plumbing.Hash) bool {
	r.git.mu.Lock()
	defer r.git.mu.Unlock()
	return r.git.twice(func() error { return r.git.repo.Storer.HasEncodedObject(commit) }) == nil
}

// objects returns the files of a commit that lie below the folder. An object
// that is missing is an error of its own: the repository is damaged, or was
// cloned without file contents.
func (r *repository) objects(branch string, commit plumbing.Hash) (*model.Tree, error) {
	r.git.mu.Lock()
	defer r.git.mu.Unlock()
	var all *collection
	err := r.git.twice(func() error {
		all = newCollection()
		return r.walk(commit, all, func(file string, hash plumbing.Hash) error { return r.addBlob(all, file, hash) })
	})
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return nil, &Error{
			Message: fmt.Sprintf("commit %s of %s: %s", commit, r.dir, err),
			Hint:    fmt.Sprintf("a clone made with --filter lacks files: `git -C %s fetch --refetch --no-filter` gets them", r.git.dir),
			Err:     err,
		}
	}
	if err != nil {
		return nil, fmt.Errorf("commit %s of %s: %w", commit, r.dir, err)
	}
	return &model.Tree{Repo: r.dir, Branch: branch, Commit: commit.String(), Files: all.files()}, nil
}

// twice does something again that failed, with the repository opened anew: git
// may have packed what was about to be read into another file meanwhile.
func (s *shared) twice(do func() error) error {
	err := do()
	if err == nil {
		return nil
	}
	again, failed := openGit(s.dir)
	if failed != nil {
		return err
	}
	s.repo = again.repo
	return do()
}

// walk visits the regular files of a commit that lie below the folder. Links
// and submodules are none, and count with folders.
func (r *repository) walk(id plumbing.Hash, all *collection, visit func(file string, hash plumbing.Hash) error) error {
	commit, err := r.git.repo.CommitObject(id)
	if err != nil {
		return err
	}
	tree, err := commit.Tree()
	if err == nil && r.prefix != "" {
		tree, err = tree.Tree(r.prefix)
	}
	if errors.Is(err, object.ErrDirectoryNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	walker := object.NewTreeWalker(tree, true, nil)
	defer walker.Close()
	for {
		file, entry, err := walker.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case entry.Mode == filemode.Dir, entry.Mode == filemode.Symlink, entry.Mode == filemode.Submodule:
			if err := all.pass(file); err != nil {
				return err
			}
			continue
		}
		if err := visit(file, entry.Hash); err != nil {
			return fmt.Errorf("file %s: %w", file, err)
		}
	}
}

// addBlob adds a file by its object.
func (r *repository) addBlob(all *collection, file string, hash plumbing.Hash) error {
	size, err := r.git.repo.Storer.EncodedObjectSize(hash)
	if errors.Is(err, plumbing.ErrObjectNotFound) { // go-git does not look for sizes where a clone borrows its objects
		var blob *object.Blob
		if blob, err = r.git.repo.BlobObject(hash); err == nil {
			size = blob.Size
		}
	}
	if err != nil {
		return err
	}
	return all.add(file, size, func() ([]byte, error) { return r.blob(hash) })
}

func (r *repository) blob(hash plumbing.Hash) (_ []byte, err error) {
	blob, err := r.git.repo.BlobObject(hash)
	if err != nil {
		return nil, err
	}
	reader, err := blob.Reader()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	return io.ReadAll(reader)
}
