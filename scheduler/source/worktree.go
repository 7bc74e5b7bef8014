package source

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/index"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// workingTree returns the files that `git add --all` would leave in the index:
// those that git knows, as they are now, and those that it does not ignore.
// The tree has a commit only when it is exactly that commit's.
func (r *repository) workingTree(branch string) (*model.Tree, error) {
	r.git.mu.Lock()
	defer r.git.mu.Unlock()
	r.git.seen, r.git.dirty = true, true
	tracked, err := r.tracked()
	if err != nil {
		return nil, fmt.Errorf("working tree %s: %w", r.dir, err)
	}
	files, err := r.files(tracked)
	if err != nil {
		return nil, fmt.Errorf("working tree %s: %w", r.dir, err)
	}
	tree := &model.Tree{Repo: r.dir, Branch: branch, Files: files}
	head, err := r.git.repo.Head()
	if errors.Is(err, plumbing.ErrReferenceNotFound) {
		return tree, nil // nothing has been committed yet
	}
	if err != nil {
		return nil, fmt.Errorf("git repository %s: HEAD: %w", r.dir, err)
	}
	same, err := r.same(head.Hash(), files, tracked)
	if err != nil {
		return nil, fmt.Errorf("commit %s of %s: %w", head.Hash(), r.dir, err)
	}
	if same {
		tree.Commit, r.git.dirty = head.Hash().String(), false
	}
	return tree, nil
}

// same says whether a commit has exactly these files. Of those whose contents
// were not read it takes git's word, as `git status` does.
func (r *repository) same(commit plumbing.Hash, files map[string][]byte, tracked map[string]*index.Entry) (bool, error) {
	same, n := true, 0
	err := r.walk(commit, newCollection(), func(file string, hash plumbing.Hash) error {
		content, ok := files[file]
		if same = same && ok; same && content == nil {
			same = r.unchanged(tracked[path.Join(r.prefix, file)], hash)
		} else if same {
			same = plumbing.ComputeHash(plumbing.BlobObject, content) == hash
		}
		n++
		return nil
	})
	return same && n == len(files), err
}

// unchanged says whether a file is what git has put there.
func (r *repository) unchanged(entry *index.Entry, hash plumbing.Hash) bool {
	if entry == nil || entry.Hash != hash {
		return false
	}
	info, err := os.Lstat(filepath.Join(r.top, filepath.FromSlash(entry.Name)))
	if err != nil {
		return entry.SkipWorktree && errors.Is(err, fs.ErrNotExist)
	}
	return uint32(info.Size()) == entry.Size && info.ModTime().Equal(entry.ModifiedAt)
}

// files reads the working tree below the folder.
func (r *repository) files(tracked map[string]*index.Entry) (map[string][]byte, error) {
	root, err := os.OpenRoot(r.top)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	s := &scan{root: root, tracked: tracked, above: map[string]bool{}, prefix: r.prefix, all: newCollection()}
	for file := range tracked {
		for dir := path.Dir(file); !s.above[dir]; dir = path.Dir(dir) {
			s.above[dir] = true
		}
	}
	if err := s.start(r.excludes()); err != nil {
		return nil, err
	}
	if err := r.unsparse(tracked, s.all); err != nil {
		return nil, err
	}
	return s.all.files(), nil
}

// tracked returns the regular files below the folder that git knows, by path
// from the top.
func (r *repository) tracked() (map[string]*index.Entry, error) {
	idx, err := r.git.repo.Storer.Index()
	if errors.Is(err, index.ErrUnknownExtension) {
		return nil, &Error{
			Message: fmt.Sprintf("git repository %s: its index is split or sparse, which cannot be read", r.top),
			Hint:    "`git update-index --no-split-index` or `git sparse-checkout reapply --no-sparse-index` makes it a plain one",
			Err:     err,
		}
	}
	if err != nil {
		return nil, fmt.Errorf("git repository %s: index: %w", r.top, err)
	}
	tracked := map[string]*index.Entry{}
	for _, entry := range idx.Entries {
		if entry.Mode == filemode.Symlink || entry.Mode == filemode.Submodule {
			continue
		}
		if r.prefix == "" || strings.HasPrefix(entry.Name, r.prefix+"/") {
			tracked[entry.Name] = entry
		}
	}
	return tracked, nil
}

// unsparse adds the files that a sparse checkout leaves out of the working
// tree: they are not there, but nobody has deleted them.
func (r *repository) unsparse(tracked map[string]*index.Entry, all *collection) error {
	there := make(map[string]bool, len(all.names))
	for _, file := range all.names {
		there[file] = true
	}
	for name, entry := range tracked {
		file := below(r.prefix, name)
		if there[file] || !entry.SkipWorktree {
			continue
		}
		if err := r.addBlob(all, file, entry.Hash); err != nil {
			return fmt.Errorf("file %s: %w", file, err)
		}
	}
	return nil
}

// below is a path from the top as a path from the folder.
func below(prefix, file string) string {
	if prefix == "" {
		return file
	}
	return strings.TrimPrefix(file, prefix+"/")
}
