package forgetest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// PullRequests implements forge.Forge.
func (f *Forge) PullRequests(ctx context.Context, repo, head, base string) (list []forge.PullRequest, err error) {
	err = f.call(ctx, Call{Method: "PullRequests", Repo: repo, Detail: head}, func() error {
		r, err := f.repo(repo)
		if err != nil {
			return err
		}
		for _, p := range slices.Backward(r.pulls) {
			if p.Head == head && p.Base == base {
				list = append(list, clone(p))
			}
		}
		return nil
	})
	return list, err
}

func clone(p *forge.PullRequest) forge.PullRequest {
	c := *p
	c.Labels = slices.Clone(p.Labels)
	return c
}

// SavePullRequest implements forge.Forge.
func (f *Forge) SavePullRequest(ctx context.Context, repo string, pr forge.PullRequest) (saved forge.PullRequest, err error) {
	err = f.call(ctx, Call{"SavePullRequest", repo, pr.Title, true}, func() error {
		r, err := f.repo(repo)
		if err != nil {
			return err
		}
		if pr.Number == 0 {
			p, err := r.open(repo, pr, Account)
			if err == nil {
				saved = clone(p)
			}
			return err
		}
		p, err := r.pull(pr.Number)
		if err != nil {
			return err
		}
		if p.State == forge.Merged {
			return fmt.Errorf("pull request %d is merged", pr.Number)
		}
		p.Title, p.Body, p.Draft, p.State = pr.Title, pr.Body, pr.Draft, pr.State
		for _, l := range forge.ManagedLabels() {
			p.Labels = slices.DeleteFunc(p.Labels, func(have string) bool { return have == l })
		}
		p.Labels = merge(p.Labels, pr.Labels)
		saved = clone(p)
		return nil
	})
	return saved, err
}

func merge(a, b []string) []string {
	all := append(slices.Clone(a), b...)
	slices.Sort(all)
	return slices.Compact(all)
}

func (r *repository) open(repo string, pr forge.PullRequest, author string) (*forge.PullRequest, error) {
	head, ok := r.branches[pr.Head]
	if !ok {
		return nil, fmt.Errorf("branch %s: %w", pr.Head, forge.ErrNotFound)
	}
	if _, ok := r.branches[pr.Base]; !ok {
		return nil, fmt.Errorf("branch %s: %w", pr.Base, forge.ErrNotFound)
	}
	for _, p := range r.pulls {
		if p.State == forge.Open && p.Head == pr.Head && p.Base == pr.Base {
			return nil, fmt.Errorf("pull request %d from %s to %s exists", p.Number, pr.Head, pr.Base)
		}
	}
	r.number++
	p := pr
	p.Number, p.State, p.HeadCommit = r.number, forge.Open, head
	p.Author, p.Own = author, author == Account
	p.Labels = merge(nil, pr.Labels)
	p.URL = fmt.Sprintf("%s%s/pulls/%d", baseURL, repo, p.Number)
	r.pulls = append(r.pulls, &p)
	return &p, nil
}

func (r *repository) pull(number int) (*forge.PullRequest, error) {
	for _, p := range r.pulls {
		if p.Number == number {
			return p, nil
		}
	}
	return nil, fmt.Errorf("pull request %d: %w", number, forge.ErrNotFound)
}

// Issues implements forge.Forge.
func (f *Forge) Issues(ctx context.Context, repo string) (list []forge.Issue, err error) {
	err = f.call(ctx, Call{Method: "Issues", Repo: repo}, func() error {
		r, err := f.repo(repo)
		if err != nil {
			return err
		}
		for _, i := range slices.Backward(r.issues) {
			if i.Author == Account {
				list = append(list, *i)
			}
		}
		return nil
	})
	return list, err
}

// SaveIssue implements forge.Forge.
func (f *Forge) SaveIssue(ctx context.Context, repo string, issue forge.Issue) (saved forge.Issue, err error) {
	err = f.call(ctx, Call{"SaveIssue", repo, issue.Title, true}, func() error {
		r, err := f.repo(repo)
		if err != nil {
			return err
		}
		if issue.Number == 0 {
			saved = *r.openIssue(repo, issue, Account)
			return nil
		}
		i, err := r.issue(issue.Number)
		if err != nil {
			return err
		}
		i.Title, i.Body, i.State = issue.Title, issue.Body, issue.State
		saved = *i
		return nil
	})
	return saved, err
}

func (r *repository) openIssue(repo string, issue forge.Issue, author string) *forge.Issue {
	r.number++
	issue.Number, issue.State, issue.Author = r.number, forge.Open, author
	issue.URL = fmt.Sprintf("%s%s/issues/%d", baseURL, repo, issue.Number)
	r.issues = append(r.issues, &issue)
	return &issue
}

func (r *repository) issue(number int) (*forge.Issue, error) {
	for _, i := range r.issues {
		if i.Number == number {
			return i, nil
		}
	}
	return nil, fmt.Errorf("issue %d: %w", number, forge.ErrNotFound)
}

// Comment implements forge.Forge.
func (f *Forge) Comment(ctx context.Context, repo string, number int, body string) error {
	return f.call(ctx, Call{"Comment", repo, fmt.Sprint(number), true}, func() error {
		r, err := f.repo(repo)
		if err != nil {
			return err
		}
		for _, c := range slices.Backward(r.comments[number]) {
			if c.Author == Account {
				if c.Body == body {
					return nil
				}
				break
			}
		}
		r.comments[number] = append(r.comments[number], Comment{Account, body})
		return nil
	})
}

// Statuses implements forge.Forge.
func (f *Forge) Statuses(ctx context.Context, repo, commit string) (list []forge.Status, err error) {
	err = f.call(ctx, Call{Method: "Statuses", Repo: repo, Detail: commit}, func() error {
		r, err := f.repo(repo)
		if err != nil {
			return err
		}
		for _, s := range slices.Backward(r.statuses[commit]) {
			if !slices.ContainsFunc(list, func(have forge.Status) bool { return have.Context == s.Context }) {
				list = append(list, s)
			}
		}
		slices.SortFunc(list, func(a, b forge.Status) int { return strings.Compare(a.Context, b.Context) })
		return nil
	})
	return list, err
}

// SetStatus implements forge.Forge.
func (f *Forge) SetStatus(ctx context.Context, repo, commit string, status forge.Status) error {
	return f.call(ctx, Call{"SetStatus", repo, status.Context, true}, func() error {
		r, err := f.repo(repo)
		if err != nil {
			return err
		}
		if _, ok := r.commits[commit]; !ok {
			return fmt.Errorf("commit %s of %s: %w", commit, repo, forge.ErrNotFound)
		}
		r.statuses[commit] = append(r.statuses[commit], status)
		return nil
	})
}
