package publish

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kalypso-dev/kalypso/internal/markdown"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
)

// hold says whether a plan that deletes most of what is there waits for a
// user.
type hold string

const (
	holdNone     hold = ""         // no mass deletion
	holdOpening  hold = "opening"  // as on, but the label may not be there yet
	holdOn       hold = "on"       // a draft, until a user takes the label off
	holdReleased hold = "released" // a user took the label off
)

// drafts reports whether the scheduler made the pull request a draft.
func (h hold) drafts() bool { return h == holdOpening || h == holdOn }

// fewRemovals is how many assignments a plan may remove without being held,
// whatever share of all they are.
const fewRemovals = 5

// holdOf decides about a plan by the open pull request, nil when there is
// none, and identifies what a hold is about. A release counts for the removals
// that the user saw: another plan that removes the very same assignments is
// not held again, and one that removes others is.
//
// Only a marker that says on makes a missing label a release. It is written
// when the label is known to be there, and says something else before the
// label is taken off, so that an interruption between the two releases
// nothing.
func holdOf(s summary, open *forge.PullRequest) (h hold, removals string) {
	if !s.massDelete() {
		return holdNone, ""
	}
	removals = pairsDigest(s.removed)
	if open == nil {
		return holdOn, removals
	}
	m := findMarker(open.Body, planMarker)
	if m.removals != removals {
		return holdOn, removals
	}
	if m.hold == holdReleased || m.hold == holdOn && !slices.Contains(open.Labels, forge.LabelMassDelete) {
		return holdReleased, removals
	}
	return holdOn, removals
}

// massDelete reports whether a plan removes more than half of all assignments
// that are there, and more than a few.
func (s summary) massDelete() bool {
	return len(s.removed) > fewRemovals && 2*len(s.removed) > s.existing
}

// Removals returns how many of the existing assignments a plan removes, and
// whether its pull request will be held for a user because these are most of
// them. Files are those that the plan was made against.
func Removals(p *plan.Plan, files map[string][]byte) (removed, of int, held bool) {
	s := summarize(p, files, applied(files, p.Changes))
	return len(s.removed), s.existing, s.massDelete()
}

// pairsDigest identifies a sorted list of assignments.
func pairsDigest(list []pair) string {
	h := sha256.New()
	for _, p := range list {
		fmt.Fprintf(h, "%q %q\n", p.clusterType, p.target)
	}
	return hex.EncodeToString(h.Sum(nil))
}

const (
	holdMarker = "hold"

	holdFailedComment = "This was to be held, and the forge does not make a draft of it. Closing, so that nobody merges it unaware."
)

// emptyBranch makes the branch of a pull request that is to be opened and held change
// nothing yet: it is opened for that, and gets the deletion when it is seen to
// be a draft. It returns what the branch holds then.
func (r *publisher) emptyBranch(ctx context.Context, base *model.Tree, branch func() (*model.Tree, error), todo decision) (func() (*model.Tree, error), error) {
	present, err := branch()
	if err != nil && !errors.Is(err, forge.ErrNotFound) {
		return nil, err
	}
	request := forge.CommitRequest{
		Branch: r.branch, Parent: r.plan.GitOpsHead, Message: todo.pr.Title + "\n", When: r.options.Now().UTC().Truncate(time.Second),
		AllowEmpty: true,
	}
	if err == nil {
		request.Expect = present.Commit
	}
	commit, err := r.forge.Commit(ctx, r.repo, request)
	if err != nil {
		return nil, err
	}
	r.result.Writes++
	empty := &model.Tree{Repo: r.plan.GitOps.Repo, Branch: r.branch, Commit: commit, Files: base.Files}
	return func() (*model.Tree, error) { return empty, nil }, nil
}

// holdFailed is what is done about a pull request that could not be held because of
// err; have is what is known of it, nil when it is not there. It is closed where
// it can be merged and its branch may hold the deletion, and where trying again
// is in vain: opening another as a draft is another way to have it held.
func (r *publisher) holdFailed(ctx context.Context, have *forge.PullRequest, after map[string][]byte, branch func() (*model.Tree, error), todo decision, err error) error {
	if have != nil && have.State == forge.Open && !have.Draft && (errors.Is(err, forge.ErrNotDraft) || todo.bared || r.holds(after, branch)) {
		closed := withdrawn(*have, r.plan.Environment, r.options.Owner)
		closed.State = forge.Closed
		if e := r.save(ctx, closed, &have); e != nil {
			return errors.Join(err, fmt.Errorf("closing what is not held: %w", e))
		}
		if e := r.forge.Comment(ctx, r.repo, closed.Number, holdFailedComment); e != nil {
			return errors.Join(err, e)
		}
		r.result.Writes++
	}
	if !errors.Is(err, forge.ErrNoDrafts) {
		return err
	}
	// the issue comes last: with it nothing is looked at any more
	e := r.forge.DeleteBranch(ctx, r.repo, r.branch)
	if e == nil {
		e = r.saveHoldIssue(ctx, todo, err)
	}
	if e != nil {
		return errors.Join(err, e)
	}
	return nil
}

// holds reports whether the branch holds the plan, as far as is known.
func (r *publisher) holds(after map[string][]byte, branch func() (*model.Tree, error)) bool {
	if r.pushed {
		return true
	}
	present, err := branch()
	if err != nil {
		return !errors.Is(err, forge.ErrNotFound)
	}
	return sameFiles(present.Files, after)
}

// hasHoldIssue reports whether an open issue says already that this mass deletion
// cannot be held. Where the issues are not known, it is tried.
func (r *publisher) hasHoldIssue(todo decision) bool {
	issues, err := r.listed()
	return err == nil && slices.ContainsFunc(issues, func(i forge.Issue) bool {
		return i.State == forge.Open && r.aboutHold(i) && findMarker(i.Body, holdMarker).removals == todo.removals
	})
}

// aboutHold reports whether an issue says that this environment's plan cannot be
// held.
func (r *publisher) aboutHold(i forge.Issue) bool {
	m := findMarker(i.Body, holdMarker)
	return m.kind != "" && m.environment == r.plan.Environment && m.owner == r.options.Owner
}

// saveHoldIssue opens the issue that says that a mass deletion cannot be held, and
// what to do about it. That a user closes it releases nothing.
func (r *publisher) saveHoldIssue(ctx context.Context, todo decision, reason error) error {
	issues, err := r.listed()
	if err != nil {
		return err
	}
	m := marker{kind: holdMarker, environment: r.plan.Environment, removals: todo.removals, owner: r.options.Owner}
	want := forge.Issue{
		State: forge.Open,
		Title: fitTitle(markdown.Title(fmt.Sprintf("Can't hold the removal of most assignments of environment %s", r.plan.Environment))),
		Body: fmt.Sprintf(`The platform model asks for the removal of most assignments of environment %s. That waits for a user, as a draft pull request, and the forge has none:

> %s

Until then nothing of this plan is proposed. One of these helps:

- have the forge make drafts; on GitHub that takes a public repository, or a plan with draft pull requests
- remove at most half of the assignments, or %d, at a time
- remove the folders by a pull request of your own

Close this issue to have it tried again.

%s`, markdown.Code(r.plan.Environment), message(reason.Error()), fewRemovals, m),
	}
	for _, i := range issues {
		if r.aboutHold(i) {
			want.Number = i.Number
			break
		}
	}
	saved, err := r.forge.SaveIssue(ctx, r.repo, want)
	if err != nil {
		return err
	}
	r.result.Writes++
	r.result.Action = Withheld
	r.result.Issues = append(r.result.Issues, saved)
	return nil
}
