package seed

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

func bareStore(dir string) *filesystem.Storage {
	return filesystem.NewStorage(osfs.New(dir), cache.NewObjectLRUDefault())
}

// bareCommits adds a commit to each branch in which addresses are replaced. A
// branch whose files have none stays as it is. The history is copied, too, into a
// store that has not got it.
func (r Repository) bareCommits(store storer.EncodedObjectStorer) (map[plumbing.ReferenceName]plumbing.Hash, error) {
	from := bareStore(r.Bare)
	commits := map[plumbing.ReferenceName]plumbing.Hash{}
	for _, b := range r.Branches {
		name := plumbing.NewBranchReferenceName(b.Name)
		ref, err := from.Reference(name)
		if err != nil {
			return nil, fmt.Errorf("branch %s: %w", b.Name, err)
		}
		if store.HasEncodedObject(ref.Hash()) != nil {
			if err := copyObjects(store, from); err != nil {
				return nil, err
			}
		}
		if commits[name], err = r.addressed(store, from, ref.Hash()); err != nil {
			return nil, fmt.Errorf("branch %s: %w", b.Name, err)
		}
	}
	return commits, nil
}

func copyObjects(to, from storer.EncodedObjectStorer) error {
	all, err := from.IterEncodedObjects(plumbing.AnyObject)
	if err != nil {
		return err
	}
	return all.ForEach(func(o plumbing.EncodedObject) error {
		_, err := to.SetEncodedObject(o)
		return err
	})
}

// addressed stores the commit in which addresses are replaced, and returns it.
func (r Repository) addressed(store, from storer.EncodedObjectStorer, head plumbing.Hash) (plumbing.Hash, error) {
	commit, err := object.GetCommit(from, head)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	tree, err := r.addressedTree(store, from, commit.TreeHash, "")
	if err != nil || tree == commit.TreeHash {
		return head, err
	}
	author := object.Signature{Name: AuthorName, Email: AuthorEmail, When: When}
	return storeObject(store, &object.Commit{
		Author: author, Committer: author, Message: AddressesMessage, TreeHash: tree, ParentHashes: []plumbing.Hash{head},
	})
}

// addressedTree stores a folder with the addresses in its files replaced, and
// returns it. What is neither file nor folder, a submodule or a link, stays.
func (r Repository) addressedTree(store, from storer.EncodedObjectStorer, hash plumbing.Hash, folder string) (plumbing.Hash, error) {
	tree, err := object.GetTree(from, hash)
	if err != nil {
		return plumbing.ZeroHash, fmt.Errorf("folder %q: %w", folder, err)
	}
	replaced := object.Tree{Entries: append([]object.TreeEntry{}, tree.Entries...)}
	changed := false
	for i, e := range tree.Entries {
		name := path.Join(folder, e.Name)
		switch e.Mode {
		case filemode.Dir:
			replaced.Entries[i].Hash, err = r.addressedTree(store, from, e.Hash, name)
		case filemode.Regular, filemode.Executable, filemode.Deprecated:
			replaced.Entries[i].Hash, err = r.addressedBlob(store, from, e.Hash)
		}
		if err != nil {
			return plumbing.ZeroHash, fmt.Errorf("%s: %w", name, err)
		}
		changed = changed || replaced.Entries[i].Hash != e.Hash
	}
	if !changed {
		return hash, nil
	}
	return storeObject(store, &replaced)
}

// maxAddressed is the size of the largest file that is looked into, in bytes.
const maxAddressed = 4 << 20

func (r Repository) addressedBlob(store, from storer.EncodedObjectStorer, hash plumbing.Hash) (plumbing.Hash, error) {
	// a size is known without the content, which may not fit into memory
	if size, err := from.EncodedObjectSize(hash); err != nil || size > maxAddressed {
		return hash, err
	}
	blob, err := object.GetBlob(from, hash)
	if err != nil {
		return hash, err
	}
	in, err := blob.Reader()
	if err != nil {
		return hash, err
	}
	data, err := io.ReadAll(in)
	if err = errors.Join(err, in.Close()); err != nil {
		return hash, err
	}
	replaced := r.addresses.Replace(data)
	if bytes.Equal(replaced, data) {
		return hash, nil
	}
	return storeBlob(store, replaced)
}
