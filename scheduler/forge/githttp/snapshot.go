package githttp

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// maxEntries bounds how many files and folders a commit may have. A few small
// objects can stand for billions.
const maxEntries = 1_000_000

// entryBytes is about what a file costs in memory besides its name and
// content.
const entryBytes = 200

// snapshot is a commit as it was read: its files, and what a new commit on top
// of it needs to know.
type snapshot struct {
	root    plumbing.Hash
	files   map[string][]byte
	entries map[string]entry       // every leaf of the tree, also links and submodules
	trees   map[plumbing.Hash]bool // the tree objects that the server has
	size    int64
}

type entry struct {
	mode filemode.FileMode
	hash plumbing.Hash
}

func newSnapshot(root plumbing.Hash) *snapshot {
	return &snapshot{root: root, files: map[string][]byte{}, entries: map[string]entry{}, trees: map[plumbing.Hash]bool{}}
}

// cost is what a file adds to a snapshot's size.
func cost(name string, content []byte) int64 {
	return int64(len(name)+len(content)) + entryBytes
}

// errNoCommit means that a commit is not among the objects.
var errNoCommit = errors.New("the commit is not there")

// load turns the objects of a commit into a snapshot. A folder or a file that
// is missing is an error: go-git's own walk would end there without one, and
// half a tree reads as if the other half had been removed.
func load(store storer.EncodedObjectStorer, id plumbing.Hash) (*snapshot, error) {
	return loadUpTo(maxEntries, store, id)
}

func loadUpTo(limit int, store storer.EncodedObjectStorer, id plumbing.Hash) (*snapshot, error) {
	commit, err := object.GetCommit(store, id)
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return nil, errNoCommit
	}
	if err != nil {
		return nil, err
	}
	l := loader{store: store, limit: limit, snapshot: newSnapshot(commit.TreeHash), blobs: map[plumbing.Hash][]byte{}}
	if err := l.folder("", commit.TreeHash); err != nil {
		return nil, err
	}
	return l.snapshot, nil
}

type loader struct {
	store    storer.EncodedObjectStorer
	snapshot *snapshot
	blobs    map[plumbing.Hash][]byte // contents, so that equal files share one
	entries  int                      // so far
	limit    int
}

func (l *loader) folder(path string, hash plumbing.Hash) error {
	tree, err := object.GetTree(l.store, hash)
	if err != nil {
		return fmt.Errorf("folder %q: %w", path, err)
	}
	l.snapshot.trees[hash] = true
	if l.entries += len(tree.Entries); l.entries > l.limit {
		return fmt.Errorf("there are more than %d files and folders", l.limit)
	}
	for _, e := range tree.Entries {
		if e.Name == "" || e.Name == "." || e.Name == ".." || strings.Contains(e.Name, "/") {
			return fmt.Errorf("folder %q: %q is no name for a file", path, e.Name)
		}
		name := path + e.Name
		if e.Mode == filemode.Dir {
			err = l.folder(name+"/", e.Hash)
		} else {
			err = l.leaf(name, e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *loader) leaf(name string, e object.TreeEntry) error {
	s := l.snapshot
	s.entries[name] = entry{e.Mode, e.Hash}
	if e.Mode == filemode.Symlink || e.Mode == filemode.Submodule {
		s.size += cost(name, nil)
		return nil
	}
	data, ok := l.blobs[e.Hash]
	if !ok {
		blob, err := l.store.EncodedObject(plumbing.BlobObject, e.Hash)
		if err != nil {
			return fmt.Errorf("file %s: %w", name, err)
		}
		if data, err = content(blob); err != nil {
			return fmt.Errorf("file %s: %w", name, err)
		}
		l.blobs[e.Hash] = data
	}
	s.files[name] = data
	s.size += cost(name, data)
	return nil
}

func content(blob plumbing.EncodedObject) (data []byte, err error) {
	r, err := blob.Reader()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return io.ReadAll(r)
}
