package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/memory"
	"github.com/kalypso-dev/kalypso/fixtures"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/promote"
)

// seedTime is the time of every first commit. With it, the same files make the
// same commit, so that a push that was cut off can simply be made again.
var seedTime = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

// A seed is a repository with what its branches begin with.
type seed struct {
	fixtures.Repository
	// promoted is the commit to record, see fixtures.Repository.Records.
	promoted plumbing.Hash
}

// seeds are those of repositories that may record each other's commits.
func seeds(repositories []fixtures.Repository) ([]seed, error) {
	all := make([]seed, len(repositories))
	for i, r := range repositories {
		all[i].Repository = r
		if r.Records == "" {
			continue
		}
		from := slices.IndexFunc(repositories, func(o fixtures.Repository) bool { return o.Name == r.Records })
		if from < 0 {
			return nil, fmt.Errorf("repository %s records %s, which is none", r.Name, r.Records)
		}
		commit, err := firstCommit(memory.NewStorage(), repositories[from].Branches[0])
		if err != nil {
			return nil, err
		}
		all[i].promoted = commit
	}
	return all, nil
}

// push sends the branches of a repository that the remote does not have yet,
// all in one push.
func push(ctx context.Context, url, user, token string, r seed) error {
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
	commits, err := firstCommits(store, r)
	if err != nil {
		return err
	}
	var specs []config.RefSpec
	for _, b := range r.Branches {
		name := plumbing.NewBranchReferenceName(b.Name)
		if slices.ContainsFunc(refs, func(ref *plumbing.Reference) bool { return ref.Name() == name }) {
			continue
		}
		if err := store.SetReference(plumbing.NewHashReference(name, commits[name])); err != nil {
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

// untouched tells whether a repository's folder holds nothing but first commits
// of its branches, or nothing at all.
func untouched(dir string, r seed) (bool, error) {
	store := filesystem.NewStorage(osfs.New(dir), cache.NewObjectLRUDefault())
	if _, err := store.Reference(plumbing.HEAD); err != nil {
		return false, fmt.Errorf("%s: %w", dir, err)
	}
	ours, err := firstCommits(memory.NewStorage(), r)
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

// firstCommits stores the first commits of every branch, and returns the last
// of them.
func firstCommits(store storer.EncodedObjectStorer, r seed) (map[plumbing.ReferenceName]plumbing.Hash, error) {
	commits := map[plumbing.ReferenceName]plumbing.Hash{}
	main := plumbing.NewBranchReferenceName(r.Branches[0].Name)
	for _, b := range r.Branches {
		name := plumbing.NewBranchReferenceName(b.Name)
		if b.OnTop != "" {
			base, ok := commits[plumbing.NewBranchReferenceName(b.OnTop)]
			if !ok {
				return nil, fmt.Errorf("branch %s: there is no branch %s before it", b.Name, b.OnTop)
			}
			commit, err := storeCommit(store, b, changeMessage(r, b.Name), base)
			if err != nil {
				return nil, fmt.Errorf("branch %s: %w", b.Name, err)
			}
			commits[name] = commit
			continue
		}
		commit, err := firstCommit(store, b)
		switch {
		case err != nil:
		case b.Pinned:
			commit, err = pinnedCommit(store, b, commit, commits[main])
		case r.Records != "" && name != main:
			commit, err = secondCommit(store, b, commit, r.promoted, plan.PromotedPath, []byte(r.promoted.String()+"\n"))
		}
		if err != nil {
			return nil, fmt.Errorf("branch %s: %w", b.Name, err)
		}
		commits[name] = commit
	}
	return commits, nil
}

// changeMessage is that of a branch's own commit: what its pull request is
// called, if it has one.
func changeMessage(r seed, branch string) string {
	for _, p := range r.PullRequests {
		if p.Head == branch {
			return p.Title + "\n"
		}
	}
	return "Start of " + branch + "\n"
}

// pinnedCommit makes an environment's branch take the first commit of the
// default branch: what is pushed there later reaches the environment by
// promotion only.
func pinnedCommit(store storer.EncodedObjectStorer, b fixtures.Branch, parent, main plumbing.Hash) (plumbing.Hash, error) {
	file, content, err := promote.Pin(&model.Tree{Branch: b.Name, Files: b.Files}, "", main.String())
	if err != nil {
		return plumbing.ZeroHash, err
	}
	return secondCommit(store, b, parent, main, file, content)
}

// secondCommit is what the promotion of a commit would have made.
func secondCommit(store storer.EncodedObjectStorer, b fixtures.Branch, parent, promoted plumbing.Hash, file string, content []byte) (plumbing.Hash, error) {
	files := map[string][]byte{file: content}
	for name, content := range b.Files {
		if name != file {
			files[name] = content
		}
	}
	b.Files = files
	return storeCommit(store, b, fmt.Sprintf("Promote %.7s to %s\n\n%[1]s\n", promoted, b.Name), parent)
}

// firstCommit stores a commit without parents that holds the branch's files.
func firstCommit(store storer.EncodedObjectStorer, b fixtures.Branch) (plumbing.Hash, error) {
	return storeCommit(store, b, "Start of "+b.Name+"\n")
}

func storeCommit(store storer.EncodedObjectStorer, b fixtures.Branch, message string, parents ...plumbing.Hash) (plumbing.Hash, error) {
	tree, err := storeTree(store, "", slices.Sorted(maps.Keys(b.Files)), b.Files)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	author := object.Signature{Name: "Kalypso", Email: "kalypso@localhost", When: seedTime}
	return storeObject(store, &object.Commit{
		Author:       author,
		Committer:    author,
		Message:      message,
		TreeHash:     tree,
		ParentHashes: parents,
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
