package gitclient

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// entryBytes is about what a file costs in memory besides its name and
// content.
const entryBytes = 200

// snapshot is a commit as it was read: its files, and what a new commit on top
// of it needs to know.
type snapshot struct {
	root     plumbing.Hash
	email    string // the committer's
	files    map[string][]byte
	entries  map[string]entry       // every leaf of the tree, also links and submodules
	skipped  []model.Skipped        // the links and submodules, sorted
	trees    map[plumbing.Hash]bool // the tree objects that the server has
	size     int64
	tooLarge error // a LimitError because of which there is nothing else here
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
// is missing is an error: half a tree reads as if the other half had been
// removed. Where the server has left out what is large, a file may be missing,
// and is there without its content.
func load(p *pack, id plumbing.Hash, filtered bool) (*snapshot, error) {
	l, err := walk(p, id)
	if err != nil {
		return nil, err
	}
	return l.snapshot, l.contents(p, func(string) bool { return filtered })
}

// loader makes a snapshot.
type loader struct {
	pack     *pack
	trees    map[plumbing.Hash][]byte
	snapshot *snapshot
	count    model.Counter
}

// walk reads a commit's folders. The files have no contents yet.
func walk(p *pack, id plumbing.Hash) (*loader, error) {
	var root plumbing.Hash
	var email string
	err := p.each(plumbing.CommitObject, func(hash plumbing.Hash, _ int64, content func() ([]byte, error)) (bool, error) {
		if hash != id {
			return false, nil
		}
		data, err := content()
		if err != nil {
			return false, err
		}
		commit := new(object.Commit)
		err = commit.Decode(memoryObject(plumbing.CommitObject, data))
		root, email = commit.TreeHash, commit.Committer.Email
		return false, err
	})
	if err != nil {
		return nil, fmt.Errorf("the commit: %w", err)
	}
	if root.IsZero() {
		return nil, errNoCommit
	}
	l := &loader{pack: p, trees: map[plumbing.Hash][]byte{}, snapshot: newSnapshot(root)}
	l.snapshot.email = email
	err = p.each(plumbing.TreeObject, func(hash plumbing.Hash, size int64, content func() ([]byte, error)) (bool, error) {
		if size > maxObject {
			return false, &model.LimitError{What: "bytes in one folder's list of files", Max: maxObject, Hint: smaller}
		}
		data, err := content()
		if _, twice := l.trees[hash]; err != nil || twice {
			return false, err
		}
		l.trees[hash] = data
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	return l, l.folder("", 0, root)
}

func memoryObject(kind plumbing.ObjectType, content []byte) *plumbing.MemoryObject {
	o := new(plumbing.MemoryObject)
	o.SetType(kind)
	_, _ = o.Write(content) // never fails
	return o
}

func (l *loader) folder(path string, depth int, hash plumbing.Hash) error {
	data, ok := l.trees[hash]
	if !ok {
		return fmt.Errorf("folder %q: %w", path, plumbing.ErrObjectNotFound)
	}
	tree := new(object.Tree)
	if err := tree.Decode(memoryObject(plumbing.TreeObject, data)); err != nil {
		return fmt.Errorf("folder %q: %w", path, err)
	}
	l.snapshot.trees[hash] = true
	for _, e := range tree.Entries {
		if e.Name == "" || e.Name == "." || e.Name == ".." || strings.Contains(e.Name, "/") {
			return fmt.Errorf("folder %q: %q is no name for a file", path, e.Name)
		}
		name := path + e.Name
		if err := l.count.Add(name, depth); err != nil {
			return err
		}
		if e.Mode == filemode.Dir {
			if err := l.folder(name+"/", depth+1, e.Hash); err != nil {
				return err
			}
			continue
		}
		if err := l.pack.budget.take(l.pack.ctx, cost(name, nil)); err != nil {
			return err
		}
		l.snapshot.entries[name] = entry{e.Mode, e.Hash}
	}
	return nil
}

// isFile reports whether an entry is a file, and neither a link nor a submodule.
func (e entry) isFile() bool { return e.mode != filemode.Symlink && e.mode != filemode.Submodule }

// matters returns the IDs of the files that may matter, each once.
func (l *loader) matters() []plumbing.Hash {
	set := map[plumbing.Hash]bool{}
	for name, e := range l.snapshot.entries {
		if e.isFile() && model.MayMatter(name) {
			set[e.hash] = true
		}
	}
	return slices.Collect(maps.Keys(set))
}

// contents adds the files, with those contents that are kept. Whether a file's
// content may be missing from what the server has sent is for leftOut to say.
func (l *loader) contents(p *pack, leftOut func(name string) bool) error {
	s := l.snapshot
	wanted := map[plumbing.Hash]bool{} // and whether they matter
	for name, e := range s.entries {
		if e.isFile() {
			wanted[e.hash] = wanted[e.hash] || model.MayMatter(name)
		}
	}
	kept := model.NewContentCache[plumbing.Hash]()
	sizes := make(map[plumbing.Hash]int64, len(wanted))
	err := p.each(plumbing.BlobObject, func(hash plumbing.Hash, size int64, content func() ([]byte, error)) (bool, error) {
		matters, ok := wanted[hash]
		if _, twice := sizes[hash]; twice || !ok {
			return false, nil
		}
		sizes[hash] = size
		if keep, err := kept.Admit(matters, size); err != nil || !keep {
			return false, err
		}
		data, err := content()
		kept.Keep(hash, matters, data)
		return true, err
	})
	if err != nil {
		return err
	}
	for name, e := range s.entries {
		if !e.isFile() {
			s.size += cost(name, nil)
			continue
		}
		if _, there := sizes[e.hash]; !there && !p.skipped && !leftOut(name) {
			return fmt.Errorf("file %s: %w", name, plumbing.ErrObjectNotFound)
		}
		data := kept.Get(e.hash, model.MayMatter(name))
		s.files[name] = data
		s.size += cost(name, data)
	}
	s.skipped = skipped(s.entries)
	return nil
}

// skipped returns the links and submodules among entries, sorted by path.
func skipped(entries map[string]entry) []model.Skipped {
	var all []model.Skipped
	for name, e := range entries {
		switch e.mode {
		case filemode.Symlink:
			all = append(all, model.Skipped{Path: name, What: model.SymbolicLink})
		case filemode.Submodule:
			all = append(all, model.Skipped{Path: name, What: model.Submodule})
		}
	}
	slices.SortFunc(all, func(a, b model.Skipped) int { return strings.Compare(a.Path, b.Path) })
	return all
}
