package publish

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
)

const withdrawnComment = "Nothing is left to change: the branch holds what the platform model asks for. Closing."

// pullRequest brings the branch and the pull request up to date.
func (r *publisher) pullRequest(ctx context.Context) error {
	present := later(func() (*model.Tree, error) {
		return r.forge.Read(ctx, model.Reference{Repo: r.plan.GitOps.Repo, Branch: r.branch})
	})
	defer func() { _, _ = present() }() // nothing goes on after Apply has returned
	base, err := r.base(ctx)
	if err != nil {
		return err
	}
	list, err := r.forge.PullRequests(ctx, r.repo, r.branch, r.plan.GitOps.Branch)
	if err != nil {
		return err
	}
	after := applied(base.Files, r.plan.Changes)
	lost, _ := r.foreign(after, present) // the push needs the branch, and has the error
	kept := ""
	if lost != nil {
		kept = keptBranch(r.branch, lost.Commit)
	}
	todo := decide(r.plan, base.Files, after, list, r.options.Owner, kept, sourceField(r.sources), r.words)
	todo.lost = lost
	r.result.Held = todo.held
	switch todo.action {
	case conflicting:
		return fmt.Errorf("%s opened pull request #%d from the scheduler's branch %s: close it, so that the scheduler can open its own",
			todo.pr.Author, todo.pr.Number, r.branch)
	case others:
		return fmt.Errorf("pull request #%d is of %w, %s, which publishes to the same branch: give one of the two environments another name or another GitOps branch; if that control plane is gone, close the pull request",
			todo.pr.Number, errOthers, findMarker(todo.pr.Body, planMarker).owner)
	case Withdrawn:
		return r.withdraw(ctx, todo.pr, present)
	case LeftClosed:
		r.result.Action, r.result.PullRequest = LeftClosed, &todo.pr
		return nil
	case Nothing:
		r.result.Action = Nothing
		return r.settle(ctx, todo, present)
	}
	return r.propose(ctx, base, after, present, todo)
}

// base returns the tree that the plan was made against.
func (r *publisher) base(ctx context.Context) (*model.Tree, error) {
	if b := r.options.Base; b != nil && b.Commit == r.plan.GitOpsHead {
		return b, nil
	}
	return r.forge.Read(ctx, model.Reference{Repo: r.plan.GitOps.Repo, Branch: r.plan.GitOps.Branch, Commit: r.plan.GitOpsHead})
}

// propose pushes the plan and opens or updates its pull request. The pull
// request is saved after the push, so that its marker vouches for what the
// branch holds. One that is to be held is saved before it as well: only when the
// forge says that it is a draft, the branch gets the deletion.
//
// A commit of others on the branch is kept before anything else, and the pull request
// names where before the branch loses it.
func (r *publisher) propose(ctx context.Context, base *model.Tree, after map[string][]byte, present func() (*model.Tree, error), todo decision) (err error) {
	have := todo.have
	if todo.held && have == nil && r.hasHoldIssue(todo) {
		r.result.Action = Withheld
		return nil
	}
	if err := r.keep(ctx, todo.lost); err != nil {
		return err
	}
	if todo.held {
		if have == nil {
			if present, err = r.emptyBranch(ctx, base, present, todo); err != nil {
				return err
			}
		}
		if have == nil || differs(*have, todo.first) {
			if err := r.save(ctx, todo.first, &have); err != nil {
				return r.holdFailed(ctx, have, after, present, todo, err)
			}
		}
	}
	if err := r.report(ctx, todo, &have); err != nil {
		return err
	}
	if err := r.push(ctx, after, present, todo); err != nil {
		return err
	}
	if have == nil {
		if err := r.save(ctx, todo.first, &have); err != nil {
			return err
		}
	}
	if todo.have == nil {
		todo.pr.Number, todo.pr.URL, todo.pr.Author, todo.pr.Own = have.Number, have.URL, have.Author, have.Own
	}
	if differs(*have, todo.pr) {
		if err := r.save(ctx, todo.pr, &have); err != nil {
			if todo.held {
				return r.holdFailed(ctx, have, after, present, todo, err)
			}
			return err
		}
	}
	r.result.PullRequest = have
	r.result.Action = todo.action
	if todo.action == Unchanged && r.result.Writes > 0 {
		r.result.Action = Updated
	}
	return nil
}

// report says on the pull request that a commit of others is kept.
func (r *publisher) report(ctx context.Context, todo decision, have **forge.PullRequest) error {
	if todo.lost == nil {
		return nil
	}
	if *have == nil || differs(**have, todo.first) {
		if err := r.save(ctx, todo.first, have); err != nil {
			return err
		}
	}
	if err := r.forge.Comment(ctx, r.repo, (*have).Number, r.keptComment(todo.lost)); err != nil {
		return err
	}
	r.result.Writes++
	return nil
}

// save brings a pull request to what it shall be. With an error, have is as it
// was, unless the forge says what it is.
func (r *publisher) save(ctx context.Context, pr forge.PullRequest, have **forge.PullRequest) error {
	saved, err := r.forge.SavePullRequest(ctx, r.repo, pr)
	if pr.Number == 0 && errors.Is(err, forge.ErrExists) {
		saved, err = r.saveUnlisted(ctx, pr, err)
	}
	if saved.Number != 0 {
		*have = &saved
	}
	if err == nil {
		r.result.Writes++
	}
	return err
}

