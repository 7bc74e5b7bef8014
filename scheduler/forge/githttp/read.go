package githttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/storage/memory"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

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

var fullID = regexp.MustCompile(`^[0-9a-f]{40}$`)

// Tree returns the files of a commit, or of the branch's head when commit is
// empty. A commit that was read before costs no request.
func (c *Client) Tree(ctx context.Context, remote Remote, branch, commit string) (*model.Tree, error) {
	s, commit, err := c.snapshot(ctx, remote, branch, commit)
	if err != nil {
		return nil, err
	}
	return &model.Tree{Repo: remote.URL, Branch: branch, Commit: commit, Files: s.files}, nil
}

func (c *Client) snapshot(ctx context.Context, remote Remote, branch, commit string) (*snapshot, string, error) {
	if commit != "" {
		if !fullID.MatchString(commit) {
			return nil, "", fmt.Errorf("commit %q of repository %s is not a full commit ID: %w", commit, remote.name(), forge.ErrNotFound)
		}
		if s := c.snapshots.get(key(remote, commit)); s != nil {
			return s, commit, nil
		}
	}
	if commit == "" {
		// Not shared: a read that is under way may have seen the branch before
		// the push that this one was called for.
		ctx, cancel := context.WithTimeout(ctx, Timeout)
		defer cancel()
		return c.fetch(ctx, remote, branch, commit)
	}
	type answer struct {
		s      *snapshot
		commit string
	}
	// Environments share repositories and wake together. The read is cut
	// loose from the caller that happened to be first, so that its giving up
	// does not fail the others.
	shared := c.reads.DoChan(key(remote, commit)+"\x00"+branch, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), Timeout)
		defer cancel()
		s, id, err := c.fetch(ctx, remote, branch, commit)
		return answer{s, id}, err
	})
	select {
	case <-ctx.Done():
		return nil, "", fmt.Errorf("reading repository %s: %w", remote.name(), context.Cause(ctx))
	case r := <-shared:
		if r.Err != nil {
			return nil, "", r.Err
		}
		a := r.Val.(answer)
		return a.s, a.commit, nil
	}
}

// fetch gets one commit without its history, where the server allows it.
func (c *Client) fetch(ctx context.Context, remote Remote, branch, commit string) (*snapshot, string, error) {
	session, refs, err := c.open(ctx, remote)
	if err != nil {
		return nil, "", err
	}
	want := plumbing.NewHash(commit)
	if commit == "" {
		if want, err = resolve(refs, remote.URL, branch); err != nil {
			return nil, "", err
		}
		if s := c.snapshots.get(key(remote, want.String())); s != nil {
			return s, want.String(), nil
		}
	}
	store := memory.NewStorage()
	wants, depth := []plumbing.Hash{want}, 1
	if !advertised(refs, want) && !allowsAnyCommit(refs) {
		wants, depth = tips(refs, branch), 0
	}
	if len(wants) == 0 {
		return nil, "", fmt.Errorf("commit %s of repository %s: %w", want, remote.name(), forge.ErrNotFound)
	}
	if err := download(ctx, session, refs, store, wants, depth); err != nil {
		if unknownObject(err) {
			err = forge.ErrNotFound
		}
		return nil, "", fmt.Errorf("commit %s: %w", want, remote.failure(ctx, err))
	}
	s, err := load(store, want)
	if errors.Is(err, plumbing.ErrObjectNotFound) && depth == 0 {
		err = forge.ErrNotFound
	}
	if err != nil {
		return nil, "", fmt.Errorf("commit %s of repository %s: %w", want, remote.name(), err)
	}
	c.snapshots.put(key(remote, want.String()), s)
	return s, want.String(), nil
}

// download asks for commits and stores what comes. Depth 0 brings the whole
// history.
func download(ctx context.Context, session transport.UploadPackSession, refs *packp.AdvRefs, store *memory.Storage, wants []plumbing.Hash, depth int) (err error) {
	request := packp.NewUploadPackRequestFromCapabilities(refs.Capabilities)
	request.Wants = wants
	if depth > 0 && refs.Capabilities.Supports(capability.Shallow) {
		request.Depth = packp.DepthCommits(depth)
		if err := request.Capabilities.Set(capability.Shallow); err != nil {
			return err
		}
	}
	if refs.Capabilities.Supports(capability.NoProgress) {
		if err := request.Capabilities.Set(capability.NoProgress); err != nil {
			return err
		}
	}
	response, err := session.UploadPack(ctx, request)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, response.Close()) }()
	var pack io.Reader = response
	switch {
	case request.Capabilities.Supports(capability.Sideband64k):
		pack = sideband.NewDemuxer(sideband.Sideband64k, response)
	case request.Capabilities.Supports(capability.Sideband):
		pack = sideband.NewDemuxer(sideband.Sideband, response)
	}
	return packfile.UpdateObjectStorage(store, pack)
}

func advertised(refs *packp.AdvRefs, commit plumbing.Hash) bool {
	for _, hash := range refs.References {
		if hash == commit {
			return true
		}
	}
	return refs.Head != nil && *refs.Head == commit
}

func allowsAnyCommit(refs *packp.AdvRefs) bool {
	return refs.Capabilities.Supports(capability.AllowReachableSHA1InWant)
}

// tips are the commits whose history is searched for one that cannot be asked
// for by its ID: the branch that it should be on, else every branch.
func tips(refs *packp.AdvRefs, branch string) []plumbing.Hash {
	if hash, ok := refs.References[plumbing.NewBranchReferenceName(branch).String()]; ok {
		return []plumbing.Hash{hash}
	}
	var all []plumbing.Hash
	seen := map[plumbing.Hash]bool{}
	for name, hash := range refs.References {
		if plumbing.ReferenceName(name).IsBranch() && !seen[hash] {
			seen[hash] = true
			all = append(all, hash)
		}
	}
	return all
}

// unknownObject recognises git's answer to a commit ID that it does not have.
// It has no code of its own.
func unknownObject(err error) bool {
	return strings.Contains(err.Error(), "not our ref")
}

// load turns the objects of a commit into a snapshot.
func load(store *memory.Storage, id plumbing.Hash) (*snapshot, error) {
	commit, err := object.GetCommit(store, id)
	if err != nil {
		return nil, err
	}
	s := &snapshot{root: commit.TreeHash, files: map[string][]byte{}, entries: map[string]entry{}, trees: map[plumbing.Hash]bool{commit.TreeHash: true}}
	root, err := object.GetTree(store, commit.TreeHash)
	if err != nil {
		return nil, err
	}
	walker := object.NewTreeWalker(root, true, nil)
	defer walker.Close()
	for {
		name, e, err := walker.Next()
		if errors.Is(err, io.EOF) {
			return s, nil
		}
		if err != nil {
			return nil, err
		}
		if e.Mode == filemode.Dir {
			s.trees[e.Hash] = true
			continue
		}
		s.entries[name] = entry{e.Mode, e.Hash}
		if e.Mode == filemode.Symlink || e.Mode == filemode.Submodule {
			continue
		}
		blob, err := store.EncodedObject(plumbing.BlobObject, e.Hash)
		if err != nil {
			return nil, fmt.Errorf("file %s: %w", name, err)
		}
		if s.files[name], err = content(blob); err != nil {
			return nil, fmt.Errorf("file %s: %w", name, err)
		}
		s.size += blob.Size() + int64(len(name)) + 100
	}
}

func content(blob plumbing.EncodedObject) (data []byte, err error) {
	r, err := blob.Reader()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return io.ReadAll(r)
}
