package forgefake

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// fits returns an error for what a real forge does not take, or not keep as it
// is.
func fits(title, body string) error {
	if s := title + body; !utf8.ValidString(s) || strings.Contains(s, "\x00") {
		return errors.New("a text that is not UTF-8, or has a NUL, is refused")
	}
	width := 0
	for _, r := range title {
		if width++; r >= utf8.RuneSelf {
			width++
		}
	}
	if width == 0 || width > MaxTitle {
		return fmt.Errorf("a title of %d characters is refused", width)
	}
	if n := utf8.RuneCountInString(body); n > MaxBody {
		return fmt.Errorf("a text of %d characters is refused", n)
	}
	return nil
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
		if err := errors.Join(err, fits(issue.Title, issue.Body)); err != nil {
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
		if err := errors.Join(err, fits("a comment", body)); err != nil {
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
