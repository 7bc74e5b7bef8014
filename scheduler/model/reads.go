package model

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
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
	trees  map[Reference]*Tree // nil: does not exist, or is beyond a limit
	beyond map[Reference]*LimitError
	shares shares
}

func newReads(r Reader) *reads {
	return &reads{reader: r, trees: map[Reference]*Tree{}, beyond: map[Reference]*LimitError{}}
}

// key drops from a reference what does not change which tree it names.
func key(ref Reference) Reference {
	ref.Path = ""
	return ref
}

// one returns the tree that ref names, nil when it does not exist. Of one that
// is beyond a limit the error wraps a [LimitError].
func (r *reads) one(ctx context.Context, ref Reference) (*Tree, error) {
	r.mu.Lock()
	tree, known := r.trees[key(ref)]
	limit := r.beyond[key(ref)]
	r.mu.Unlock()
	if limit != nil {
		return nil, &readError{ref, limit}
	}
	if known {
		return tree, nil
	}
	tree, err := r.reader.Read(ctx, ref)
	switch {
	case errors.As(err, &limit):
		r.mu.Lock()
		defer r.mu.Unlock()
		r.beyond[key(ref)] = limit
		return nil, &readError{ref, err}
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

// ahead reads many references in parallel, and keeps of them what is in their
// folders. It returns the first error that is not about a limit.
func (r *reads) ahead(ctx context.Context, refs []Reference) error {
	group, ctx := errgroup.WithContext(ctx)
	once := make([]Reference, 0, len(refs))
	folders := make(map[Reference][]string, len(refs))
	for _, ref := range refs {
		if folders[key(ref)] == nil {
			once = append(once, ref)
		}
		folders[key(ref)] = append(folders[key(ref)], ref.Path)
	}
	var next atomic.Int64
	for range min(maxParallelReads, len(once)) {
		group.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(once) || ctx.Err() != nil {
					return ctx.Err()
				}
				tree, err := r.one(ctx, once[i])
				if err != nil && !errors.As(err, new(*LimitError)) {
					return err
				}
				if tree != nil {
					r.share(key(once[i]), tree, folders[key(once[i])])
				}
			}
		})
	}
	return group.Wait()
}

// shares are what is kept of repositories that others than the platform's own
// people write to.
type shares struct {
	bytes   map[Reference]int
	total   int
	largest int // the size from which on nothing is kept, 0 for none
}

// share keeps of a tree what is in some folders, and sees to it that all that
// are kept take no more than they may together. The largest give way, whatever
// the order in which they come.
func (r *reads) share(ref Reference, tree *Tree, folders []string) {
	part, size := narrowed(tree, folders)
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &r.shares
	if s.bytes == nil {
		s.bytes = map[Reference]int{}
	}
	if _, known := s.bytes[ref]; known {
		return
	}
	r.trees[ref], s.bytes[ref] = part, size
	s.total += size
	if s.largest == 0 && s.total <= maxWorkloads {
		return
	}
	for s.total > maxWorkloads || s.largest > 0 && size >= s.largest {
		gone := ref
		for other, bytes := range s.bytes {
			if bytes > s.bytes[gone] || bytes == s.bytes[gone] && compareReferences(other, gone) > 0 {
				gone = other
			}
		}
		r.beyond[gone] = &LimitError{
			What: "bytes of memory for the repositories of all workloads, of which it is one of the largest", Max: maxWorkloads,
			Hint: "register a folder that holds less", Commit: r.trees[gone].Commit,
		}
		s.largest = s.bytes[gone]
		s.total -= s.bytes[gone]
		r.trees[gone] = nil
		delete(s.bytes, gone)
		if gone == ref {
			return
		}
	}
}

// wholeTree is how many bytes of contents a tree may have that is kept as it
// is, so that it can be said where in it a Workload is.
const wholeTree = 1 << 20

// narrowed returns the part of a tree that is read from some folders, and about
// how much memory it takes once it is parsed.
func narrowed(tree *Tree, folders []string) (*Tree, int) {
	all, size := 0, 0
	files := map[string][]byte{}
	for file, content := range tree.Files {
		all += len(file) + len(content)
		wanted := path.Base(file) == ignoreFile
		for _, folder := range folders {
			wanted = wanted || within(file, cleanFolder(folder)) && isYAML(file)
		}
		if !wanted {
			continue
		}
		files[file] = content
		size += len(file) + len(content)
		if bytes.Contains(content, []byte(v1alpha1.Group)) {
			size += marks(content) * nodeBytes
		}
	}
	if all <= wholeTree {
		return tree, size + all
	}
	part := *tree
	part.Files = files
	return &part, size
}

// isBeyond returns what a repository is too large by, if that is what an error
// is about.
func isBeyond(err error) (*LimitError, bool) {
	var limit *LimitError
	return limit, errors.As(err, &limit)
}

// tooLarge reports a repository that is beyond a limit.
func tooLarge(ref Reference, limit *LimitError, position Position) Diagnostic {
	return Diagnostic{
		Severity: Error,
		Position: position,
		Message:  fmt.Sprintf("%s is too large: %s", ref, limit),
		Hint:     limit.Hint,
	}
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
