package publish

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
)

// issues brings the issues about single assignments up to date.
func (r *publisher) issues(ctx context.Context, listed func() ([]forge.Issue, error)) error {
	present, err := listed()
	if err != nil {
		return err
	}
	steps, open := decideIssues(r.plan, present)
	r.result.Issues = open
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

// decideIssues compares a plan's problems with the scheduler's issues, newest
// first. It returns what to do, and the open issues that need nothing.
//
// An assignment that is not in the plan has no problem any more, unless part
// of the model could not be understood: then it may be in that part, and its
// issue stays as it is.
func decideIssues(p *plan.Plan, present []forge.Issue) (steps []issueStep, open []forge.Issue) {
	known := map[pair][]forge.Issue{}
	for _, i := range present {
		if m := findMarker(i.Body, problemMarker); m.kind != "" && m.environment == p.Environment {
			at := pair{m.clusterType, m.target}
			known[at] = append(known[at], i)
		}
	}
	failed := failures(p.Problems)
	planned := map[pair]bool{}
	for _, a := range p.Assignments {
		planned[pair{a.ClusterType, a.Target}] = true
	}
	doubtful := slices.ContainsFunc(p.Problems, func(p plan.Problem) bool {
		return p.Reason == plan.InvalidModel && p.Severity == model.Error
	})
	all := slices.Collect(maps.Keys(failed))
	for at := range known {
		if _, ok := failed[at]; !ok {
			all = append(all, at)
		}
	}
	slices.SortFunc(all, comparePairs)
	for _, at := range all {
		if doubtful && !planned[at] && len(failed[at]) == 0 {
			for _, i := range known[at] {
				if i.State == forge.Open {
					open = append(open, i)
				}
			}
			continue
		}
		s, o := decideIssue(p.Environment, at, failed[at], known[at])
		steps, open = append(steps, s...), append(open, o...)
	}
	return steps, open
}

// failures groups the problems about single assignments. An assignment with
// warnings alone has not failed.
func failures(problems []plan.Problem) map[pair][]plan.Problem {
	grouped := map[pair][]plan.Problem{}
	for _, p := range problems {
		if p.ClusterType != "" && p.Target != "" {
			at := pair{p.ClusterType, p.Target}
			grouped[at] = append(grouped[at], p)
		}
	}
	maps.DeleteFunc(grouped, func(_ pair, list []plan.Problem) bool {
		return !slices.ContainsFunc(list, func(p plan.Problem) bool { return p.Severity != model.Warning })
	})
	return grouped
}

// decideIssue decides about one assignment. Its newest issue is the one that
// is kept; further open ones, which two schedulers may have made, are closed.
func decideIssue(environment string, p pair, problems []plan.Problem, known []forge.Issue) (steps []issueStep, open []forge.Issue) {
	m := marker{kind: problemMarker, environment: environment, clusterType: p.clusterType, target: p.target}
	closing := func(i forge.Issue, comment string) issueStep {
		i.State, i.Body = forge.Closed, m.replaceIn(i.Body)
		return issueStep{i, comment}
	}
	keep := keeper(known)
	for i := range known {
		if i != keep && known[i].State == forge.Open {
			steps = append(steps, closing(known[i], fmt.Sprintf("Closing in favour of #%d.", known[keep].Number)))
		}
	}
	if len(problems) == 0 {
		if keep >= 0 && known[keep].State == forge.Open {
			steps = append(steps, closing(known[keep], goneComment))
		}
		return steps, nil
	}
	m.sha256 = findingsDigest(problems)
	want := forge.Issue{
		Title: fmt.Sprintf("Can't generate manifests for deployment target %s in cluster type %s in %s environment", p.target, p.clusterType, environment),
		Body:  issueBody(problems) + "\n" + m.String(),
		State: forge.Open,
	}
	if keep < 0 {
		return append(steps, issueStep{issue: want}), nil
	}
	have := known[keep]
	want.Number, want.Author, want.URL = have.Number, have.Author, have.URL
	switch {
	case have.State == forge.Closed && findMarker(have.Body, problemMarker).sha256 == m.sha256:
		return steps, nil // a person closed it knowing this
	case have.State == forge.Closed:
		return append(steps, issueStep{want, againComment}), nil
	case have.Title != want.Title || !sameText(have.Body, want.Body):
		return append(steps, issueStep{issue: want}), nil
	}
	return steps, append(open, have)
}

// keeper returns the index of the issue that speaks for an assignment: the
// oldest that is open, since people know that one, else the newest; -1 when
// there is none.
func keeper(known []forge.Issue) int {
	for i := len(known) - 1; i >= 0; i-- {
		if known[i].State == forge.Open {
			return i
		}
	}
	if len(known) > 0 {
		return 0
	}
	return -1
}

// findingsDigest identifies what is wrong. Where it stands does not count: a
// line that moves is no news to a person who has closed the issue.
func findingsDigest(problems []plan.Problem) string {
	messages := unique(problems, func(p plan.Problem) string { return p.Message + "\x00" })
	slices.Sort(messages)
	sum := sha256.Sum256([]byte(strings.Join(messages, "")))
	return hex.EncodeToString(sum[:])
}

// issueBody words what is wrong with an assignment and where to fix it.
func issueBody(problems []plan.Problem) string {
	var b strings.Builder
	section := func(heading string, isOfIt func(plan.Problem) bool) {
		lines := unique(problems, func(p plan.Problem) string {
			if !isOfIt(p) {
				return ""
			}
			return "- " + plain(p.Message) + "\n"
		})
		if len(lines) == 0 {
			return
		}
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		b.WriteString(heading + "\n\n")
		writeList(&b, lines, func(s string) string { return s })
	}
	isConfig := func(p plan.Problem) bool { return p.Reason == plan.InvalidConfig }
	section("Config data validation failed:", isConfig)
	section("Generating the manifests failed:", func(p plan.Problem) bool { return !isConfig(p) })
	places := unique(problems, func(p plan.Problem) string {
		if p.Position.File == "" && p.Hint == "" {
			return ""
		}
		line := "- " + code(p.Position.String())
		if p.Hint != "" {
			line += ": " + plain(p.Hint)
		}
		return line + "\n"
	})
	if len(places) > 0 {
		b.WriteString("\nWhere to fix it:\n\n")
		writeList(&b, places, func(s string) string { return s })
	}
	return b.String()
}

// unique words problems, leaving out what was said before.
func unique(problems []plan.Problem, word func(plan.Problem) string) []string {
	var lines []string
	for _, p := range problems {
		if line := word(p); line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}
