package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
	"golang.org/x/sync/errgroup"
)

// maxParallelReads bounds how many repositories are read at a time.
const maxParallelReads = 8

// reads reads every repository at most once, so that all parts of an
// environment see the same commit of it even while somebody pushes.
type reads struct {
	reader Reader
	mu     sync.Mutex
	trees  map[Reference]*Tree // nil: does not exist
}

func newReads(r Reader) *reads {
	return &reads{reader: r, trees: map[Reference]*Tree{}}
}

// key drops from a reference what does not change which tree it names.
func key(ref Reference) Reference {
	ref.Path = ""
	return ref
}

// one returns the tree that ref names, nil when it does not exist.
func (r *reads) one(ctx context.Context, ref Reference) (*Tree, error) {
	r.mu.Lock()
	tree, known := r.trees[key(ref)]
	r.mu.Unlock()
	if known {
		return tree, nil
	}
	tree, err := r.reader.Read(ctx, ref)
	switch {
	case errors.Is(err, ErrNotFound):
		tree = nil
	case err != nil:
		return nil, &readError{ref, err}
	case tree == nil:
		return nil, fmt.Errorf("reading %s: the reader returned no tree", ref)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trees[key(ref)] = tree
	return tree, nil
}

// readError says that a repository could not be read.
type readError struct {
	ref Reference
	err error
}

func (e *readError) Error() string { return fmt.Sprintf("reading %s: %v", e.ref, e.err) }

func (e *readError) Unwrap() error { return e.err }

// ahead reads many references in parallel. It returns the first error.
func (r *reads) ahead(ctx context.Context, refs []Reference) error {
	group, ctx := errgroup.WithContext(ctx)
	once := make([]Reference, 0, len(refs))
	seen := make(map[Reference]bool, len(refs))
	for _, ref := range refs {
		if !seen[key(ref)] {
			seen[key(ref)] = true
			once = append(once, ref)
		}
	}
	var next atomic.Int64
	for range min(maxParallelReads, len(once)) {
		group.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(once) || ctx.Err() != nil {
					return ctx.Err()
				}
				if _, err := r.one(ctx, once[i]); err != nil {
					return err
				}
			}
		})
	}
	return group.Wait()
}

func reference(folder v1alpha1.RepositoryFolder) Reference {
	return Reference{Repo: folder.Repo, Branch: folder.Branch, Path: folder.Path}
}

func compareReferences(a, b Reference) int {
	return cmp.Or(
		cmp.Compare(a.Repo, b.Repo),
		cmp.Compare(a.Branch, b.Branch),
		cmp.Compare(a.Path, b.Path),
		cmp.Compare(a.Commit, b.Commit),
	)
}

// notFound reports a repository, branch or commit that does not exist.
func notFound(ref Reference, position Position) Diagnostic {
	what := fmt.Sprintf("repository %s or its branch %s is not there", ref.Repo, ref.Branch)
	if ref.Commit != "" {
		what = fmt.Sprintf("repository %s or its commit %s is not there", ref.Repo, ref.Commit)
	}
	return Diagnostic{
		Severity: Error,
		Position: position,
		Message:  what,
		Hint:     notFoundHint(ref),
	}
}

// missingObject reports that a branch has no object of a kind it must have.
func missingObject(kind string, branch Position, purpose string) Diagnostic {
	return Diagnostic{
		Severity: Error,
		Position: branch,
		Message:  fmt.Sprintf("there is no %s on this branch", kind),
		Hint:     fmt.Sprintf("add a %s; %s", kind, purpose),
	}
}
