package scenarios

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"code.gitea.io/sdk/gitea"
)

const callLimit = 15 * time.Second

// forge is the forge's API in the eyes of the person.
type forge struct {
	client *gitea.Client
	owner  string
}

// pull is a pull request.
type pull struct {
	repo   string
	number int64
	title  string
	head   string // commit
	url    string
	open   bool
	merged bool
	files  []string // changed, sorted
}

func newForge(ctx context.Context, w World) (*forge, error) {
	// the version is not asked for: that would be a request of its own
	c, err := gitea.NewClient(w.ForgeURL, gitea.SetContext(ctx), gitea.SetToken(w.Token),
		gitea.SetHTTPClient(&http.Client{Timeout: callLimit}), gitea.SetGiteaVersion(""))
	if err != nil {
		return nil, fmt.Errorf("forge %s: %w", w.ForgeURL, err)
	}
	return &forge{client: c, owner: w.Organisation}, nil
}

// schedulerBranches begins the names of the branches that the scheduler makes.
const schedulerBranches = "kalypso/"

// pulls lists the scheduler's pull requests to a branch, the latest first,
// without their files.
func (f *forge) pulls(repo, base string) ([]*pull, error) {
	list, _, err := f.client.ListRepoPullRequests(f.owner, repo, gitea.ListPullRequestsOptions{
		State: gitea.StateAll, Sort: "recentupdate", ListOptions: gitea.ListOptions{PageSize: 50},
	})
	if err != nil {
		return nil, fmt.Errorf("pull requests of %s: %w", repo, err)
	}
	var pulls []*pull
	for _, p := range list {
		// the ref of a branch that is gone is another one, its label stays
		if p.Base == nil || p.Head == nil || p.Base.Ref != base || !strings.HasPrefix(p.Head.Name, schedulerBranches) {
			continue
		}
		pulls = append(pulls, &pull{
			repo: repo, number: p.Index, title: p.Title, head: p.Head.Sha, url: p.HTMLURL,
			open: p.State == gitea.StateOpen, merged: p.HasMerged,
		})
	}
	return pulls, nil
}

func (f *forge) changedFiles(p *pull) ([]string, error) {
	var files []string
	for page := 1; page > 0; {
		list, response, err := f.client.ListPullRequestFiles(f.owner, p.repo, p.number,
			gitea.ListPullRequestFilesOptions{ListOptions: gitea.ListOptions{Page: page, PageSize: 50}})
		if err != nil {
			return nil, fmt.Errorf("files of %s: %w", p, err)
		}
		for _, c := range list {
			files = append(files, c.Filename)
		}
		page = response.NextPage
	}
	return files, nil
}

// head asks where a pull request is now.
func (f *forge) head(p *pull) (string, error) {
	now, _, err := f.client.GetPullRequest(f.owner, p.repo, p.number)
	if err != nil {
		return "", fmt.Errorf("%s: %w", p, err)
	}
	return now.Head.Sha, nil
}

func (f *forge) file(p *pull, path string) ([]byte, error) {
	b, response, err := f.client.GetFile(f.owner, p.repo, p.head, path)
	if response != nil && response.StatusCode == http.StatusNotFound {
		return nil, unmet("%s has no file %s", p, path)
	}
	if err != nil {
		return nil, fmt.Errorf("%s of %s: %w", path, p, err)
	}
	return b, nil
}

// merge merges what has been looked at, and nothing newer.
func (f *forge) merge(p *pull) error {
	ok, response, err := f.client.MergePullRequest(f.owner, p.repo, p.number, gitea.MergePullRequestOption{
		Style: gitea.MergeStyleMerge, HeadCommitId: p.head,
	})
	switch {
	case err != nil:
		return err
	case ok:
		return nil
	case response.StatusCode == http.StatusConflict:
		return hopeless("%s cannot be merged: it conflicts with its branch, or was changed after it was looked at", p)
	}
	// Gitea answers so for as long as it works out whether there are conflicts
	return fmt.Errorf("the forge answers %s", response.Status)
}

func (p *pull) String() string { return fmt.Sprintf("pull request #%d of %s", p.number, p.repo) }

func (p *pull) state() string {
	switch {
	case p.merged:
		return "merged"
	case p.open:
		return "open"
	}
	return "closed"
}
