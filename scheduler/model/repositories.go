package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
	"golang.org/x/sync/errgroup"
)

// maxParallelReads bounds how many repositories are read at a time.
const maxParallelReads = 8

// reads reads every repository at most once, so that all parts of an environment
// see the same commit of it even during a push.
type reads struct {
	reader Reader
	mu     sync.Mutex
	known  map[Reference]repository
	// reason words the errors for which a workload's repository is left out; nil
	// where they end the load.
	reason func(error) (what, hint string)

	kept    int // bytes of memory for workloads' repositories
	largest int // the size from which on none is kept, 0 for any
	// allowed returns how many bytes of workloads' repositories may be kept
	// where so many are wanted.
	allowed func(bytes int) int
}

// repository is what is known of one.
type repository struct {
	tree   *Tree // nil: does not exist, or has failed
	failed error // see leavesOut
	bytes  int   // of memory that count against those allowed
}

func newReads(r Reader, allowed func(int) int) *reads {
	return &reads{reader: r, known: map[Reference]repository{}, allowed: allowed}
}

// key drops from a reference what does not change which tree it names.
func key(ref Reference) Reference {
	ref.Path = ""
	return ref
}

// leavesOut reports whether an error of reading is about one repository, which is
// left out while all else is loaded. It is the same error when the repository is
// asked for again.
func (r *reads) leavesOut(ctx context.Context, err error) bool {
	if isInput(err) {
		return true
	}
	return r.reason != nil && err != nil && !errors.Is(err, ErrNotFound) && ctx.Err() == nil
}

// isInput reports whether an error is a mistake in the input and no failure.
func isInput(err error) bool {
	if _, ok := errors.AsType[*LimitError](err); ok {
		return true
	}
	_, ok := errors.AsType[*HostError](err)
	return ok
}

// read returns the tree that ref names, nil when it does not exist. Of one that
// is beyond a limit the error wraps a [LimitError], of one on a server that must
// not be asked a [HostError].
func (r *reads) read(ctx context.Context, ref Reference) (*Tree, error) {
	r.mu.Lock()
	known, found := r.known[key(ref)]
	r.mu.Unlock()
	if known.failed != nil {
		return nil, &readError{ref, known.failed}
	}
	if found {
		return known.tree, nil
	}
	tree, err := r.reader.Read(ctx, ref)
	if r.leavesOut(ctx, err) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.known[key(ref)] = repository{failed: err}
		return nil, &readError{ref, err}
	}
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
	r.known[key(ref)] = repository{tree: tree}
	return tree, nil
}

type readError struct {
	ref Reference
	err error
}

func (e *readError) Error() string { return redact.Text(fmt.Sprintf("reading %s: %v", e.ref, e.err)) }

func (e *readError) Unwrap() error { return e.err }

// prefetch reads many references in parallel, and keeps of them what is in their
// folders. It returns the first error that leaves out more than one repository.
func (r *reads) prefetch(ctx context.Context, refs []Reference) error {
	group, ctx := errgroup.WithContext(ctx)
	once := make([][]Reference, 0, len(refs)) // by repository, of which nearly all have one folder
	index := make(map[Reference]int, len(refs))
	for i, ref := range refs {
		if n, known := index[key(ref)]; known {
			once[n] = append(once[n], ref)
			continue
		}
		index[key(ref)] = len(once)
		once = append(once, refs[i:i+1:i+1])
	}
	var next atomic.Int64
	for range min(maxParallelReads, len(once)) {
		group.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(once) || ctx.Err() != nil {
					return ctx.Err()
				}
				tree, err := r.read(ctx, once[i][0])
				if err != nil && !r.leavesOut(ctx, err) {
					return err
				}
				if tree != nil {
					r.keep(tree, once[i])
				}
			}
		})
	}
	return group.Wait()
}

