package controller

import (
	"context"
	"errors"
	"maps"
	"sync"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// sightings are the references that a run has read, each with the commit that
// it was at, "" when it did not exist and unknown when it could not be read.
// Their Path is empty. A reference with a commit never changes; it is here
// only when it did not exist.
type sightings map[model.Reference]string

// unknown is sighted where a read failed or goes on.
const unknown = "unknown"

func (s sightings) commit(ref model.Reference) string {
	ref.Path = ""
	return s[ref]
}

// witness is a forge that remembers what was read through it. It reads each
// branch once, so that all steps of a run see the same commit of it, and again
// only after it was written to.
type witness struct {
	forge.Forge

	mu    sync.Mutex
	seen  sightings
	trees map[model.Reference]*model.Tree
	bytes int // of the trees
}

// keptBytes bounds the contents that a run holds on to besides the forge's own
// cache. A tree that is over it is read by its commit when it is read again.
const keptBytes = 16 << 20

// Read implements model.Reader. The reference is sighted before it is read, so
// that a push during the read is known to concern the run.
func (w *witness) Read(ctx context.Context, ref model.Reference) (*model.Tree, error) {
	key := ref
	key.Path = ""
	w.mu.Lock()
	tree, known := w.trees[key]
	at := w.seen[key]
	w.mu.Unlock()
	if tree != nil {
		return tree, nil
	}
	if known && ref.Commit == "" {
		ref.Commit = at
		return w.Forge.Read(ctx, ref)
	}
	w.sight(key, unknown)
	tree, err := w.Forge.Read(ctx, ref)
	var limit *model.LimitError
	if err == nil {
		w.keep(key, tree)
	}
	switch {
	case err == nil && ref.Commit != "":
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.seen, key)
	case err == nil:
		w.sight(key, tree.Commit)
	case errors.Is(err, forge.ErrNotFound):
		w.sight(key, "")
	case errors.As(err, &limit) && limit.Commit != "":
		w.sight(key, limit.Commit)
	}
	return tree, err
}

// Commit implements forge.Forge. Whether it succeeds or not, branches may have
// moved.
func (w *witness) Commit(ctx context.Context, repo string, request forge.CommitRequest) (string, error) {
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.trees, w.bytes = nil, 0
	}()
	return w.Forge.Commit(ctx, repo, request)
}

func (w *witness) keep(key model.Reference, tree *model.Tree) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.trees == nil {
		w.trees = map[model.Reference]*model.Tree{}
	}
	size := 0
	for file, content := range tree.Files {
		size += len(file) + len(content)
	}
	if w.bytes+size > keptBytes {
		tree = nil
	} else {
		w.bytes += size
	}
	w.trees[key] = tree
}

func (w *witness) sight(key model.Reference, commit string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen == nil {
		w.seen = sightings{}
	}
	w.seen[key] = commit
}

// sightings returns what has been read so far.
func (w *witness) sightings() sightings {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := maps.Clone(w.seen)
	if seen == nil {
		seen = sightings{}
	}
	return seen
}
