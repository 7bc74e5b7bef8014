// Package publish brings a forge to what a plan says: one branch, one commit
// and one pull request per environment, and one issue per assignment that
// could not be planned.
//
// Everything is found again on the forge itself, by the account that opened it
// and by a marker that a browser does not show (see marker), so that nothing
// is kept here: Apply can be interrupted anywhere and called again, and a
// second Apply of the same plan writes nothing. What users open is never
// touched, and what users decide holds until the plan changes:
//
//   - a pull request that a user closes stays closed while the plan is the
//     same; it counts as changed when nothing differed meanwhile
//   - an issue that a user closes stays closed while its findings are the
//     same; it is opened again when they change, or went and came back
//   - a mass deletion that a user releases stays released while it removes
//     the same assignments, whatever else the plan changes; any other mass
//     deletion, be it smaller, is held anew
//   - a draft that a user makes of the pull request stays one
//
// What an interruption leaves behind is always on the safe side: a hold is set
// before the branch holds what it is for, and taken off after that is gone.
package publish

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
)

// Action is what Apply did about the pull request.
type Action string

const (
	Nothing    Action = "nothing"     // nothing differs, and no pull request was open
	Opened     Action = "opened"      // a pull request was opened
	Updated    Action = "updated"     // the open pull request was brought up to date
	Unchanged  Action = "unchanged"   // the open pull request says and holds the plan
	Withdrawn  Action = "withdrawn"   // the pull request was closed: nothing differs any more, or see Withdraw
	LeftClosed Action = "left closed" // a user closed the pull request of this very plan
	Withheld   Action = "withheld"    // the plan is to be held, and the forge has no drafts: an issue says so
)

// Result is what Apply found and did.
type Result struct {
	Action      Action
	PullRequest *forge.PullRequest // the open one, or the one left closed
	Held        bool               // the pull request waits for a user to release a mass deletion
	Commit      string             // the commit that was made, "" when none was needed
	Issues      []forge.Issue      // the open ones of this environment, by number
	Writes      int                // how many changes were made on the forge
}

// Options are what Apply needs beside the plan.
type Options struct {
	Now func() time.Time // time.Now when nil
	// Base is the tree that the plan was made against, for a caller that has
	// it. One of another commit is not used.
	Base *model.Tree
	// Owner names the control plane that the plan is of. A pull request of
	// another's is left alone; "" takes any for its own.
	Owner string
	// Sources are the commits that the environment was read from, and ControlPlane is
	// the URL of those that go first.
	Sources      []model.Reference
	ControlPlane string
}

// Linker is what a forge.Forge can be besides: one that knows where a browser
// shows a line of a file. Then the texts link to what they speak of.
type Linker interface {
	// FileURL returns false for files of other forges.
	FileURL(at model.Position) (url string, ok bool)
	// CommitURL is where a browser shows a commit.
	CommitURL(cloneURL, commit string) (url string, ok bool)
}

// Viewer is what a forge.Forge can be besides: one whose lists of pull requests may
// be behind what it knows of each.
type Viewer interface {
	PullRequest(ctx context.Context, repo string, number int) (forge.PullRequest, error)
}

// Branch is the name of an environment's branch in its GitOps repository.
func Branch(environment string) string { return forge.BranchPrefix + environment }

// Apply publishes a plan. The pull request and the issues are independent: an
// error about the one does not keep the other from being brought up to date.
func Apply(ctx context.Context, f forge.Forge, p *plan.Plan, options Options) (Result, error) {
	if options.Now == nil {
		options.Now = time.Now
	}
	repo, ok := f.Repo(p.GitOps.Repo)
	if !ok {
		return Result{}, fmt.Errorf("publishing environment %s: GitOps repository %q is not on this forge", p.Environment, redact.URL(p.GitOps.Repo))
	}
	if p.GitOpsHead == "" {
		return Result{}, fmt.Errorf("publishing environment %s: branch %q of %s: %w", p.Environment, p.GitOps.Branch, repo, forge.ErrNotFound)
	}
	run := &publisher{forge: f, plan: p, repo: repo, branch: Branch(p.Environment), options: options, words: newWords(f), reason: withdrawnComment}
	run.sources = sourcesOf(options.Sources, options.ControlPlane)
	// the issues are asked for while the pull request is worked on: a forge
	// spends most of a call waiting for its disk and its database
	issues := later(func() ([]forge.Issue, error) { return f.Issues(ctx, repo) })
	defer func() { _, _ = issues() }() // nothing goes on after Apply has returned
	run.listed = issues
	err := run.pullRequest(ctx)
	if !errors.Is(err, errOthers) {
		err = errors.Join(err, run.issues(ctx))
	}
	if err != nil {
		err = fmt.Errorf("publishing environment %s: %w", p.Environment, err)
	}
	return run.result, err
}

// Withdraw closes the environment's open pull request for a reason that it
// comments with, whatever the plan says, and leaves the issues alone. What the
// GitOps branch holds stays.
func Withdraw(ctx context.Context, f forge.Forge, p *plan.Plan, options Options, reason string) (Result, error) {
	repo, ok := f.Repo(p.GitOps.Repo)
	if !ok || p.GitOpsHead == "" {
		return Result{Action: Nothing}, nil // there has been nowhere to open one
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	nothing := *p
	nothing.Changes = nil
	run := &publisher{forge: f, plan: &nothing, repo: repo, branch: Branch(p.Environment), options: options, words: newWords(f), reason: reason}
	err := run.pullRequest(ctx)
	if errors.Is(err, errOthers) {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("withdrawing the pull request of environment %s: %w", p.Environment, err)
	}
	return run.result, err
}

// errOthers is about an environment of the same name that another control plane
// publishes to the same branch. Each would undo the other's work for ever.
var errOthers = errors.New("an environment of another control plane")

// publisher is one Apply.
type publisher struct {
	forge   forge.Forge
	plan    *plan.Plan
	repo    string
	branch  string
	options Options
	words   words
	sources []string // what was planned
	reason  string   // to withdraw the pull request
	listed  func() ([]forge.Issue, error)
	pushed  bool // the branch may hold the plan
	result  Result
}

// later begins a call and returns what waits for its outcome.
func later[T any](call func() (T, error)) (wait func() (T, error)) {
	var value T
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		value, err = call()
	}()
	return func() (T, error) {
		<-done
		return value, err
	}
}