// keep keeps of a workloads' repository what is in some folders. Where all take more
// memory than allowed the largest are dropped, whatever the order of reading.
func (r *reads) keep(tree *Tree, folders []Reference) {
	ref := key(folders[0])
	part, size := narrowed(tree, folders)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known[ref] = repository{tree: part, bytes: size}
	r.kept += size
	allowed := r.allowed(r.kept)
	for r.kept > allowed || r.largest > 0 && size >= r.largest {
		gone := ref
		for other, known := range r.known {
			if most := r.known[gone].bytes; known.bytes > most || known.bytes == most && compareReferences(other, gone) > 0 {
				gone = other
			}
		}
		r.largest = r.known[gone].bytes
		r.kept -= r.largest
		r.known[gone] = repository{failed: &LimitError{
			What: "bytes of memory for the repositories of all workloads, of which it is one of the largest", Max: maxWorkloads,
			Hint: "register a folder that holds less", Commit: r.known[gone].tree.Commit,
		}}
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
func narrowed(tree *Tree, folders []Reference) (*Tree, int) {
	wanted := func(file string) bool {
		return path.Base(file) == ignoreFile || isYAML(file) && slices.ContainsFunc(folders, func(folder Reference) bool {
			return within(file, CleanFolder(folder.Path))
		})
	}
	all, size := 0, 0
	for file, content := range tree.Files {
		all += len(file) + len(content)
		if !wanted(file) {
			continue
		}
		size += len(file) + len(content)
		if mayHoldObjects(content) {
			size += indicators(content) * nodeBytes
		}
	}
	if all <= wholeTree {
		return tree, size + all
	}
	part := *tree
	part.Files = map[string][]byte{}
	for file, content := range tree.Files {
		if wanted(file) {
			part.Files[file] = content
		}
	}
	return &part, size
}

// leftOut is the diagnostic about a repository that cannot be read because of err.
func (r *reads) leftOut(ref Reference, err error, position Position) Diagnostic {
	if limit, ok := errors.AsType[*LimitError](err); ok {
		return errorAt(TooLarge, position, limit.Hint, "%s is too large: %s", ref, limit)
	}
	if host, ok := errors.AsType[*HostError](err); ok {
		if strings.Contains(ref.Repo, Placeholder) {
			return notFound(ref, position)
		}
		return errorAt(RefusedHost, position, host.hint(), "%s is not read: %s", ref, host)
	}
	what, hint := r.reason(err)
	return errorAt(UnreadableSource, position, hint, "%s cannot be read: %s", ref, what)
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

func notFound(ref Reference, position Position) Diagnostic {
	what := fmt.Sprintf("repository %s or its branch %s is not there", ref.Repo, ref.Branch)
	if ref.Commit != "" {
		what = fmt.Sprintf("repository %s or its commit %s is not there", ref.Repo, ref.Commit)
	}
	return errorAt(MissingReference, position, notFoundHint(ref), "%s", what)
}

func missingObject(kind string, branch Position, purpose string) Diagnostic {
	return errorAt(MissingObject, branch, fmt.Sprintf("add a %s; %s", kind, purpose), "there is no %s on this branch", kind)
}

// Pool is the memory that the Loaders of a process may take together for the
// repositories of their workloads. Each may have an equal share of it, and more while
// others take less, but for half a share that stays free for each. So the total is
// exceeded until those that have more than their share load again after a Loader has
// joined. The zero Pool is ready; several goroutines may use it.
type Pool struct {
	mu    sync.Mutex
	taken map[*Loader]int // bytes
}

// Join makes a Loader one of those that share the pool. It has not loaded yet.
func (p *Pool) Join(l *Loader) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken == nil {
		p.taken = map[*Loader]int{}
	}
	p.taken[l] = 0
	l.pool = p
}

// Leave gives back what a Loader has taken. It must not load any more.
func (p *Pool) Leave(l *Loader) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.taken, l)
}

// Exceeds says whether a Loader has more than its share while all have more
// than they may. It gives back what is too much when it loads again.
func (p *Pool) Exceeds(l *Loader) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	total := 0
	for _, bytes := range p.taken {
		total += bytes
	}
	return total > maxWorkloads && p.taken[l] > maxWorkloads/len(p.taken)
}

// take notes what a load has taken so far, as far as it may have it, and
// returns how much that is. Until the load has ended, what there is of the one
// before counts, too.
func (p *Pool) take(l *Loader, bytes int) int {
	if p == nil {
		return maxWorkloads
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	share := maxWorkloads / max(1, len(p.taken))
	allowed := maxWorkloads
	for other, taken := range p.taken {
		if other != l {
			allowed -= max(taken, share/2)
		}
	}
	allowed = max(allowed, share)
	p.taken[l] = max(p.taken[l], min(bytes, allowed))
	return allowed
}

// settle notes what is kept of a load that has ended.
func (p *Pool) settle(l *Loader, bytes int) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, joined := p.taken[l]; joined {
		p.taken[l] = bytes
	}
}
