package engine

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"code.gitea.io/sdk/gitea"
	"github.com/kalypso-dev/kalypso/internal/retry"
	giteaforge "github.com/kalypso-dev/kalypso/scheduler/forge/gitea"
)

const callLimit = 15 * time.Second

// forge is the forge's API as the user calls it.
type forge struct {
	client *gitea.Client
	to     func(base string) (*gitea.Client, error) // one whose lists of pull requests are of those to a branch
	owner  string
}

// pull is a pull request.
type pull struct {
	*gitea.PullRequest
	repo  string
	files []string // changed
}

func newForge(ctx context.Context, w Access) (*forge, error) {
	// the version is not asked for: that would be a request of its own
	calls := &http.Client{Timeout: callLimit}
	client := func(calls *http.Client) (*gitea.Client, error) {
		c, err := gitea.NewClient(w.ForgeURL, gitea.SetContext(ctx), gitea.SetToken(w.Token), gitea.SetHTTPClient(calls), gitea.SetGiteaVersion(""))
		if err != nil {
			return nil, fmt.Errorf("forge %s: %w", w.ForgeURL, err)
		}
		return c, nil
	}
	c, err := client(calls)
	if err != nil {
		return nil, err
	}
	to := func(base string) (*gitea.Client, error) { return client(giteaforge.ToBase(calls, base)) }
	return &forge{client: c, to: to, owner: w.Organisation}, nil
}

// kalypsoBranches begins the names of the branches that the scheduler and the
// workflows make.
const kalypsoBranches = "kalypso/"

// pulls lists pull requests to a branch, the latest first, without their files:
// those of the scheduler and the workflows, or anybody's.
func (f *forge) pulls(repo, base string, anybody bool) ([]*pull, error) {
	client, err := f.to(base)
	if err != nil {
		return nil, err
	}
	list, _, err := client.ListRepoPullRequests(f.owner, repo, gitea.ListPullRequestsOptions{
		State: gitea.StateAll, Sort: "recentupdate", ListOptions: gitea.ListOptions{PageSize: 50},
	})
	if err != nil {
		return nil, fmt.Errorf("pull requests of %s: %w", repo, err)
	}
	var pulls []*pull
	for _, p := range list {
		// the ref of a branch that is gone is another one, its label stays
		if p.Base == nil || p.Head == nil || p.Base.Ref != base || !anybody && !strings.HasPrefix(p.Head.Name, kalypsoBranches) {
			continue
		}
		pulls = append(pulls, &pull{PullRequest: p, repo: repo})
	}
	return pulls, nil
}

func (f *forge) changedFiles(p *pull) ([]string, error) {
	var files []string
	for page := 1; page > 0; {
		list, response, err := f.client.ListPullRequestFiles(f.owner, p.repo, p.Index,
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

// again asks how a pull request is now.
func (f *forge) again(p *pull) (*pull, error) {
	now, _, err := f.client.GetPullRequest(f.owner, p.repo, p.Index)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	return &pull{PullRequest: now, repo: p.repo}, nil
}

// committed says when a commit was made.
func (f *forge) committed(repo, commit string) (time.Time, error) {
	c, _, err := f.client.GetSingleCommit(f.owner, repo, commit)
	if err != nil {
		return time.Time{}, fmt.Errorf("commit %s of %s: %w", short(commit), repo, err)
	}
	return commitTime(c)
}

func commitTime(c *gitea.Commit) (time.Time, error) {
	if c.RepoCommit == nil || c.RepoCommit.Committer == nil {
		return time.Time{}, fmt.Errorf("the forge does not say when commit %s was made", c.SHA)
	}
	return time.Parse(time.RFC3339, c.RepoCommit.Committer.Date)
}

func (f *forge) file(repo, ref, path string) ([]byte, error) {
	b, response, err := f.client.GetFile(f.owner, repo, ref, path)
	if response != nil && response.StatusCode == http.StatusNotFound {
		return nil, unmet("%s has no file %s at %s", repo, path, short(ref))
	}
	if err != nil {
		return nil, fmt.Errorf("%s of %s: %w", path, repo, err)
	}
	return b, nil
}

// merge merges what has been looked at, and nothing newer.
func (f *forge) merge(p *pull) error {
	ok, response, err := f.client.MergePullRequest(f.owner, p.repo, p.Index, gitea.MergePullRequestOption{
		Style: gitea.MergeStyleMerge, HeadCommitId: p.Head.Sha,
	})
	switch {
	case err != nil:
		return err
	case ok:
		return nil
	case response.StatusCode == http.StatusConflict:
		return retry.Permanent(fmt.Errorf("%s cannot be merged: it conflicts with its branch, or was changed after it was looked at", p))
	}
	// Gitea answers so for as long as it works out whether there are conflicts
	return fmt.Errorf("the forge answers %s", response.Status)
}

func (p *pull) String() string { return fmt.Sprintf("pull request #%d of %s", p.Index, p.repo) }

func (p *pull) state() string {
	if p.HasMerged {
		return "merged"
	}
	return string(p.State)
}

func (p *pull) labels() (names []string) {
	for _, l := range p.Labels {
		names = append(names, l.Name)
	}
	return names
}
