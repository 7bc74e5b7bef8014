package gitea

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// Issues implements forge.Forge.
func (f *Forge) Issues(ctx context.Context, repo string) ([]forge.Issue, error) {
	login, err := f.login(ctx)
	if err != nil {
		return nil, err
	}
	found := map[int]forge.Issue{} // an issue that is opened between two pages moves one to the next
	err = f.pages(ctx, repo, func(c *sdk.Client, owner, name string, page sdk.ListOptions) (*sdk.Response, bool, error) {
		list, r, err := c.ListRepoIssues(owner, name, sdk.ListIssueOption{
			ListOptions: page, State: sdk.StateAll, Type: sdk.IssueTypeIssue, CreatedBy: login,
		})
		for _, i := range list {
			if i.PullRequest == nil && i.Poster != nil && strings.EqualFold(i.Poster.UserName, login) {
				found[int(i.Index)] = issue(i)
			}
		}
		return r, false, err
	})
	if err != nil {
		return nil, fmt.Errorf("issues of %s: %w", repo, err)
	}
	return slices.SortedFunc(maps.Values(found), func(a, b forge.Issue) int { return b.Number - a.Number }), nil
}

func issue(i *sdk.Issue) forge.Issue {
	out := forge.Issue{Number: int(i.Index), Title: i.Title, Body: i.Body, State: forge.State(i.State), URL: i.HTMLURL}
	if i.Poster != nil {
		out.Author = i.Poster.UserName
	}
	return out
}

// SaveIssue implements forge.Forge.
func (f *Forge) SaveIssue(ctx context.Context, repo string, want forge.Issue) (forge.Issue, error) {
	var saved *sdk.Issue
	err := f.callRepo(ctx, repo, func(c *sdk.Client, owner, name string) (r *sdk.Response, err error) {
		if want.Number == 0 {
			saved, r, err = c.CreateIssue(owner, name, sdk.CreateIssueOption{Title: want.Title, Body: want.Body})
			return r, err
		}
		state := sdk.StateType(want.State)
		saved, r, err = c.EditIssue(owner, name, int64(want.Number), sdk.EditIssueOption{Title: want.Title, Body: &want.Body, State: &state})
		return r, err
	})
	if err != nil && want.Number == 0 {
		return forge.Issue{}, fmt.Errorf("opening an issue in %s: %w", repo, err)
	}
	if err != nil {
		return forge.Issue{}, fmt.Errorf("issue %s#%d: %w", repo, want.Number, err)
	}
	return issue(saved), nil
}

// Comment implements forge.Forge.
func (f *Forge) Comment(ctx context.Context, repo string, number int, body string) error {
	login, err := f.login(ctx)
	if err != nil {
		return err
	}
	latest := ""
	err = f.callRepo(ctx, repo, func(c *sdk.Client, owner, name string) (*sdk.Response, error) {
		list, r, err := c.ListIssueComments(owner, name, int64(number), sdk.ListIssueCommentOptions{})
		for _, comment := range list { // oldest first, all of them: Gitea has no pages here
			if comment.Poster != nil && strings.EqualFold(comment.Poster.UserName, login) {
				latest = comment.Body
			}
		}
		return r, err
	})
	if err != nil {
		return fmt.Errorf("comments of %s#%d: %w", repo, number, err)
	}
	if strings.TrimSpace(latest) == strings.TrimSpace(body) {
		return nil
	}
	err = f.callRepo(ctx, repo, func(c *sdk.Client, owner, name string) (*sdk.Response, error) {
		_, r, err := c.CreateIssueComment(owner, name, int64(number), sdk.CreateIssueCommentOption{Body: body})
		return r, err
	})
	if err != nil {
		return fmt.Errorf("commenting on %s#%d: %w", repo, number, err)
	}
	return nil
}