// saveUnlisted brings to what it shall be a pull request that the list did not have
// yet when it was to be opened.
func (r *publisher) saveUnlisted(ctx context.Context, pr forge.PullRequest, exists error) (forge.PullRequest, error) {
	list, err := r.forge.PullRequests(ctx, r.repo, pr.Head, pr.Base)
	if err != nil {
		return forge.PullRequest{}, err
	}
	open, _ := own(list)
	if open == nil || isOthers(*open, r.options.Owner) {
		return forge.PullRequest{}, exists
	}
	pr.Number = open.Number
	return r.forge.SavePullRequest(ctx, r.repo, pr)
}

// push makes the branch hold the plan's files, in one commit on top of the
// commit that was planned against, unless it does already.
func (r *publisher) push(ctx context.Context, after map[string][]byte, branch func() (*model.Tree, error), todo decision) error {
	present, err := branch()
	if err != nil && !errors.Is(err, forge.ErrNotFound) {
		return err
	}
	request := forge.CommitRequest{
		Branch: r.branch, Parent: r.plan.GitOpsHead, Message: r.message(todo.pr.Title), When: r.options.Now().UTC().Truncate(time.Second),
	}
	for _, c := range r.plan.Changes {
		request.Changes = append(request.Changes, forge.Change{Path: c.Path, Content: fileContent(c)})
	}
	if err == nil {
		if !todo.stale && sameFiles(present.Files, after) {
			r.pushed = true
			return nil
		}
		request.Expect = present.Commit
	}
	r.pushed = true // also when only the answer is lost
	commit, err := r.forge.Commit(ctx, r.repo, request)
	if err != nil {
		return err
	}
	r.result.Commit = commit
	r.result.Writes++
	return nil
}

// withdraw closes a pull request whose plan has come to nothing, or must not be
// carried out. Its marker loses the digest, so that it does not look closed by a user when the same
// plan comes back. The comment goes first: a closed pull request is looked at
// no more.
func (r *publisher) withdraw(ctx context.Context, pr forge.PullRequest, branch func() (*model.Tree, error)) error {
	if v, ok := r.forge.(Viewer); ok {
		switch now, err := v.PullRequest(ctx, r.repo, pr.Number); {
		case err != nil:
			return err
		case now.State != forge.Open: // a user was faster, and the list is behind
			r.result.Action = Nothing
			return nil
		}
	}
	reason := r.reason
	lost, err := r.foreign(nil, branch)
	if err == nil {
		err = r.keep(ctx, lost)
	}
	if err != nil {
		return err
	}
	if lost != nil {
		reason += " " + r.keptComment(lost)
	}
	if err := r.forge.Comment(ctx, r.repo, pr.Number, reason); err != nil {
		return err
	}
	r.result.Writes++
	have := &pr
	if err := r.save(ctx, pr, &have); err != nil {
		return err
	}
	if err := r.forge.DeleteBranch(ctx, r.repo, r.branch); err != nil {
		return err
	}
	r.result.Action = Withdrawn
	r.result.Writes++
	return nil
}

// settle finishes what is left of an earlier pull request where nothing is to
// be changed: the digest of one that a user has closed, see decide, and the
// branch of one that was withdrawn, when its removal was interrupted.
func (r *publisher) settle(ctx context.Context, todo decision, branch func() (*model.Tree, error)) error {
	if todo.forget {
		have := &todo.pr
		if err := r.save(ctx, todo.pr, &have); err != nil {
			return err
		}
	}
	if !todo.leftover {
		return nil
	}
	if _, err := branch(); errors.Is(err, forge.ErrNotFound) {
		return nil
	}
	lost, err := r.foreign(nil, branch)
	if err == nil {
		err = r.keep(ctx, lost)
	}
	if err != nil {
		return err
	}
	if err := r.forge.DeleteBranch(ctx, r.repo, r.branch); err != nil {
		return err
	}
	r.result.Writes++
	return nil
}

// Digest identifies a set of changes: two plans with the same digest do the
// same to the files.
func Digest(changes []plan.Change) string {
	sorted := slices.SortedFunc(slices.Values(changes), func(a, b plan.Change) int { return strings.Compare(a.Path, b.Path) })
	h := sha256.New()
	for _, c := range sorted {
		fmt.Fprintf(h, "%s %q %d\n", c.Action, c.Path, len(c.Content))
		h.Write(c.Content)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// applied returns files with changes made.
func applied(files map[string][]byte, changes []plan.Change) map[string][]byte {
	after := maps.Clone(files)
	if after == nil {
		after = map[string][]byte{}
	}
	for _, c := range changes {
		if c.Action == plan.Remove {
			delete(after, c.Path)
		} else {
			after[c.Path] = c.Content
		}
	}
	return after
}

// fileContent is a change's content as a commit wants it: nil only for a
// removal, so that an empty file stays one.
func fileContent(c plan.Change) []byte {
	switch {
	case c.Action == plan.Remove:
		return nil
	case c.Content == nil:
		return []byte{}
	}
	return c.Content
}

func sameFiles(a, b map[string][]byte) bool {
	return maps.EqualFunc(a, b, bytes.Equal)
}
