package controller

import (
	"context"
	"errors"
	"maps"
	"sync"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// readSet holds the references that a run has read, each with the commit that
// it was at, "" when it did not exist and unknown when it could not be read.
// Their Path is empty. A reference with a commit never changes; it is here
// only when it did not exist.
type readSet map[model.Reference]string

// unknown is the commit where a read failed or goes on.
const unknown = "unknown"

func (s readSet) commit(ref model.Reference) string {
	ref.Path = ""
	return s[ref]
}

// recordingReader is a forge that records what is read through it. It reads each
// branch once, so that all steps of a run see the same commit of it, and again
// only after it was written to.
type recordingReader struct {
	forge.Forge

	mu    sync.Mutex
	seen  readSet
	trees map[model.Reference]*model.Tree
	bytes int // of the trees
}

// keptBytes bounds the contents that a run holds on to besides the forge's own
// cache. A tree that is over it is read by its commit when it is read again.
const keptBytes = 16 << 20

// Read records the reference before it is read, so that a push during the read
// is known to concern the run.
func (r *recordingReader) Read(ctx context.Context, ref model.Reference) (*model.Tree, error) {
	key := ref
	key.Path = ""
	r.mu.Lock()
	tree, known := r.trees[key]
	at := r.seen[key]
	r.mu.Unlock()
	if tree != nil {
		return tree, nil
	}
	if known && ref.Commit == "" {
		ref.Commit = at
		return r.Forge.Read(ctx, ref)
	}
	r.record(key, unknown)
	tree, err := r.Forge.Read(ctx, ref)
	var limit *model.LimitError
	if err == nil {
		r.keep(key, tree)
	}
	switch {
	case err == nil && ref.Commit != "":
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.seen, key)
	case err == nil:
		r.record(key, tree.Commit)
	case errors.Is(err, forge.ErrNotFound):
		r.record(key, "")
	case errors.As(err, &limit) && limit.Commit != "":
		r.record(key, limit.Commit)
	}
	return tree, err
}

// Commit forgets the trees: whether it succeeds or not, branches may have moved.
func (r *recordingReader) Commit(ctx context.Context, repo string, request forge.CommitRequest) (string, error) {
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.trees, r.bytes = nil, 0
	}()
	return r.Forge.Commit(ctx, repo, request)
}

func (r *recordingReader) keep(key model.Reference, tree *model.Tree) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.trees == nil {
		r.trees = map[model.Reference]*model.Tree{}
	}
	size := 0
	for file, content := range tree.Files {
		size += len(file) + len(content)
	}
	if r.bytes+size > keptBytes {
		tree = nil
	} else {
		r.bytes += size
	}
	r.trees[key] = tree
}

func (r *recordingReader) record(key model.Reference, commit string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen = readSet{}
	}
	r.seen[key] = commit
}

// read returns what has been read so far.
func (r *recordingReader) read() readSet {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := maps.Clone(r.seen)
	if seen == nil {
		seen = readSet{}
	}
	return seen
}
