// Package publish brings a forge to what a plan says: one branch, one commit
// and one pull request per environment, and one issue per assignment that
// could not be planned.
//
// Everything is found again on the forge itself, by the account that opened it
// and by a marker that a browser does not show (see marker), so that nothing
// is kept here: Apply can be interrupted anywhere and called again, and a
// second Apply of the same plan writes nothing. What people open is never
// touched, and what people decide (closing the pull request, taking a label
// off, closing an issue) holds until the plan changes.
package publish

import (
	"context"
	"errors"
	"fmt"
	"time"

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
	Withdrawn  Action = "withdrawn"   // nothing differs any more: the pull request was closed
	LeftClosed Action = "left closed" // a person closed the pull request of this very plan
)

// Result tells what Apply found and did.
type Result struct {
	Action      Action
	PullRequest *forge.PullRequest // the open one, or the one left closed
	Held        bool               // the pull request waits for a person to release a mass deletion
	Commit      string             // the commit that was made, "" when none was needed
	Issues      []forge.Issue      // the open ones of this environment, by number
	Writes      int                // how many changes were made on the forge
}

// Options are what Apply needs beside the plan.
type Options struct {
	Now func() time.Time // time.Now when nil
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
		return Result{}, fmt.Errorf("publishing environment %s: GitOps repository %q is not on this forge", p.Environment, p.GitOps.Repo)
	}
	if p.GitOpsHead == "" {
		return Result{}, fmt.Errorf("publishing environment %s: branch %q of %s: %w", p.Environment, p.GitOps.Branch, repo, forge.ErrNotFound)
	}
	run := &publisher{forge: f, plan: p, repo: repo, branch: Branch(p.Environment), now: options.Now}
	// the issues are asked for while the pull request is worked on: a forge
	// spends most of a call waiting for its disk and its database
	issues := later(func() ([]forge.Issue, error) { return f.Issues(ctx, repo) })
	err := errors.Join(run.pullRequest(ctx), run.issues(ctx, issues))
	if err != nil {
		err = fmt.Errorf("publishing environment %s: %w", p.Environment, err)
	}
	return run.result, err
}

// publisher is one Apply.
type publisher struct {
	forge  forge.Forge
	plan   *plan.Plan
	repo   string
	branch string
	now    func() time.Time
	result Result
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

// pullRequest brings the branch and the pull request up to date.
func (r *publisher) pullRequest(ctx context.Context) error {
	present := later(func() (*model.Tree, error) {
		return r.forge.Read(ctx, model.Reference{Repo: r.plan.GitOps.Repo, Branch: r.branch})
	})
	defer func() { _, _ = present() }() // nothing goes on after Apply has returned
	base, err := r.forge.Read(ctx, model.Reference{Repo: r.plan.GitOps.Repo, Branch: r.plan.GitOps.Branch, Commit: r.plan.GitOpsHead})
	if err != nil {
		return err
	}
	list, err := r.forge.PullRequests(ctx, r.repo, r.branch, r.plan.GitOps.Branch)
	if err != nil {
		return err
	}
	todo := decide(r.plan, base.Files, list)
	r.result.Held = todo.held
	switch {
	case todo.conflict != nil:
		return fmt.Errorf("%s opened pull request #%d from the scheduler's branch %s: close it, so that the scheduler can open its own",
			todo.conflict.Author, todo.conflict.Number, r.branch)
	case todo.action == Withdrawn:
		return r.withdraw(ctx, todo.pr)
	case todo.action == Nothing, todo.action == LeftClosed:
		r.result.Action = todo.action
		if todo.action == LeftClosed {
			r.result.PullRequest = &todo.pr
		}
		return nil
	}
	return r.propose(ctx, base, present, todo)
}

// propose pushes the plan and opens or updates its pull request. An open pull
// request is saved before the push: when it is to be held, it is a draft by
// the time it holds the deletion.
func (r *publisher) propose(ctx context.Context, base *model.Tree, present func() (*model.Tree, error), todo decision) error {
	saved := todo.pr
	if todo.pr.Number != 0 && todo.save {
		var err error
		if saved, err = r.forge.SavePullRequest(ctx, r.repo, todo.pr); err != nil {
			return err
		}
		r.result.Writes++
	}
	if err := r.push(ctx, base, present, todo.pr.Title); err != nil {
		return err
	}
	if todo.pr.Number == 0 {
		var err error
		if saved, err = r.forge.SavePullRequest(ctx, r.repo, todo.pr); err != nil {
			return err
		}
		r.result.Writes++
	}
	r.result.PullRequest = &saved
	r.result.Action = todo.action
	if todo.action == Unchanged && r.result.Commit != "" {
		r.result.Action = Updated
	}
	return nil
}

// push makes the branch hold the plan's files, in one commit on top of the
// commit that was planned against, unless it does already.
func (r *publisher) push(ctx context.Context, base *model.Tree, branch func() (*model.Tree, error), message string) error {
	present, err := branch()
	if err != nil && !errors.Is(err, forge.ErrNotFound) {
		return err
	}
	request := forge.CommitRequest{Branch: r.branch, Parent: base.Commit, Message: message + "\n", When: r.now().UTC().Truncate(time.Second)}
	for _, c := range r.plan.Changes {
		request.Changes = append(request.Changes, forge.Change{Path: c.Path, Content: fileContent(c)})
	}
	if err == nil {
		if sameFiles(present.Files, applied(base.Files, r.plan.Changes)) {
			return nil
		}
		request.Expect = present.Commit
	}
	commit, err := r.forge.Commit(ctx, r.repo, request)
	if err != nil {
		return err
	}
	r.result.Commit = commit
	r.result.Writes++
	return nil
}

// withdraw closes a pull request whose plan has come to nothing. Its marker
// loses the digest, so that it does not look closed by a person when the same
// plan comes back.
func (r *publisher) withdraw(ctx context.Context, pr forge.PullRequest) error {
	if err := r.forge.Comment(ctx, r.repo, pr.Number, "Nothing is left to change: the branch holds what the platform model asks for. Closing."); err != nil {
		return err
	}
	if _, err := r.forge.SavePullRequest(ctx, r.repo, pr); err != nil {
		return err
	}
	if err := r.forge.DeleteBranch(ctx, r.repo, r.branch); err != nil {
		return err
	}
	r.result.Action = Withdrawn
	r.result.Writes += 3
	return nil
}
