package history

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/gofrs/flock"

	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

const (
	// cacheBytes is how much of a mirror's objects is kept in memory while it is read.
	cacheBytes = 16 << 20
	// lockLimit is how long another process may have a mirror.
	lockLimit = 4 * time.Minute
	// maxPacks is how many fetches a mirror holds. It is made anew then: each has an index of
	// its own, and all of them are looked into.
	maxPacks = 64
	// maxHave is how many commits the forge is told of, so that it sends only what is newer.
	maxHave = 256
)

// mirror is a bare copy of a repository with the branches that are followed. Who has it is the
// only one, of other processes, too. Its files hold no credentials.
type mirror struct {
	repo    string // clone URL
	dir     string
	lock    *flock.Flock
	storage *filesystem.Storage
	fresh   bool // it was made since it was opened
}

// damagedError is about what is in a mirror, which is made anew then.
type damagedError struct{ err error }

func (e *damagedError) Error() string { return "the mirror cannot be read: " + e.err.Error() }

func (e *damagedError) Unwrap() error { return e.err }

func damaged(err error) error {
	if err == nil {
		return nil
	}
	return &damagedError{err}
}

// withMirror opens the mirror of a repository and calls f with it, once more with one that was
// made anew where it cannot be read.
func (r *Reader) withMirror(ctx context.Context, repo string, f func(*mirror) error) (err error) {
	sum := sha256.Sum256([]byte(redact.URL(repo)))
	m := &mirror{repo: repo, dir: filepath.Join(r.Folder, hex.EncodeToString(sum[:16])+".git")}
	if err := os.MkdirAll(r.Folder, 0o700); err != nil {
		return fmt.Errorf("the folder of mirrors: %w", err)
	}
	m.lock = flock.New(m.dir+".lock", flock.SetPermissions(0o600))
	locked, cancel := context.WithTimeoutCause(ctx, lockLimit, fmt.Errorf("another process has it for more than %s", lockLimit))
	defer cancel()
	if _, err := m.lock.TryLockContext(locked, 50*time.Millisecond); err != nil {
		return fmt.Errorf("mirror %s of %s: %w", m.dir, redact.URL(repo), context.Cause(locked))
	}
	defer func() { err = errors.Join(err, m.close(), m.lock.Unlock()) }()
	err = m.use(f)
	var damage *damagedError
	if !errors.As(err, &damage) || ctx.Err() != nil {
		return err
	}
	r.Log.Warn("a mirror is made anew", "repository", redact.URL(repo), "reason", damage.err)
	if err := errors.Join(m.close(), os.RemoveAll(m.dir)); err != nil {
		return err
	}
	m.fresh = true
	return m.use(f)
}

// use opens the mirror and calls f. go-git panics on some files that are damaged.
func (m *mirror) use(f func(*mirror) error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = damaged(fmt.Errorf("%v", v))
		}
	}()
	if err := m.open(); err != nil {
		return err
	}
	return f(m)
}

// open opens what is there, or makes it. What a fetch that was cut off has left goes.
func (m *mirror) open() error {
	if err := os.MkdirAll(m.dir, 0o700); err != nil {
		return err
	}
	left, err := filepath.Glob(filepath.Join(m.dir, "objects", "pack", "tmp_pack_*"))
	if err != nil {
		return err
	}
	for _, file := range left {
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	m.storage = filesystem.NewStorageWithOptions(osfs.New(m.dir), cache.NewObjectLRU(cacheBytes), filesystem.Options{KeepDescriptors: true})
	if _, err := os.Stat(filepath.Join(m.dir, "HEAD")); err == nil {
		packs, err := m.storage.ObjectPacks()
		if err == nil && len(packs) > maxPacks {
			err = fmt.Errorf("it has %d packs", len(packs))
		}
		return damaged(err)
	}
	if _, err := git.Init(m.storage, nil); err != nil {
		return damaged(err)
	}
	return os.WriteFile(filepath.Join(m.dir, "description"), []byte(redact.URL(m.repo)+"\n"), 0o600)
}

func (m *mirror) close() error {
	if m.storage == nil {
		return nil
	}
	err := m.storage.Close()
	m.storage = nil
	return err
}

// fetch brings a branch to what the forge has, and returns its head.
func (m *mirror) fetch(ctx context.Context, from Forge, branch string) (plumbing.Hash, error) {
	have, err := m.have(branch)
	if err != nil {
		return plumbing.ZeroHash, damaged(err)
	}
	id, err := from.Fetch(ctx, m.repo, branch, have, m.storage)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	head := plumbing.NewHash(id)
	return head, m.storage.SetReference(plumbing.NewHashReference(reference(branch), head))
}

// reference is where a mirror has the head of a branch, "" for the default branch.
func reference(branch string) plumbing.ReferenceName {
	if branch == "" {
		return plumbing.NewRemoteHEADReferenceName("origin")
	}
	return plumbing.NewBranchReferenceName(branch)
}

// have are the heads of the branches, and of one the commits before its head: where that was
// pushed over, these are what the forge may still know.
func (m *mirror) have(branch string) ([]string, error) {
	references, err := m.storage.IterReferences()
	if err != nil {
		return nil, err
	}
	var all []string
	err = references.ForEach(func(ref *plumbing.Reference) error {
		if ref.Type() != plumbing.HashReference || len(all) >= maxHave {
			return nil
		}
		at, steps := ref.Hash(), 1
		if ref.Name() == reference(branch) {
			steps = maxHave
		}
		for range steps {
			commit, err := object.GetCommit(m.storage, at)
			if err != nil {
				return err
			}
			all = append(all, at.String())
			if len(commit.ParentHashes) == 0 {
				break
			}
			at = commit.ParentHashes[0]
		}
		return nil
	})
	return all, err
}

func (m *mirror) commit(id plumbing.Hash) (*object.Commit, error) {
	c, err := object.GetCommit(m.storage, id)
	return c, damaged(err)
}

// folder is what is in a folder, nothing for the zero ID.
func (m *mirror) folder(id plumbing.Hash) ([]object.TreeEntry, error) {
	if id.IsZero() {
		return nil, nil
	}
	t, err := object.GetTree(m.storage, id)
	if err != nil {
		return nil, damaged(err)
	}
	return t.Entries, nil
}

// content is that of a file, nil where it is larger than a file of a model. The forge has left
// that out.
func (m *mirror) content(id plumbing.Hash) (content []byte, err error) {
	blob, err := object.GetBlob(m.storage, id)
	switch {
	case errors.Is(err, plumbing.ErrObjectNotFound) && m.fresh:
		return nil, nil
	case err != nil:
		return nil, damaged(err)
	case blob.Size > model.MaxFile:
		return nil, nil
	}
	reader, err := blob.Reader()
	if err != nil {
		return nil, damaged(err)
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	content, err = io.ReadAll(reader)
	return content, damaged(err)
}
