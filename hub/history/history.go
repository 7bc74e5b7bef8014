// Package history reads what git says should run, at every commit of the branches that
// placements follow, and writes it to the hub's store.
//
// A GitOps branch says which deployment target is assigned to which cluster type, and which
// branch of an application's repository that follows; the DeploymentDescriptors of that branch
// say which version it is. Commits are numbered along first parents, so that "has this commit or
// a later one" compares two numbers. A branch that was pushed with force is numbered anew, in the
// next epoch, and the epochs before stay in the store: git may have forgotten them.
//
// Repositories are read from mirrors on the disk, which are fetched with the forge's own client
// and credentials. A [Reader] reads new commits only, and writes them in parts, each of them whole
// or not at all: what ends in the middle goes on there. All but the epochs before the newest can
// be read again, which [Reader.Verify] does to compare.
package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"golang.org/x/sync/errgroup"

	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/internal/addresses"
	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

const (
	// commitsEach is how many commits are written at once, and rowsEach how many assignments
	// and versions at about.
	commitsEach = 500
	rowsEach    = 5000
	// branchesAtOnce is how many applications' branches are read at a time.
	branchesAtOnce = 4
)

// Forge is where repositories are fetched from: a controller.Repositories.
type Forge interface {
	// Fetch is that of gitclient.Client.
	Fetch(ctx context.Context, cloneURL, branch string, have []string, into gitclient.Storage) (head string, err error)
}

// Reader reads the histories of branches.
type Reader struct {
	Store  *store.Store
	Forge  Forge
	Folder string // of the mirrors; made when it is missing
	// Addresses are replaced in files, as the forge's client does.
	Addresses *addresses.Replacer
	Log       *slog.Logger
}

// Heads has the head of a branch, "" where it is not known, and whether to ask for it then.
type Heads func(repo, branch string) (head string, ask bool)

// Branch is a branch that is followed.
type Branch struct {
	Repo  string // clone URL
	Name  string
	Roots []string // folders of environments; none for a branch of an application
}

// Result is what became of a branch that was read.
type Result struct {
	Repo   string `json:"repo"` // without credentials
	Branch string `json:"branch"`
	Epoch  int    `json:"epoch"`
	// Commits are all of the epoch, and New those that were not in the store before.
	Commits int    `json:"commits"`
	New     int    `json:"new"`
	Error   string `json:"error,omitempty"`

	err    error
	former bool // nothing that is still assigned follows it
}

// Read brings the store to what the forge has: the GitOps branches of environments, whose paths
// are the environments' folders, and the branches of applications that their assignments follow,
// or did. What cannot be read stays as it was, with the reason; the error has those of the
// branches that are followed now. current says which head a branch is known to have, "" where
// that is not known, and whether it is to be asked for then; what is known is asked for when the
// store is not there. Nil asks for all.
func (r *Reader) Read(ctx context.Context, environments []model.Reference, current Heads) ([]Result, error) {
	known, err := r.known(ctx)
	if err != nil {
		return nil, err
	}
	var results []Result
	read := func(branches []Branch, atOnce int) {
		var group errgroup.Group
		group.SetLimit(atOnce)
		var mu sync.Mutex
		for _, b := range branches {
			group.Go(func() error {
				result := r.branch(ctx, b, known[b.key()], current)
				mu.Lock()
				defer mu.Unlock()
				results = append(results, result)
				return nil
			})
		}
		_ = group.Wait() // each branch has its own error
	}
	platforms := platformBranches(environments)
	read(platforms, 1)
	followed, former, err := r.applications(ctx, platforms)
	if err != nil {
		return results, err
	}
	read(followed, branchesAtOnce)
	now := len(results)
	read(former, branchesAtOnce)
	for i := range results[now:] {
		results[now+i].former = true
	}
	reasons := map[[2]string]string{}
	var failed []error
	for _, one := range results {
		reasons[[2]string{one.Repo, one.Branch}] = one.Error
		if one.err != nil && !one.former {
			failed = append(failed, one.err)
		}
	}
	slices.SortFunc(results, func(a, b Result) int { return cmp.Or(cmp.Compare(a.Repo, b.Repo), cmp.Compare(a.Branch, b.Branch)) })
	if ctx.Err() != nil {
		return results, context.Cause(ctx)
	}
	return results, errors.Join(append(failed, r.Store.FailHistories(ctx, time.Now(), reasons))...)
}

// key is how the store names a branch.
func (b Branch) key() [2]string { return [2]string{redact.URL(b.Repo), b.Name} }

// known are the histories that the store has.
func (r *Reader) known(ctx context.Context) (map[[2]string]store.History, error) {
	all, err := r.Store.Histories(ctx)
	known := map[[2]string]store.History{}
	for _, h := range all {
		known[[2]string{h.Repo, h.Branch}] = h
	}
	return known, err
}

