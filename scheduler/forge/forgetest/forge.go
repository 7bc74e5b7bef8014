// Package forgetest is a git forge in memory for tests. It keeps what a real
// one keeps (commits with their trees, branches, pull requests that follow
// their branch, issues, comments, labels, statuses), lets a test act as a
// person beside the scheduler, counts calls, and fails where a test says so.
package forgetest

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// Account is the scheduler's account on the forge.
const Account = "kalypso-bot"

const baseURL = "http://forge.test/"

// ErrInjected is the error of a call that a test made fail.
var ErrInjected = errors.New("injected fault")

// Forge is the forge. Its zero value is not usable; call New.
type Forge struct {
	// OnCall, when set, runs before every call and outside of the forge's
	// lock, so that it may block or use the forge.
	OnCall func(Call)

	mu    sync.Mutex
	repos map[string]*repository
	calls []Call
	fail  int // the call to fail, from 1; 0 for none
	late  bool
}

// Call is one call of a forge.Forge method.
type Call struct {
	Method string
	Repo   string
	Detail string
	Write  bool
}

func (c Call) String() string { return strings.TrimSpace(c.Method + " " + c.Repo + " " + c.Detail) }

type repository struct {
	commits  map[string]*commit
	branches map[string]string
	pulls    []*forge.PullRequest
	issues   []*forge.Issue
	number   int
	comments map[int][]Comment
	statuses map[string][]forge.Status
}

type commit struct {
	id, parent, message string
	files               map[string][]byte
}

// Comment is a comment on an issue or a pull request.
type Comment struct {
	Author, Body string
}

var _ forge.Forge = (*Forge)(nil)

// New returns a forge without repositories.
func New() *Forge { return &Forge{repos: map[string]*repository{}} }

// URL is the clone URL of a repository of the forge.
func URL(repo string) string { return baseURL + repo + ".git" }

// FailAt makes the n-th call from now fail with ErrInjected: before it has an
// effect or, when late is true, after it.
func (f *Forge) FailAt(n int, late bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls, f.fail, f.late = nil, n, late
}

// Calls returns the calls since New, FailAt or the last Calls.
func (f *Forge) Calls() []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := f.calls
	f.calls, f.fail = nil, 0
	return calls
}

// Writes returns those of Calls that write.
func (f *Forge) Writes() []Call {
	return slices.DeleteFunc(f.Calls(), func(c Call) bool { return !c.Write })
}

// call runs do as one call of the forge.
func (f *Forge) call(ctx context.Context, c Call, do func() error) error {
	if f.OnCall != nil {
		f.OnCall(c)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	f.calls = append(f.calls, c)
	hit := f.fail == len(f.calls)
	if hit && !f.late {
		return fmt.Errorf("%s: %w", c, ErrInjected)
	}
	err := do()
	if err == nil && hit {
		return fmt.Errorf("%s: %w", c, ErrInjected)
	}
	return err
}

func (f *Forge) repo(name string) (*repository, error) {
	r, ok := f.repos[name]
	if !ok {
		return nil, fmt.Errorf("repository %s: %w", name, forge.ErrNotFound)
	}
	return r, nil
}

// Repo implements forge.Forge.
func (f *Forge) Repo(cloneURL string) (string, bool) {
	repo, ok := strings.CutPrefix(cloneURL, baseURL)
	return strings.TrimSuffix(strings.TrimSuffix(repo, "/"), ".git"), ok
}

func (f *Forge) lookup(ref model.Reference) (*commit, error) {
	name, ok := f.Repo(ref.Repo)
	if !ok {
		return nil, fmt.Errorf("repository %s: %w", ref.Repo, forge.ErrNotFound)
	}
	r, err := f.repo(name)
	if err != nil {
		return nil, err
	}
	id := ref.Commit
	if id == "" {
		if id, ok = r.branches[ref.Branch]; !ok {
			return nil, fmt.Errorf("branch %s of %s: %w", ref.Branch, name, forge.ErrNotFound)
		}
	}
	c, ok := r.commits[id]
	if !ok {
		return nil, fmt.Errorf("commit %s of %s: %w", id, name, forge.ErrNotFound)
	}
	return c, nil
}

// Read implements model.Reader.
func (f *Forge) Read(ctx context.Context, ref model.Reference) (tree *model.Tree, err error) {
	err = f.call(ctx, Call{Method: "Read", Repo: ref.Repo, Detail: ref.Branch}, func() error {
		c, err := f.lookup(ref)
		if err == nil {
			tree = &model.Tree{Repo: ref.Repo, Branch: ref.Branch, Commit: c.id, Files: maps.Clone(c.files)}
		}
		return err
	})
	return tree, err
}

// Head implements forge.Forge.
func (f *Forge) Head(ctx context.Context, ref model.Reference) (head string, err error) {
	err = f.call(ctx, Call{Method: "Head", Repo: ref.Repo, Detail: ref.Branch}, func() error {
		c, err := f.lookup(ref)
		if err == nil {
			head = c.id
		}
		return err
	})
	return head, err
}

// Commit implements forge.Forge.
func (f *Forge) Commit(ctx context.Context, repo string, request forge.CommitRequest) (id string, err error) {
	err = f.call(ctx, Call{"Commit", repo, request.Branch, true}, func() error {
		if err := request.Validate(); err != nil {
			return err
		}
		r, err := f.repo(repo)
		if err != nil {
			return err
		}
		parent, ok := r.commits[request.Parent]
		if !ok {
			return fmt.Errorf("commit %s of %s: %w", request.Parent, repo, forge.ErrNotFound)
		}
		if request.Expect != "" && r.branches[request.Branch] != request.Expect {
			return fmt.Errorf("branch %s of %s: %w", request.Branch, repo, forge.ErrMoved)
		}
		files := maps.Clone(parent.files)
		for _, c := range request.Changes {
			if c.Content == nil {
				delete(files, c.Path)
			} else {
				files[c.Path] = slices.Clone(c.Content)
			}
		}
		id = r.commit(request.Branch, parent.id, request.Message+request.When.UTC().String(), files)
		return nil
	})
	return id, err
}

// commit stores a commit and moves a branch to it.
func (r *repository) commit(branch, parent, message string, files map[string][]byte) string {
	h := sha1.New()
	fmt.Fprintf(h, "%q %q\n", parent, message)
	for _, path := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(h, "%q %q\n", path, files[path])
	}
	id := hex.EncodeToString(h.Sum(nil))
	r.commits[id] = &commit{id: id, parent: parent, message: message, files: files}
	r.branches[branch] = id
	for _, p := range r.pulls {
		if p.State == forge.Open && p.Head == branch {
			p.HeadCommit = id
		}
	}
	return id
}

// DeleteBranch implements forge.Forge.
func (f *Forge) DeleteBranch(ctx context.Context, repo, branch string) error {
	return f.call(ctx, Call{"DeleteBranch", repo, branch, true}, func() error {
		if !forge.OwnBranch(branch) {
			return fmt.Errorf("branch %s is not the scheduler's", branch)
		}
		r, err := f.repo(repo)
		if err != nil {
			return err
		}
		r.deleteBranch(branch)
		return nil
	})
}

func (r *repository) deleteBranch(branch string) {
	delete(r.branches, branch)
	for _, p := range r.pulls {
		if p.State == forge.Open && p.Head == branch {
			p.State = forge.Closed
		}
	}
}
