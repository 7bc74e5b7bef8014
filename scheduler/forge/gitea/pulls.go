package gitea

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/kalypso-dev/kalypso/internal/retry"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// draftPrefix makes a draft, unless the server's administrator has set other
// prefixes for it (docs.gitea.com/administration/config-cheat-sheet,
// WORK_IN_PROGRESS_PREFIXES). Whether it has, only the pull request shows.
const draftPrefix = "WIP: "

const (
	settleTime  = 5 * time.Second // Gitea's queues need 0.1 s; a busy machine more
	settlePause = 50 * time.Millisecond

	// closedPage is small: Gitea starts a git process or two for each pull request that it
	// lists, and of the closed ones the newest is mostly enough.
	closedPage = 10
)

// ToBase returns an HTTP client whose lists of pull requests are of those to one
// branch, a filter of Gitea's API that its SDK does not have.
func ToBase(client *http.Client, base string) *http.Client {
	filtered := *client
	filtered.Transport = pullsTo{base, client.Transport}
	return &filtered
}

type pullsTo struct {
	base string
	next http.RoundTripper // http.DefaultTransport when nil
}

func (t pullsTo) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/pulls") {
		r = r.Clone(r.Context())
		query := r.URL.Query()
		query.Set("base_branch", t.base)
		r.URL.RawQuery = query.Encode()
	}
	if t.next == nil {
		return http.DefaultTransport.RoundTrip(r)
	}
	return t.next.RoundTrip(r)
}

// PullRequests implements forge.Forge. Gitea lists the newest first.
func (f *Forge) PullRequests(ctx context.Context, repo, head, base string) ([]forge.PullRequest, error) {
	login, err := f.login(ctx)
	if err != nil {
		return nil, err
	}
	found := map[int]forge.PullRequest{}
	for _, state := range []sdk.StateType{sdk.StateOpen, sdk.StateClosed} {
		err := f.pages(ctx, repo, func(c *sdk.Client, owner, name string, page sdk.ListOptions) (*sdk.Response, bool, error) {
			if err := sdk.SetHTTPClient(ToBase(f.http, base))(c); err != nil {
				return nil, false, err
			}
			if state == sdk.StateClosed {
				page.PageSize = closedPage
			}
			list, r, err := c.ListRepoPullRequests(owner, name, sdk.ListPullRequestsOptions{ListOptions: page, State: state})
			newest := false
			for _, p := range list {
				if !between(p, head, base) {
					continue
				}
				pr := pullRequest(p, login)
				found[pr.Number] = pr
				newest = newest || pr.Own && state == sdk.StateClosed
			}
			return r, newest, err
		})
		if err != nil {
			return nil, fmt.Errorf("pull requests of %s: %w", repo, err)
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b forge.PullRequest) int { return b.Number - a.Number }), nil
}

// LatestPullRequests lists the pull requests of a repository, whatever their branches: all
// that are open, and the newest of the others; newest first.
func (f *Forge) LatestPullRequests(ctx context.Context, repo string) ([]forge.PullRequest, error) {
	login, err := f.login(ctx)
	if err != nil {
		return nil, err
	}
	found := map[int]forge.PullRequest{}
	for _, state := range []sdk.StateType{sdk.StateOpen, sdk.StateClosed} {
		err := f.pages(ctx, repo, func(c *sdk.Client, owner, name string, page sdk.ListOptions) (*sdk.Response, bool, error) {
			list, r, err := c.ListRepoPullRequests(owner, name, sdk.ListPullRequestsOptions{ListOptions: page, State: state})
			for _, p := range list {
				found[int(p.Index)] = pullRequest(p, login)
			}
			return r, state == sdk.StateClosed, err
		})
		if err != nil {
			return nil, fmt.Errorf("pull requests of %s: %w", repo, err)
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b forge.PullRequest) int { return b.Number - a.Number }), nil
}

// MergedBy returns the account that has merged a pull request, "" for one that is not merged.
func (f *Forge) MergedBy(ctx context.Context, repo string, number int) (login string, err error) {
	err = f.callRepo(ctx, repo, func(c *sdk.Client, owner, name string) (*sdk.Response, error) {
		p, r, err := c.GetPullRequest(owner, name, int64(number))
		if err == nil && p.MergedBy != nil {
			login = p.MergedBy.UserName
		}
		return r, err
	})
	if err != nil {
		return "", fmt.Errorf("pull request %s#%d: %w", repo, number, err)
	}
	return login, nil
}

// between reports whether a pull request goes from one branch to another of its
// own repository. A fork's branch of the same name is another branch.
func between(p *sdk.PullRequest, head, base string) bool {
	return p.Head != nil && p.Base != nil && p.Base.Ref == base && p.Head.RepoID == p.Base.RepoID &&
		(p.Head.Ref == head || p.Head.Name == head)
}