// platformBranches are the GitOps branches of environments, each once.
func platformBranches(environments []model.Reference) []Branch {
	var all []Branch
	for _, ref := range environments {
		root := model.CleanFolder(ref.Path)
		i := slices.IndexFunc(all, func(b Branch) bool { return b.key() == Branch{Repo: ref.Repo, Name: ref.Branch}.key() })
		if i < 0 {
			all = append(all, Branch{Repo: ref.Repo, Name: ref.Branch, Roots: []string{root}})
		} else if !slices.Contains(all[i].Roots, root) {
			all[i].Roots = append(all[i].Roots, root)
		}
	}
	return all
}

// applications are the branches that assignments follow, and those that only former ones did.
func (r *Reader) applications(ctx context.Context, platforms []Branch) (followed, former []Branch, err error) {
	still := map[[2]string]bool{}
	for _, p := range platforms {
		all, err := r.Store.FollowedBranches(ctx, redact.URL(p.Repo), p.Name)
		if err != nil {
			return nil, nil, err
		}
		for key, now := range all {
			still[key] = still[key] || now
		}
	}
	for _, p := range platforms {
		delete(still, p.key())
	}
	for key, now := range still {
		if b := (Branch{Repo: key[0], Name: key[1]}); now {
			followed = append(followed, b)
		} else {
			former = append(former, b)
		}
	}
	return followed, former, nil
}

// branch reads one branch.
func (r *Reader) branch(ctx context.Context, b Branch, was store.History, current Heads) Result {
	result := Result{Repo: redact.URL(b.Repo), Branch: b.Name, Epoch: was.Epoch.Epoch, Commits: was.Length, Error: was.Error}
	lacks := was.Epoch.Epoch == 0 || slices.ContainsFunc(b.Roots, func(root string) bool { return was.Roots[root] < was.Length })
	if current != nil && !lacks {
		head, ask := current(b.Repo, b.Name)
		if head == "" && !ask || head != "" && head == was.Head && was.Error == "" {
			return result
		}
	}
	result.Error = ""
	result.err = r.withMirror(ctx, b.Repo, func(m *mirror) error {
		head, err := m.fetch(ctx, r.Forge, b.Name)
		if err != nil {
			return err
		}
		return r.update(ctx, m, b, head)
	})
	if isAbsent := errors.Is(result.err, forge.ErrNotFound); result.err != nil {
		result.err = redact.Error(fmt.Errorf("history of branch %s of %s: %w", b.Name, result.Repo, result.err))
		result.Error = result.err.Error()
		if isAbsent && was.Length == 0 && len(b.Roots) > 0 {
			result.err = nil // an environment's first pull request makes its branch
		}
	}
	now, err := r.history(ctx, b)
	if err != nil {
		result.err = errors.Join(result.err, err)
	}
	result.Epoch, result.Commits = now.Epoch.Epoch, now.Length
	result.New = now.Length
	if now.Epoch.Epoch == was.Epoch.Epoch {
		result.New -= was.Length
	}
	return result
}

// history is what the store has of a branch.
func (r *Reader) history(ctx context.Context, b Branch) (store.History, error) {
	known, err := r.known(ctx)
	return known[b.key()], err
}

// update brings the store to the head of a branch.
func (r *Reader) update(ctx context.Context, m *mirror, b Branch, head plumbing.Hash) error {
	h, err := r.history(ctx, b)
	if err != nil {
		return err
	}
	fresh, kept, err := r.newer(ctx, m, b, h, head)
	if err != nil {
		return err
	}
	if kept < h.Length {
		r.Log.Info("a branch was pushed with force: its commits are numbered anew", "repository", h.Repo, "branch", b.Name, "kept", kept, "had", h.Length)
		rewritten := store.HistoryPart{Repo: h.Repo, Branch: b.Name, Epoch: h.Epoch.Epoch, After: h.Length, Rewritten: true, Kept: kept, Read: time.Now()}
		if err := r.Store.ApplyHistory(ctx, rewritten); err != nil {
			return err
		}
		if h, err = r.history(ctx, b); err != nil {
			return err
		}
	}
	w, err := r.newWalk(ctx, m, b, h)
	if err != nil {
		return err
	}
	return w.run(ctx, fresh)
}

// newer are the commits of a branch that the store does not have, the oldest first, and how many
// of those that it has are the branch's still.
func (r *Reader) newer(ctx context.Context, m *mirror, b Branch, h store.History, head plumbing.Hash) (fresh []plumbing.Hash, kept int, err error) {
	defer func() { slices.Reverse(fresh) }()
	for at, done := head, false; !done; {
		var part []string
		for len(part) < commitsEach && !done {
			if at.String() == h.Head {
				return fresh, h.Length, nil
			}
			c, err := m.commit(at)
			if err != nil {
				return nil, 0, err
			}
			fresh, part = append(fresh, at), append(part, at.String())
			if done = len(c.ParentHashes) == 0; !done {
				at = c.ParentHashes[0]
			}
		}
		if err := context.Cause(ctx); err != nil {
			return nil, 0, err
		}
		if h.Length == 0 {
			continue
		}
		numbers, err := r.Store.SeqOf(ctx, h.Repo, b.Name, part)
		if err != nil {
			return nil, 0, err
		}
		for i, id := range part {
			if n, known := numbers[id]; known {
				return fresh[:len(fresh)-len(part)+i], n, nil
			}
		}
	}
	return fresh, 0, nil
}

