package gitclient

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/memory"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/signing"
)

// construction is a commit that is ready to be sent.
type construction struct {
	store    *memory.Storage
	objects  []plumbing.Hash // those that the server may not have
	commit   plumbing.Hash
	snapshot *snapshot
}

// build makes the objects of a commit with the files of from, which is signed where there
// is a key. Without one it is a pure function: the same request on the same commits is the
// same commit.
func build(parent, from *snapshot, request forge.CommitRequest, key *signing.Key) (*construction, error) {
	c := &construction{store: memory.NewStorage()}
	after, err := c.apply(from, request.Changes)
	if err != nil {
		return nil, err
	}
	root, err := c.trees(from, after)
	if err != nil {
		return nil, err
	}
	if root == parent.root && !request.AllowEmpty {
		return nil, errors.New("the changes change nothing")
	}
	after.root = root
	who := object.Signature{Name: forge.AuthorName, Email: forge.AuthorEmail, When: request.When.UTC()}
	commit := &object.Commit{
		Author: who, Committer: who, Message: request.Message,
		TreeHash: root, ParentHashes: []plumbing.Hash{plumbing.NewHash(request.Parent)},
	}
	if err := sign(commit, key); err != nil {
		return nil, err
	}
	after.email = commit.Committer.Email
	if c.commit, err = c.add(commit); err != nil {
		return nil, err
	}
	c.snapshot = after
	return c, nil
}

// sign makes a commit that of a key's holder.
func sign(commit *object.Commit, key *signing.Key) error {
	if key == nil {
		return nil
	}
	commit.Author.Name, commit.Author.Email = key.Name, key.Email
	commit.Committer = commit.Author
	unsigned := &plumbing.MemoryObject{}
	if err := commit.EncodeWithoutSignature(unsigned); err != nil {
		return err
	}
	reader, err := unsigned.Reader()
	if err != nil {
		return err
	}
	content, err := io.ReadAll(reader)
	if err != nil {
		return err
	}
	commit.PGPSignature, err = key.Sign(content)
	return err
}

type encoder interface {
	Encode(plumbing.EncodedObject) error
}

// add stores an object that is to be sent.
func (c *construction) add(e encoder) (plumbing.Hash, error) {
	o := c.store.NewEncodedObject()
	if err := e.Encode(o); err != nil {
		return plumbing.ZeroHash, err
	}
	return c.addObject(o)
}

func (c *construction) addObject(o plumbing.EncodedObject) (plumbing.Hash, error) {
	if _, err := c.store.EncodedObject(plumbing.AnyObject, o.Hash()); err == nil {
		return o.Hash(), nil
	}
	hash, err := c.store.SetEncodedObject(o)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	c.objects = append(c.objects, hash)
	return hash, nil
}

// apply returns the parent's snapshot with the changes, and stores the new
// blobs. A file that exists keeps its mode.
func (c *construction) apply(parent *snapshot, changes []forge.Change) (*snapshot, error) {
	after := &snapshot{
		files:   maps.Clone(parent.files),
		entries: maps.Clone(parent.entries),
		trees:   map[plumbing.Hash]bool{},
		size:    parent.size,
	}
	for _, change := range changes {
		old, there := after.entries[change.Path]
		if there {
			after.size -= cost(change.Path, after.files[change.Path])
		}
		if change.Content == nil {
			delete(after.files, change.Path)
			delete(after.entries, change.Path)
			continue
		}
		hash, err := c.blob(change.Content)
		if err != nil {
			return nil, fmt.Errorf("file %s: %w", change.Path, err)
		}
		mode := old.mode
		if mode != filemode.Executable && mode != filemode.Deprecated {
			mode = filemode.Regular
		}
		after.entries[change.Path] = entry{mode, hash}
		after.files[change.Path] = slices.Clone(change.Content)
		after.size += cost(change.Path, change.Content)
	}
	after.skipped = skipped(after.entries)
	return after, nil
}

func (c *construction) blob(content []byte) (_ plumbing.Hash, err error) {
	o := c.store.NewEncodedObject()
	o.SetType(plumbing.BlobObject)
	w, err := o.Writer()
	if err != nil {
		return plumbing.ZeroHash, err
	}
	if _, err := w.Write(content); err != nil {
		return plumbing.ZeroHash, errors.Join(err, w.Close())
	}
	if err := w.Close(); err != nil {
		return plumbing.ZeroHash, err
	}
	return c.addObject(o)
}

// folder is a tree object in the making.
type folder struct {
	entries map[string]entry
	folders map[string]*folder
}

// trees stores the tree objects that the parent does not have and returns the
// root's hash.
func (c *construction) trees(parent, after *snapshot) (plumbing.Hash, error) {
	root := &folder{entries: map[string]entry{}, folders: map[string]*folder{}}
	for path, e := range after.entries {
		at := root
		parts := strings.Split(path, "/")
		for _, part := range parts[:len(parts)-1] {
			next, ok := at.folders[part]
			if !ok {
				next = &folder{entries: map[string]entry{}, folders: map[string]*folder{}}
				at.folders[part] = next
			}
			at = next
		}
		at.entries[parts[len(parts)-1]] = e
	}
	return c.tree(parent, after, root, "")
}

func (c *construction) tree(parent, after *snapshot, f *folder, path string) (plumbing.Hash, error) {
	tree := &object.Tree{}
	for name, sub := range f.folders {
		if _, ok := f.entries[name]; ok {
			return plumbing.ZeroHash, fmt.Errorf("path %s%s would be a file and a folder", path, name)
		}
		hash, err := c.tree(parent, after, sub, path+name+"/")
		if err != nil {
			return plumbing.ZeroHash, err
		}
		tree.Entries = append(tree.Entries, object.TreeEntry{Name: name, Mode: filemode.Dir, Hash: hash})
	}
	for name, e := range f.entries {
		tree.Entries = append(tree.Entries, object.TreeEntry{Name: name, Mode: e.mode, Hash: e.hash})
	}
	sort.Sort(object.TreeEntrySorter(tree.Entries))
	o := c.store.NewEncodedObject()
	if err := tree.Encode(o); err != nil {
		return plumbing.ZeroHash, err
	}
	after.trees[o.Hash()] = true
	if parent.trees[o.Hash()] {
		return o.Hash(), nil
	}
	return c.addObject(o)
}
