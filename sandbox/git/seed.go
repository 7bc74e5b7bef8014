package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	"github.com/go-git/go-git/v5/storage/memory"
	"github.com/kalypso-dev/kalypso/fixtures"
)

// seedTime is the time of every first commit. With it, the same files make the
// same commit, so that a push that was cut off can simply be made again.
var seedTime = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

// push sends the branches of a repository that the remote does not have yet,
// all in one push.
func push(ctx context.Context, url, user, token string, r fixtures.Repository) error {
	store := memory.NewStorage()
	repo, err := git.Init(store, nil)
	if err != nil {
		return err
	}
	auth := &githttp.BasicAuth{Username: user, Password: token}
	remote, err := repo.CreateRemote(&config.RemoteConfig{Name: "origin", URLs: []string{url}})
	if err != nil {
		return err
	}
	refs, err := remote.ListContext(ctx, &git.ListOptions{Auth: auth})
	if err != nil && !errors.Is(err, transport.ErrEmptyRemoteRepository) {
		return err
	}
	var specs []config.RefSpec
	for _, b := range r.Branches {
		name := plumbing.NewBranchReferenceName(b.Name)
		if slices.ContainsFunc(refs, func(ref *plumbing.Reference) bool { return ref.Name() == name }) {
			continue
		}
		commit, err := firstCommit(store, b)
		if err != nil {
			return fmt.Errorf("branch %s: %w", b.Name, err)
		}
		if err := store.SetReference(plumbing.NewHashReference(name, commit)); err != nil {
			return err
		}
		specs = append(specs, config.RefSpec(name+":"+name))
	}
	if len(specs) == 0 {
		return nil
	}
	err = remote.PushContext(ctx, &git.PushOptions{RemoteName: "origin", Auth: auth, RefSpecs: specs})
	if errors.Is(err, git.NoErrAlreadyUpToDate) {
		return nil
	}
	return err
}

// untouched tells whether the remote holds nothing but first commits of the
// repository's branches, or nothing at all.
func untouched(ctx context.Context, url, user, token string, r fixtures.Repository) (bool, error) {
	store := memory.NewStorage()
	remote := git.NewRemote(store, &config.RemoteConfig{Name: "origin", URLs: []string{url}})
	refs, err := remote.ListContext(ctx, &git.ListOptions{Auth: &githttp.BasicAuth{Username: user, Password: token}})
	if errors.Is(err, transport.ErrEmptyRemoteRepository) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	ours := map[plumbing.ReferenceName]plumbing.Hash{}
	for _, b := range r.Branches {
		commit, err := firstCommit(store, b)
		if err != nil {
			return false, fmt.Errorf("branch %s: %w", b.Name, err)
		}
		ours[plumbing.NewBranchReferenceName(b.Name)] = commit
	}
	for _, ref := range refs {
		if ref.Type() == plumbing.HashReference && ref.Name() != plumbing.HEAD && ref.Hash() != ours[ref.Name()] {
			return false, nil
		}
	}
	return true, nil
}

// firstCommit stores a commit without parents that holds the branch's files.
func firstCommit(store storer.EncodedObjectStorer, b fixtures.Branch) (plumbing.Hash, error) {
	names := make([]string, 0, len(b.Files))
	for name := range b.Files {
		names = append(names, name)
	}
	slices.Sort(names)
	tree, err := storeTree(store, "", names, b.Files)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	author := object.Signature{Name: "Kalypso", Email: "kalypso@localhost", When: seedTime}
	return storeObject(store, &object.Commit{
		Author:    author,
		Committer: author,
		Message:   "Start of " + b.Name + "\n",
		TreeHash:  tree,
	})
}

// storeTree stores the folder that holds the named files, which are sorted and
// all begin with prefix.
func storeTree(store storer.EncodedObjectStorer, prefix string, names []string, files map[string][]byte) (plumbing.Hash, error) {
	var t object.Tree
	for len(names) > 0 {
		rest := strings.TrimPrefix(names[0], prefix)
		first, _, isFolder := strings.Cut(rest, "/")
		if !isFolder {
			hash, err := storeBlob(store, files[names[0]])
			if err != nil {
				return plumbing.ZeroHash, err
			}
			t.Entries = append(t.Entries, object.TreeEntry{Name: first, Mode: fileMode(first), Hash: hash})
			names = names[1:]
			continue
		}
		folder := prefix + first + "/"
		n := slices.IndexFunc(names, func(s string) bool { return !strings.HasPrefix(s, folder) })
		if n < 0 {
			n = len(names)
		}
		hash, err := storeTree(store, folder, names[:n], files)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		t.Entries = append(t.Entries, object.TreeEntry{Name: first, Mode: filemode.Dir, Hash: hash})
		names = names[n:]
	}
	// git sorts folders as if their names ended in a slash
	slices.SortFunc(t.Entries, func(a, b object.TreeEntry) int { return cmp.Compare(sortName(a), sortName(b)) })
	return storeObject(store, &t)
}

func sortName(e object.TreeEntry) string {
	if e.Mode == filemode.Dir {
		return e.Name + "/"
	}
	return e.Name
}

func fileMode(name string) filemode.FileMode {
	if path.Ext(name) == ".sh" {
		return filemode.Executable
	}
	return filemode.Regular
}

func storeBlob(store storer.EncodedObjectStorer, content []byte) (plumbing.Hash, error) {
	o := store.NewEncodedObject()
	o.SetType(plumbing.BlobObject)
	w, err := o.Writer()
	if err != nil {
		return plumbing.ZeroHash, err
	}
	_, err = bytes.NewReader(content).WriteTo(w)
	if err = errors.Join(err, w.Close()); err != nil {
		return plumbing.ZeroHash, err
	}
	return store.SetEncodedObject(o)
}

func storeObject(store storer.EncodedObjectStorer, o interface {
	Encode(plumbing.EncodedObject) error
}) (plumbing.Hash, error) {
	e := store.NewEncodedObject()
	if err := o.Encode(e); err != nil {
		return plumbing.ZeroHash, err
	}
	return store.SetEncodedObject(e)
}