// walk goes through the commits of a branch.
type walk struct {
	r           *Reader
	m           *mirror
	b           Branch
	epoch       int
	length      int // of what is in the store
	last        plumbing.Hash
	assignments []*assignments
	versions    *versions
}

func (r *Reader) newWalk(ctx context.Context, m *mirror, b Branch, h store.History) (*walk, error) {
	w := &walk{r: r, m: m, b: b, epoch: h.Epoch.Epoch, length: h.Length, last: plumbing.NewHash(h.Head)}
	var err error
	if w.versions, err = r.newVersions(ctx, m, b, h.Length, w.last); err != nil {
		return nil, err
	}
	for _, root := range b.Roots {
		length, commit := h.Roots[root], plumbing.ZeroHash
		if length > 0 {
			at, err := r.Store.Commits(ctx, h.Repo, b.Name, length, length)
			if err != nil {
				return nil, err
			}
			if len(at) == 1 {
				commit = plumbing.NewHash(at[0].SHA)
			}
		}
		a, err := r.newAssignments(ctx, m, b, root, length, commit)
		if err != nil {
			return nil, err
		}
		w.assignments = append(w.assignments, a)
	}
	return w, nil
}

// run reads the commits that the store has and a folder was not read of, then those that it does
// not have.
func (w *walk) run(ctx context.Context, fresh []plumbing.Hash) error {
	begin := w.length
	for _, a := range w.assignments {
		begin = min(begin, a.length)
	}
	for from := begin + 1; from <= w.length; from += commitsEach {
		known, err := w.r.Store.Commits(ctx, redact.URL(w.b.Repo), w.b.Name, from, min(from+commitsEach-1, w.length))
		if err != nil {
			return err
		}
		for _, one := range known {
			c, err := w.m.commit(plumbing.NewHash(one.SHA))
			if err != nil {
				return err
			}
			if err := w.step(c, one.Seq); err != nil {
				return err
			}
		}
		if err := w.write(ctx, nil); err != nil {
			return err
		}
	}
	var commits []store.Commit
	for i, id := range fresh {
		c, err := w.m.commit(id)
		if err != nil {
			return err
		}
		if err := w.step(c, w.length+len(commits)+1); err != nil {
			return err
		}
		if err := w.versions.step(c.TreeHash); err != nil {
			return err
		}
		commits = append(commits, commitOf(c))
		if len(commits) < commitsEach && w.rows() < rowsEach && i < len(fresh)-1 {
			continue
		}
		if err := w.write(ctx, commits); err != nil {
			return err
		}
		commits = commits[:0]
	}
	return nil
}

// step reads the assignments of a commit below the folders that were read up to it.
func (w *walk) step(c *object.Commit, number int) error {
	for _, a := range w.assignments {
		if a.length != number-1 {
			continue
		}
		folder, err := w.m.folderIn(c.TreeHash, a.root)
		if err != nil {
			return err
		}
		if err := a.step(folder); err != nil {
			return err
		}
	}
	return nil
}

// rows is about how many are to be written.
func (w *walk) rows() int {
	n := len(w.versions.changed)
	for _, a := range w.assignments {
		n += len(a.changed)
	}
	return n
}

func (w *walk) write(ctx context.Context, commits []store.Commit) error {
	part := store.HistoryPart{
		Repo: redact.URL(w.b.Repo), Branch: w.b.Name, Epoch: w.epoch, After: w.length, Commits: commits, Roots: map[string]int{},
		Versions: w.versions.flushed(), Read: time.Now(),
	}
	for _, a := range w.assignments {
		part.Desired = append(part.Desired, a.flushed()...)
		part.Roots[a.root] = a.length
	}
	if err := w.r.Store.ApplyHistory(ctx, part); err != nil {
		return err
	}
	w.epoch, w.length = max(w.epoch, 1), w.length+len(commits)
	return nil
}

// merged is how forges name in a subject the pull request that a commit comes from.
var merged = regexp.MustCompile(`^Merge pull request (?:#(\d+) |'.*' \(#(\d+)\) )|\(#(\d+)\)$`)

func commitOf(c *object.Commit) store.Commit {
	one := store.Commit{SHA: c.Hash.String(), Author: c.Author.Name, Subject: forge.Subject(c.Message), Committed: c.Committer.When.UTC()}
	if year := one.Committed.Year(); year < 1 || year > 9999 { // which JSON has no form for
		one.Committed = time.Time{}
	}
	if found := merged.FindStringSubmatch(one.Subject); found != nil {
		one.PullRequest, _ = strconv.Atoi(found[1] + found[2] + found[3])
	}
	return one
}
