// Package forgefake is a git forge in memory for tests. It keeps what a real
// one keeps (commits with their trees, branches, pull requests that follow
// their branch, issues, comments, labels, statuses), lets a test act as a
// user beside the scheduler, counts calls, and fails where a test says so.
//
// It refuses what real forges refuse: a text that is too long, a second open
// pull request between the same branches, a pull request from a branch that is
// not there.
package forgefake

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// Account is the scheduler's account on the forge.
const Account = "kalypso-bot"

// What the texts of pull requests, issues and comments may hold: the smallest
// limits of the forges there are, in characters.
const (
	MaxTitle = 250   // Gitea's 255, less the mark that it puts before a draft's; what is not ASCII counts twice
	MaxBody  = 65536 // GitHub's
)

const baseURL = "http://forge.test/"

// Forge is the forge. Its zero value is not usable; call New.
type Forge struct {
	mu    sync.Mutex
	repos map[string]*repository
	calls []Call
	fault fault
	amid  bool // the call that is carried out fails amid its effect
	watch func(Call)
	down  func(Call) error

	noDraft      error // what becomes of those that shall become drafts
	noDraftSaved bool
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

// Comment is a comment on an issue or a pull request.
type Comment struct {
	Author, Body string
}

var _ forge.Forge = (*Forge)(nil)

// New returns a forge without repositories.
func New() *Forge { return &Forge{repos: map[string]*repository{}} }

// URL is the clone URL of a repository of the forge.
func URL(repo string) string { return baseURL + repo + ".git" }

// Repo implements forge.Forge.
func (f *Forge) Repo(cloneURL string) (string, bool) {
	repo, ok := strings.CutPrefix(redact.URL(cloneURL), baseURL)
	return strings.TrimSuffix(strings.TrimSuffix(repo, "/"), ".git"), ok
}

// FileURL is where a browser shows a line of a file.
func (f *Forge) FileURL(at model.Position) (string, bool) {
	repo, ok := f.Repo(at.Repo)
	if !ok || at.File == "" {
		return "", false
	}
	url := baseURL + repo + "/src/branch/" + at.Branch + "/" + at.File
	if at.Line > 0 {
		url += fmt.Sprintf("#L%d", at.Line)
	}
	return url, true
}

// CommitURL is where a browser shows a commit.
func (f *Forge) CommitURL(cloneURL, commit string) (string, bool) {
	repo, ok := f.Repo(cloneURL)
	return baseURL + repo + "/commit/" + commit, ok
}

func (f *Forge) repo(name string) (*repository, error) {
	r, ok := f.repos[name]
	if !ok {
		return nil, fmt.Errorf("repository %s: %w", name, forge.ErrNotFound)
	}
	return r, nil
}

// call runs do as one call of the forge.
func (f *Forge) call(ctx context.Context, c Call, do func() error) error {
	f.mu.Lock()
	watch, down := f.watch, f.down
	f.mu.Unlock()
	if watch != nil {
		watch(c)
	}
	if down != nil {
		if err := down(c); err != nil {
			return fmt.Errorf("%s: %w", c, err)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	f.calls = append(f.calls, c)
	hit := f.fault.hits(c)
	if hit && f.fault.when == Before {
		return fmt.Errorf("%s: %w", c, ErrInjected)
	}
	f.amid = hit && f.fault.when == Amid
	err := do()
	if err == nil && hit {
		return fmt.Errorf("%s: %w", c, ErrInjected)
	}
	return err
}
