package publish

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
)

// issues brings up to date the issues about single assignments, and the one about
// all else that is wrong with the platform model.
func (r *publisher) issues(ctx context.Context) error {
	present, err := r.listed()
	if err != nil {
		return err
	}
	steps, open := decideIssues(r.plan, present, r.words)
	for _, i := range present {
		switch {
		case i.State != forge.Open || !r.aboutHold(i):
		case slices.ContainsFunc(r.result.Issues, func(o forge.Issue) bool { return o.Number == i.Number }): // saved a moment ago
		case r.result.Action == Withheld || r.result.Action == "": // or it is not known
			open = append(open, i)
		default:
			i.State = forge.Closed
			steps = append(steps, issueStep{i, goneComment})
		}
	}
	r.result.Issues = append(r.result.Issues, open...)
	var errs []error
	for _, s := range steps {
		saved, err := r.issue(ctx, s)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if saved.State == forge.Open {
			r.result.Issues = append(r.result.Issues, saved)
		}
	}
	slices.SortFunc(r.result.Issues, func(a, b forge.Issue) int { return a.Number - b.Number })
	return errors.Join(errs...)
}

// issue carries out one step. The comment goes first: a closed issue is looked
// at no more, so that a comment after it would be lost when it fails.
func (r *publisher) issue(ctx context.Context, s issueStep) (forge.Issue, error) {
	if s.comment != "" {
		if err := r.forge.Comment(ctx, r.repo, s.issue.Number, s.comment); err != nil {
			return forge.Issue{}, err
		}
		r.result.Writes++
	}
	saved, err := r.forge.SaveIssue(ctx, r.repo, s.issue)
	if err != nil {
		return forge.Issue{}, err
	}
	r.result.Writes++
	return saved, nil
}

// issueStep is one issue to save, after a comment on it when there is one.
type issueStep struct {
	issue   forge.Issue // Number 0: to be opened
	comment string
}

const (
	goneComment  = "The problem is gone. Closing."
	againComment = "The problem is back."
)

func duplicateComment(number int) string { return fmt.Sprintf("This repeats #%d. Closing.", number) }

// decideIssues compares a plan's problems with the scheduler's issues, newest
// first. It returns what to do, and the open issues that need nothing.
//
// An assignment that is not in the plan has no problem any more, unless the
// plan is in doubt: then it may only not be read, and its issue stays as
// it is.
func decideIssues(p *plan.Plan, present []forge.Issue, words words) (steps []issueStep, open []forge.Issue) {
	known := map[pair][]forge.Issue{}
	for _, i := range present {
		if at, ok := issueAbout(i, p.Environment); ok {
			known[at] = append(known[at], i)
		}
	}
	failed := failures(p.Problems)
	planned := map[pair]bool{}
	for _, a := range p.Assignments {
		planned[pair{a.ClusterType, a.Target}] = true
	}
	all := slices.Collect(maps.Keys(failed))
	for at := range known {
		if _, ok := failed[at]; !ok {
			all = append(all, at)
		}
	}
	slices.SortFunc(all, comparePairs)
	for _, at := range all {
		if doubtful(p) && at != wholeModel && !planned[at] && len(failed[at]) == 0 {
			open = append(open, slices.DeleteFunc(known[at], func(i forge.Issue) bool { return i.State != forge.Open })...)
			continue
		}
		m := marker{kind: problemMarker, environment: p.Environment, clusterType: at.clusterType, target: at.target}
		s, o := decideIssue(m, at, failed[at], known[at], words)
		steps, open = append(steps, s...), append(open, o...)
	}
	return steps, open
}

// issueAbout returns the assignment that one of the scheduler's issues is
// about. One that has lost its marker, because a user has written over the
// text, is known by its title.
func issueAbout(i forge.Issue, environment string) (pair, bool) {
	if m := findMarker(i.Body, problemMarker); m.kind != "" {
		return pair{m.clusterType, m.target}, m.environment == environment
	}
	if i.Title == issueTitle(environment, wholeModel) {
		return wholeModel, true
	}
	in, at, ok := pairInTitle(i.Title)
	return at, ok && in == environment
}

