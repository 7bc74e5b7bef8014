package forges

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/ci"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// gitHubPull is a pull request as GitHub's API has it.
type gitHubPull struct {
	Number   int     `json:"number"`
	Title    string  `json:"title"`
	Body     string  `json:"body"`
	State    string  `json:"state"`
	Draft    bool    `json:"draft"`
	URL      string  `json:"html_url"`
	MergedAt *string `json:"merged_at"`
	Merge    string  `json:"merge_commit_sha"`
	User     struct {
		Login string `json:"login"`
	} `json:"user"`
	Head   gitHubBranch `json:"head"`
	Base   gitHubBranch `json:"base"`
	Labels []struct {
		Name string `json:"name"`
	} `json:"labels"`
}

type gitHubBranch struct {
	Ref string `json:"ref"`
	SHA string `json:"sha"`
}

func (p gitHubPull) pullRequest() forge.PullRequest {
	pr := forge.PullRequest{
		Number: p.Number, Title: p.Title, Body: p.Body, State: forge.State(p.State), Draft: p.Draft, URL: p.URL,
		Head: p.Head.Ref, HeadCommit: p.Head.SHA, Base: p.Base.Ref, Author: p.User.Login,
	}
	for _, l := range p.Labels {
		pr.Labels = append(pr.Labels, l.Name)
	}
	if p.MergedAt != nil {
		pr.State, pr.MergeCommit = forge.Merged, p.Merge
	}
	return pr
}

// PullRequests implements ci.Forge: the open ones, and the newest of the
// others. A fork's branch of the same name is another branch, which the owner
// ahead of the branch's name leaves out.
func (g *gitHub) PullRequests(ctx context.Context, repo, head, base string) ([]forge.PullRequest, error) {
	owner, _, _ := strings.Cut(repo, "/")
	query := url.Values{"state": {"all"}, "head": {owner + ":" + head}, "base": {base}, "per_page": {"50"}}
	var pulls []gitHubPull
	if _, err := g.call(ctx, http.MethodGet, "/repos/"+repo+"/pulls?"+query.Encode(), nil, &pulls); err != nil {
		return nil, fmt.Errorf("pull requests of %s: %w", repo, err)
	}
	list := make([]forge.PullRequest, 0, len(pulls))
	for _, p := range pulls {
		list = append(list, p.pullRequest())
	}
	return list, nil
}

// SavePullRequest implements ci.Forge. Labels are Label's, and a draft stays
// what it is: the API cannot change that.
func (g *gitHub) SavePullRequest(ctx context.Context, repo string, pr forge.PullRequest) (forge.PullRequest, error) {
	method, path := http.MethodPost, "/repos/"+repo+"/pulls"
	in := map[string]any{"title": pr.Title, "body": pr.Body, "head": pr.Head, "base": pr.Base, "draft": pr.Draft}
	if pr.Number != 0 {
		method, path = http.MethodPatch, fmt.Sprintf("%s/%d", path, pr.Number)
		in = map[string]any{"title": pr.Title, "body": pr.Body, "state": string(pr.State)}
	}
	var saved gitHubPull
	if _, err := g.call(ctx, method, path, in, &saved); err != nil {
		return forge.PullRequest{}, fmt.Errorf("pull request from %s to %s in %s: %w", pr.Head, pr.Base, repo, err)
	}
	return saved.pullRequest(), nil
}

// Merge implements ci.Actor. GitHub answers 405 while it is working out whether
// the pull request can be merged, and while checks are missing.
func (g *gitHub) Merge(ctx context.Context, repo string, number int, head string) (string, error) {
	path := fmt.Sprintf("/repos/%s/pulls/%d", repo, number)
	var merged struct {
		SHA string `json:"sha"`
	}
	code, err := g.call(ctx, http.MethodPut, path+"/merge", map[string]string{"merge_method": "merge", "sha": head}, &merged)
	if err == nil {
		return merged.SHA, nil
	}
	// an earlier try may have had its effect although its answer was lost
	var pull gitHubPull
	if _, again := g.call(ctx, http.MethodGet, path, nil, &pull); again == nil && pull.MergedAt != nil {
		return pull.Merge, nil
	}
	if code == http.StatusMethodNotAllowed {
		err = fmt.Errorf("%w: %w", ci.ErrNotYet, err)
	}
	return "", err
}
