package gitea

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/memory"
	"github.com/go-git/go-git/v5/storage/transactional"
	"github.com/kalypso-dev/kalypso/workshop/seed"
)

// writeBare makes a bare repository at dir with the first commits of all
// branches, on disk for good and in one step: a cut leaves it whole or absent.
// What is at dir is lost.
func writeBare(dir string, r seed.Repository) error {
	tmp := filepath.Join(filepath.Dir(dir), ".seed-"+filepath.Base(dir))
	if err := errors.Join(os.RemoveAll(tmp), os.RemoveAll(dir)); err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := fillBare(tmp, r); err != nil {
		return err
	}
	if err := syncTree(tmp); err != nil {
		return err
	}
	return os.Rename(tmp, dir)
}

func fillBare(dir string, r seed.Repository) error {
	if r.Bare != "" {
		return copyBare(dir, r)
	}
	made := memory.NewStorage()
	commits, err := r.Commits(made)
	if err != nil {
		return err
	}
	store := filesystem.NewStorage(osfs.New(dir), cache.NewObjectLRUDefault())
	if _, err := git.Init(store, nil); err != nil {
		return err
	}
	// one pack, since every file costs a wait for the disk
	pack, err := store.PackfileWriter()
	if err != nil {
		return err
	}
	hashes := slices.SortedFunc(maps.Keys(made.Objects), func(a, b plumbing.Hash) int { return slices.Compare(a[:], b[:]) })
	_, err = packfile.NewEncoder(pack, made, false).Encode(hashes, 0)
	if err := errors.Join(err, pack.Close()); err != nil {
		return fmt.Errorf("pack: %w", err)
	}
	return setBranches(store, r, commits)
}

// copyBare makes a bare repository with the history of another.
func copyBare(dir string, r seed.Repository) error {
	store := filesystem.NewStorage(osfs.New(dir), cache.NewObjectLRUDefault())
	if _, err := git.Init(store, nil); err != nil {
		return err
	}
	if err := copyObjects(filepath.Join(dir, "objects"), filepath.Join(r.Bare, "objects")); err != nil {
		return fmt.Errorf("copy %s: %w", r.Bare, err)
	}
	shallow, err := os.ReadFile(filepath.Join(r.Bare, "shallow"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "shallow"), shallow, 0o600)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// another storage: this one has listed the packs already
	store = filesystem.NewStorage(osfs.New(dir), cache.NewObjectLRUDefault())
	commits, err := r.Commits(store)
	if err != nil {
		return err
	}
	return setBranches(store, r, commits)
}

func copyObjects(to, from string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == from {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		in, err := os.Open(path)
		if err != nil {
			return err
		}
		defer in.Close()
		out, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, in)
		return errors.Join(err, out.Close())
	})
}

func setBranches(store storer.ReferenceStorer, r seed.Repository, commits map[plumbing.ReferenceName]plumbing.Hash) error {
	for name, commit := range commits {
		if err := store.SetReference(plumbing.NewHashReference(name, commit)); err != nil {
			return err
		}
	}
	main := plumbing.NewBranchReferenceName(r.Branches[0].Name)
	return store.SetReference(plumbing.NewSymbolicReference(plumbing.HEAD, main))
}

// syncTree waits until a folder's files and names are on disk.
func syncTree(dir string) error {
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		return errors.Join(f.Sync(), f.Close())
	})
}

// untouched reports whether a repository's folder holds nothing but first commits
// of its branches, or nothing at all.
func untouched(dir string, r seed.Repository) (bool, error) {
	store := filesystem.NewStorage(osfs.New(dir), cache.NewObjectLRUDefault())
	if _, err := store.Reference(plumbing.HEAD); err != nil {
		return false, fmt.Errorf("%s: %w", dir, err)
	}
	made := storer.EncodedObjectStorer(memory.NewStorage())
	if r.Bare != "" {
		// the history is there, and need not be copied to be compared
		made = transactional.NewStorage(store, memory.NewStorage())
	}
	ours, err := r.Commits(made)
	if err != nil {
		return false, err
	}
	refs, err := store.IterReferences()
	if err != nil {
		return false, fmt.Errorf("%s: %w", dir, err)
	}
	defer refs.Close()
	all := true
	err = refs.ForEach(func(ref *plumbing.Reference) error {
		if ref.Type() == plumbing.HashReference && ref.Hash() != ours[ref.Name()] {
			all = false
			return storer.ErrStop
		}
		return nil
	})
	return all, err
}