func pullRequest(p *sdk.PullRequest, login string) forge.PullRequest {
	pr := forge.PullRequest{
		Number: int(p.Index),
		Title:  p.Title,
		Body:   p.Body,
		State:  forge.State(p.State),
		Draft:  p.Draft,
		URL:    p.HTMLURL,

		Created: utc(p.Created),
	}
	if pr.Draft {
		pr.Title = strings.TrimPrefix(pr.Title, draftPrefix)
	}
	if p.Head != nil {
		// Ref is refs/pull/N/head when the branch is gone; Name stays.
		pr.Head, pr.HeadCommit = p.Head.Name, p.Head.Sha
	}
	if p.Base != nil {
		pr.Base = p.Base.Ref
	}
	if p.Poster != nil {
		pr.Author = p.Poster.UserName
		pr.Own = strings.EqualFold(pr.Author, login)
	}
	for _, l := range p.Labels {
		pr.Labels = append(pr.Labels, forge.LabelName(l.Name))
	}
	slices.Sort(pr.Labels)
	if p.HasMerged {
		pr.State = forge.Merged
		if p.MergedCommitID != nil {
			pr.MergeCommit = *p.MergedCommitID
		}
		pr.Merged = utc(p.Merged)
		if p.MergedBy != nil {
			pr.MergedBy = p.MergedBy.UserName
		}
	}
	return pr
}

func utc(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

// SavePullRequest implements forge.Forge.
func (f *Forge) SavePullRequest(ctx context.Context, repo string, pr forge.PullRequest) (forge.PullRequest, error) {
	login, err := f.login(ctx)
	if err != nil {
		return forge.PullRequest{}, err
	}
	title := pr.Title
	if pr.Draft {
		title = draftPrefix + title
	}
	if pr.Number == 0 {
		labels, err := f.labelIDs(ctx, repo, pr.Labels)
		if err != nil {
			return forge.PullRequest{}, err
		}
		saved, err := f.createPullRequest(ctx, repo, sdk.CreatePullRequestOption{
			Head: pr.Head, Base: pr.Base, Title: title, Body: pr.Body, Labels: labels,
		})
		if err != nil {
			return forge.PullRequest{}, fmt.Errorf("opening a pull request from %s to %s in %s: %w", pr.Head, pr.Base, repo, err)
		}
		return drafted(pullRequest(saved, login), pr)
	}
	var saved *sdk.PullRequest
	number := int64(pr.Number)
	relabelled, err := f.relabel(ctx, repo, number, pr.Labels, func() error {
		state := sdk.StateType(pr.State)
		return f.callRepo(ctx, repo, func(c *sdk.Client, owner, name string) (r *sdk.Response, err error) {
			saved, r, err = c.EditPullRequest(owner, name, number, sdk.EditPullRequestOption{Title: title, Body: &pr.Body, State: &state})
			return r, err
		})
	})
	if err == nil && relabelled {
		err = f.callRepo(ctx, repo, func(c *sdk.Client, owner, name string) (r *sdk.Response, err error) {
			saved, r, err = c.GetPullRequest(owner, name, number)
			return r, err
		})
	}
	if err != nil {
		return forge.PullRequest{}, fmt.Errorf("pull request %s#%d: %w", repo, pr.Number, err)
	}
	return drafted(pullRequest(saved, login), pr)
}

// drafted returns a pull request that was saved, with an error when it should be
// a draft and is none.
func drafted(saved, want forge.PullRequest) (forge.PullRequest, error) {
	if want.Draft && !saved.Draft && saved.State == forge.Open {
		return saved, fmt.Errorf("pull request %d: %w: Gitea does not make one of a title with %q: put it among the server's WORK_IN_PROGRESS_PREFIXES",
			saved.Number, forge.ErrNoDrafts, draftPrefix)
	}
	return saved, nil
}

// createPullRequest opens a pull request. Gitea answers 404 for a branch that
// it does not know yet, and for a while after a repository's first push for
// every branch.
func (f *Forge) createPullRequest(ctx context.Context, repo string, option sdk.CreatePullRequestOption) (saved *sdk.PullRequest, err error) {
	what := fmt.Sprintf("waiting for Gitea to see branches %s and %s of %s", option.Head, option.Base, repo)
	// settleTime bounds the answers of 404 alone: a request that it cut off may have opened the pull request
	err = retry.Until(ctx, what, settleTime, func(context.Context) error {
		err := f.callRepo(ctx, repo, func(c *sdk.Client, owner, name string) (r *sdk.Response, err error) {
			saved, r, err = c.CreatePullRequest(owner, name, option)
			return r, err
		})
		if !errors.Is(err, forge.ErrNotFound) {
			return retry.Permanent(err)
		}
		return err
	}, retry.Every(settlePause))
	return saved, err
}
