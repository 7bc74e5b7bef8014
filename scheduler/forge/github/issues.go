package github

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/google/go-github/v88/github"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

const (
	// relistTime is how long a list of issues is brought up to date instead of
	// being read anew: an issue that an administrator deletes only goes missing.
	relistTime = time.Hour
	// listOverlap makes up for an update that GitHub's list did not have yet.
	listOverlap = time.Minute
)

// issueCache has this account's issues, so that a list takes one request however
// many issues and pull requests there have been. It also has the issues that
// were just opened, which GitHub's list may not have for a moment: without them
// they would be opened twice.
type issueCache struct {
	mu    sync.Mutex
	repos map[string]*repoIssues
}

// repoIssues are the issues of one repository. The lock is held while GitHub is
// asked, so that two lists do not overtake each other.
type repoIssues struct {
	mu     sync.Mutex
	issues map[int]forge.Issue
	since  time.Time // what was updated later is asked for; zero: everything
	full   time.Time // when everything was asked for
}

// lock returns the issues of a repository, locked.
func (c *issueCache) lock(repo string) *repoIssues {
	c.mu.Lock()
	if c.repos == nil {
		c.repos = map[string]*repoIssues{}
	}
	r, ok := c.repos[repo]
	if !ok {
		r = &repoIssues{issues: map[int]forge.Issue{}}
		c.repos[repo] = r
	}
	c.mu.Unlock()
	r.mu.Lock()
	return r
}

// invalidate makes the next list read everything.
func (c *issueCache) invalidate(repo string) {
	r := c.lock(repo)
	defer r.mu.Unlock()
	r.full = time.Time{}
}

// Issues implements forge.Forge. GitHub lists pull requests among issues, so
// that the list of everything is long where the scheduler has worked for years:
// after the first one only what is new is asked for.
func (f *Forge) Issues(ctx context.Context, repo string) ([]forge.Issue, error) {
	owner, name, err := forge.SplitRepo(repo)
	if err != nil {
		return nil, err
	}
	login, err := f.login(ctx)
	if err != nil {
		return nil, err
	}
	cached := f.issues.lock(repo)
	defer cached.mu.Unlock()
	now := time.Now()
	// the question stays the same while nothing is new, so that the answer is 304
	since := cached.since
	if now.Sub(cached.full) > relistTime {
		since = time.Time{}
	}
	listed := map[int]forge.Issue{}
	var asked time.Time // by GitHub's clock
	updated := false
	creator := login
	if f.dataResidency() { // where the filter finds nothing of an App
		creator = ""
	}
	err = f.pages(ctx, func(page sdk.ListOptions) (*sdk.Response, bool, error) {
		// oldest first: what is opened meanwhile does not move the rest from
		// one page to another, and full pages stay as they are
		list, r, err := f.client.Issues.ListByRepo(ctx, owner, name, &sdk.IssueListByRepoOptions{
			State: "all", Creator: creator, Sort: "created", Direction: "asc", Since: since, ListOptions: page,
		})
		if asked.IsZero() {
			asked = serverTime(r)
		}
		for _, i := range list {
			if !f.own(i.GetUser(), login) {
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
	if since.IsZero() {
		cached.issues, cached.full = listed, now
	} else {
		maps.Copy(cached.issues, listed)
	}
	if since.IsZero() || updated {
		cached.since = asked.Add(-listOverlap)
	}
	all := slices.Collect(maps.Values(cached.issues))
	slices.SortFunc(all, func(a, b forge.Issue) int { return b.Number - a.Number })
	return all, nil
}

// serverTime is when GitHub gave an answer, by its own clock.
func serverTime(r *sdk.Response) time.Time {
	if r != nil && r.Response != nil {
		if t, err := time.Parse(time.RFC1123, r.Header.Get("Date")); err == nil {
			return t
		}
	}
	return time.Now()
}

func issue(i *sdk.Issue) forge.Issue {
	return forge.Issue{
		Number: i.GetNumber(), Title: i.GetTitle(), Body: i.GetBody(), State: forge.State(i.GetState()),
		Author: i.GetUser().GetLogin(), URL: i.GetHTMLURL(),
	}
}

// SaveIssue implements forge.Forge.
func (f *Forge) SaveIssue(ctx context.Context, repo string, want forge.Issue) (forge.Issue, error) {
	request := &sdk.IssueRequest{Title: &want.Title, Body: &want.Body}
	what := "opening an issue in " + repo
	if want.Number != 0 {
		what = fmt.Sprintf("issue %s#%d", repo, want.Number)
		request.State = new(string(want.State))
	}
	var saved *sdk.Issue
	err := f.callRepo(ctx, repo, func(owner, name string) (r *sdk.Response, err error) {
		if want.Number == 0 {
			saved, r, err = f.client.Issues.Create(ctx, owner, name, request)
		} else {
			saved, r, err = f.client.Issues.Edit(ctx, owner, name, want.Number, request)
		}
		return r, err
	})
	if err != nil {
		f.issues.invalidate(repo) // it may have been saved all the same, or be deleted
		return forge.Issue{}, fmt.Errorf("%s: %w", what, err)
	}
	cached := f.issues.lock(repo)
	defer cached.mu.Unlock()
	cached.issues[saved.GetNumber()] = issue(saved)
	return issue(saved), nil
}

// Comment implements forge.Forge.
func (f *Forge) Comment(ctx context.Context, repo string, number int, body string) error {
	newest, err := f.newestComment(ctx, repo, number)
	if err != nil {
		return fmt.Errorf("comments of %s#%d: %w", repo, number, err)
	}
	if strings.TrimSpace(newest) == strings.TrimSpace(body) {
		return nil
	}
	err = f.callRepo(ctx, repo, func(owner, name string) (*sdk.Response, error) {
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
	login, err := f.login(ctx)
	if err != nil {
		return "", err
	}
	newest := map[int]string{} // by page
	last := 1
	read := func(page int) error {
		return f.callRepo(ctx, repo, func(owner, name string) (*sdk.Response, error) {
			list, r, err := f.client.Issues.ListComments(ctx, owner, name, number,
				&sdk.IssueListCommentsOptions{ListOptions: sdk.ListOptions{Page: page, PerPage: pageSize}})
			for _, c := range list {
				if f.own(c.GetUser(), login) {
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
