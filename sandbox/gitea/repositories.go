package gitea

import (
	"errors"
	"fmt"
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
	"github.com/kalypso-dev/kalypso/fixtures/seed"
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
	ours, err := r.Commits(memory.NewStorage())
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