// doubtful reports whether part of the platform model could not be read, so that
// what the plan does not have is not proven to be gone.
func doubtful(p *plan.Plan) bool {
	return p.Incomplete || slices.ContainsFunc(p.Problems, func(p plan.Problem) bool {
		return p.Reason == plan.InvalidModel && p.Severity == model.Error
	})
}

// wholeModel stands for what is wrong and about no single assignment.
var wholeModel = pair{}

// failures groups the problems by assignment, and those about no single one as
// wholeModel. An assignment with warnings alone has not failed.
func failures(problems []plan.Problem) map[pair][]plan.Problem {
	grouped := map[pair][]plan.Problem{}
	for _, p := range problems {
		at := pair{p.ClusterType, p.Target}
		switch {
		case p.ClusterType != "" && p.Target != "":
		case p.Severity == model.Warning: // what is wrong stands in the pull request, too
			continue
		default:
			at = wholeModel
		}
		grouped[at] = append(grouped[at], p)
	}
	maps.DeleteFunc(grouped, func(_ pair, list []plan.Problem) bool {
		return !slices.ContainsFunc(list, func(p plan.Problem) bool { return p.Severity != model.Warning })
	})
	return grouped
}

// decideIssue decides about one assignment, whose issues are known, newest
// first; m is the marker of an issue that speaks of no findings. One issue is
// kept; further open ones, which two schedulers may have made, are closed.
func decideIssue(m marker, at pair, problems []plan.Problem, known []forge.Issue, words words) (steps []issueStep, open []forge.Issue) {
	quiet := func(i forge.Issue) forge.Issue {
		i.State, i.Body = forge.Closed, m.replaceIn(i.Body)
		return i
	}
	digest := findingsDigest(problems)
	keep := kept(known, digest)
	for i, issue := range known {
		switch {
		case len(problems) > 0 && i != keep && issue.State == forge.Open:
			steps = append(steps, issueStep{quiet(issue), duplicateComment(known[keep].Number)})
		case len(problems) > 0:
		case issue.State == forge.Open:
			steps = append(steps, issueStep{quiet(issue), goneComment})
		case findMarker(issue.Body, problemMarker).sha256 != "":
			// a user closed it knowing the findings, which are gone now
			steps = append(steps, issueStep{issue: quiet(issue)})
		}
	}
	if len(problems) == 0 {
		return steps, nil
	}
	m.sha256 = digest
	want := forge.Issue{Title: issueTitle(m.environment, at), Body: words.issueBody(at, problems) + "\n" + m.String(), State: forge.Open}
	if keep < 0 {
		return append(steps, issueStep{issue: want}), nil
	}
	have := known[keep]
	want.Number, want.Author, want.URL = have.Number, have.Author, have.URL
	switch {
	case have.State == forge.Closed && findMarker(have.Body, problemMarker).sha256 == digest:
		return steps, nil // a user closed it knowing this
	case have.State == forge.Closed:
		return append(steps, issueStep{want, againComment}), nil
	case have.Title != want.Title || !sameText(have.Body, want.Body):
		return append(steps, issueStep{issue: want}), nil
	}
	return steps, append(open, have)
}

// kept returns the index of the issue that speaks for an assignment: the
// oldest that is open, since users know that one; else the one that a user
// has closed knowing these findings; else the newest; -1 when there is none.
func kept(known []forge.Issue, digest string) int {
	for i := len(known) - 1; i >= 0; i-- {
		if known[i].State == forge.Open {
			return i
		}
	}
	for i := range known {
		if findMarker(known[i].Body, problemMarker).sha256 == digest {
			return i
		}
	}
	return min(len(known), 1) - 1
}
