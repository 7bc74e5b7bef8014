package github

import (
	"context"
	"fmt"
	"strings"
	"time"

	sdk "github.com/google/go-github/v88/github"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// Issues implements forge.Forge. GitHub lists pull requests among issues, so
// that the list of everything is long where the scheduler has worked for years:
// after the first one only what is new is asked for.
func (f *Forge) Issues(ctx context.Context, repo string) ([]forge.Issue, error) {
	owner, name, err := split(repo)
	if err != nil {
		return nil, err
	}
	me, err := f.me(ctx)
	if err != nil {
		return nil, err
	}
	known := f.issues.of(repo)
	known.mu.Lock()
	defer known.mu.Unlock()
	now := time.Now()
	since := known.begin(now)
	listed := map[int]forge.Issue{}
	var asked time.Time
	updated := false
	err = f.pages(ctx, func(page sdk.ListOptions) (*sdk.Response, bool, error) {
		// oldest first: what is opened meanwhile does not move the rest from
		// one page to another, and full pages stay as they are
		list, r, err := f.client.Issues.ListByRepo(ctx, owner, name, &sdk.IssueListByRepoOptions{
			State: "all", Creator: me, Sort: "created", Direction: "asc", Since: since, ListOptions: page,
		})
		if asked.IsZero() {
			asked = serverTime(r)
		}
		for _, i := range list {
			if !strings.EqualFold(i.GetUser().GetLogin(), me) {
				continue
			}
			updated = true
			if i.PullRequestLinks == nil {
				listed[i.GetNumber()] = issue(i)
			}
		}
		return r, false, err
	})
	if err != nil {
		return nil, fmt.Errorf("issues of %s: %w", repo, err)
	}
	known.learn(since, now, asked, listed, updated)
	return known.list(), nil
}

func issue(i *sdk.Issue) forge.Issue {
	return forge.Issue{
		Number: i.GetNumber(), Title: i.GetTitle(), Body: i.GetBody(), State: forge.State(i.GetState()),
		Author: i.GetUser().GetLogin(), URL: i.GetHTMLURL(),
	}
}

// SaveIssue implements forge.Forge.
func (f *Forge) SaveIssue(ctx context.Context, repo string, want forge.Issue) (forge.Issue, error) {
	owner, name, err := split(repo)
	if err != nil {
		return forge.Issue{}, err
	}
	var saved *sdk.Issue
	request := &sdk.IssueRequest{Title: &want.Title, Body: &want.Body}
	what := "opening an issue in " + repo
	err = f.call(ctx, func() (r *sdk.Response, err error) {
		if want.Number == 0 {
			saved, r, err = f.client.Issues.Create(ctx, owner, name, request)
			return r, err
		}
		what = fmt.Sprintf("issue %s#%d", repo, want.Number)
		request.State = new(string(want.State))
		saved, r, err = f.client.Issues.Edit(ctx, owner, name, want.Number, request)
		return r, err
	})
	if err != nil {
		f.issues.doubt(repo) // it may be there, or be gone
		return forge.Issue{}, fmt.Errorf("%s: %w", what, err)
	}
	f.issues.saved(repo, issue(saved))
	return issue(saved), nil
}

// Comment implements forge.Forge.
func (f *Forge) Comment(ctx context.Context, repo string, number int, body string) error {
	owner, name, err := split(repo)
	if err != nil {
		return err
	}
	newest, err := f.newestComment(ctx, repo, number)
	if err != nil {
		return fmt.Errorf("comments of %s#%d: %w", repo, number, err)
	}
	if strings.TrimSpace(newest) == strings.TrimSpace(body) {
		return nil
	}
	err = f.call(ctx, func() (*sdk.Response, error) {
		_, r, err := f.client.Issues.CreateComment(ctx, owner, name, number, &sdk.IssueComment{Body: &body})
		return r, err
	})
	if err != nil {
		return fmt.Errorf("commenting on %s#%d: %w", repo, number, err)
	}
	return nil
}

// newestComment returns the newest comment of this account, "" when there is
// none. GitHub lists the oldest first: it begins with the last page and goes
// back.
func (f *Forge) newestComment(ctx context.Context, repo string, number int) (string, error) {
	owner, name, err := split(repo)
	if err != nil {
		return "", err
	}
	me, err := f.me(ctx)
	if err != nil {
		return "", err
	}
	newest := map[int]string{} // by page
	last := 1
	read := func(page int) error {
		return f.call(ctx, func() (*sdk.Response, error) {
			list, r, err := f.client.Issues.ListComments(ctx, owner, name, number,
				&sdk.IssueListCommentsOptions{ListOptions: sdk.ListOptions{Page: page, PerPage: pageSize}})
			for _, c := range list {
				if strings.EqualFold(c.GetUser().GetLogin(), me) {
					newest[page] = c.GetBody()
				}
			}
			if r != nil {
				last = max(last, r.LastPage)
			}
			return r, err
		})
	}
	if err := read(1); err != nil {
		return "", err
	}
	for page := last; page > 1; page-- {
		if err := read(page); err != nil {
			return "", err
		}
		if text, ok := newest[page]; ok {
			return text, nil
		}
	}
	return newest[1], nil
}
