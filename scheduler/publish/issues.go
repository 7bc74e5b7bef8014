package publish

import (
	"context"
	"errors"
	"slices"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// issues brings the issues about single assignments up to date.
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
