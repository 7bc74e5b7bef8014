// Package forge is what the scheduler needs of a git forge, and no more: read
// trees, make one commit, keep one pull request and a few issues up to date,
// set commit statuses.
//
// Implementations: forge/gitea, forge/github, and internal/testkit/forgefake for
// tests. A parameter called repo is a repository's "owner/name"; Forge.Repo makes
// it of the clone URL that platform models use.
//
// Every method may be called from several goroutines. Errors wrap ErrNotFound
// where the thing named does not exist; every other error means that nothing
// is known about it, and the caller must not conclude that it is absent.
//
// Methods that write either have their whole effect or, when they fail, may
// have had it: a caller that got an error looks again before it writes again.
package forge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// ErrNotFound is wrapped by errors about a repository, branch, commit, pull
// request or issue that does not exist. It is model.ErrNotFound, so that a
// Forge's Read is a model.Reader's.
var ErrNotFound = model.ErrNotFound

// ErrMoved is wrapped by Commit's error when the branch is not at the commit
// that the request expects any more.
var ErrMoved = errors.New("branch has moved")

// ErrNotYet is wrapped by the error of a client's Merge when the forge may merge
// the pull request in a moment: it is still working out whether it can.
var ErrNotYet = errors.New("the forge does not merge it yet")

// ErrQueued is wrapped by the error of a client's Merge when the forge merges the
// pull request itself, as soon as it has what the repository requires.
var ErrQueued = errors.New("the forge merges it when its requirements are met")

// ErrExists is wrapped by SavePullRequest's error when the pull request that it is
// to create is open already.
var ErrExists = errors.New("exists already")

// ErrNotDraft is wrapped by SavePullRequest's error when the forge refuses to
// make a draft of the pull request, and ErrNoDrafts when nothing in the
// repository can be one. Another error says nothing about drafts.
var (
	ErrNotDraft = errors.New("the pull request is no draft")
	ErrNoDrafts = fmt.Errorf("%w: the repository has no drafts", ErrNotDraft)
)

// Forge is one account's view of a git forge.
type Forge interface {
	model.Reader

	// Repo returns the "owner/name" of a clone URL, and false when the URL
	// is not one of this forge. It makes no request.
	Repo(cloneURL string) (repo string, ok bool)
	// Head returns the commit ID that a Read of ref would read, at the cost
	// of one small request at most. ref may be on another forge.
	Head(ctx context.Context, ref model.Reference) (commit string, err error)

	// Commit makes one commit on top of request.Parent and points
	// request.Branch to it, creating the branch when it is missing.
	Commit(ctx context.Context, repo string, request CommitRequest) (commit string, err error)
	// DeleteBranch removes a branch below BranchPrefix; a missing one is no
	// error.
	DeleteBranch(ctx context.Context, repo, branch string) error

	// PullRequests lists the pull requests from branch head to branch base:
	// all open ones, and of the closed and merged ones that this Forge's
	// account has opened at least the newest; newest first.
	PullRequests(ctx context.Context, repo, head, base string) ([]PullRequest, error)
	// SavePullRequest creates the pull request (Number 0) or brings an
	// existing one to the given title, body, draft state, labels and state,
	// Open or Closed. Labels are added before anything else changes and
	// removed after it. Without an error, what shall be an open draft is one on
	// the forge. A pull request that was saved, but is no draft, comes with the
	// error.
	SavePullRequest(ctx context.Context, repo string, pr PullRequest) (PullRequest, error)

	// Issues lists the issues that this Forge's account has opened, open and
	// closed, newest first.
	Issues(ctx context.Context, repo string) ([]Issue, error)
	// SaveIssue creates the issue (Number 0) or brings an existing one to the
	// given title, body and state.
	SaveIssue(ctx context.Context, repo string, issue Issue) (Issue, error)
	// Comment adds a comment to an issue or a pull request, unless the
	// newest comment there that this Forge's account wrote says the same.
	Comment(ctx context.Context, repo string, number int, body string) error

	// Statuses returns the newest status of every context of a commit,
	// sorted by context.
	Statuses(ctx context.Context, repo, commit string) ([]Status, error)
	// SetStatus sets the status of a commit in status.Context.
	SetStatus(ctx context.Context, repo, commit string, status Status) error
}

// State of a pull request or an issue.
type State string

const (
	Open   State = "open"
	Closed State = "closed"
	Merged State = "merged"
)

// The labels that the scheduler sets and takes off.
const (
	LabelPromoted   = "promoted"    // the pull request promotes a commit
	LabelMassDelete = "mass-delete" // the pull request is held until a user takes the label off
)

// ManagedLabels returns the labels that SavePullRequest takes off when a pull
// request does not list them. Every other label belongs to users.
func ManagedLabels() []string { return []string{LabelPromoted, LabelMassDelete} }

// LabelName is a label's name, spelled as above where it is one of these. To a
// forge, names that differ in case are one label; a hold whose label a repository
// spells otherwise would look released.
func LabelName(name string) string {
	for _, l := range ManagedLabels() {
		if strings.EqualFold(l, name) {
			return l
		}
	}
	return name
}

// PullRequest is a request to merge branch Head into branch Base.
type PullRequest struct {
	Number      int
	Title       string // without the forge's mark for drafts
	Body        string
	Head        string // branch
	HeadCommit  string
	Base        string   // branch
	Labels      []string // all of them when read; when saved, those that must be there
	State       State
	Draft       bool // the forge lets nobody merge it, and says so itself
	Author      string
	Own         bool   // this Forge's account opened it
	MergeCommit string // set when merged
	URL         string // for a browser

	// What only the forge sets, by its clock: Merged is zero for one that is not merged.
	Created, Merged time.Time
	// MergedBy is the account that has merged it. The lists of GitHub and of Gitea leave it
	// out; what reads one pull request has it.
	MergedBy string
}

// Issue is an issue of a repository.
type Issue struct {
	Number int
	Title  string
	Body   string
	State  State
	Author string
	URL    string // for a browser
}

// StatusState is the state of a commit status.
type StatusState string

const (
	Pending StatusState = "pending"
	Success StatusState = "success"
	Failure StatusState = "failure"
)

// Status is a commit status.
type Status struct {
	Context     string // e.g. "dev environment"
	State       StatusState
	Description string
	URL         string
}
