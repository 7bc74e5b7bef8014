package forges

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/kalypso-dev/kalypso/scheduler/ci"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitea"
)

// callTimeout bounds one request.
const callTimeout = 30 * time.Second

// labelColor is that of labels that a workflow makes.
const labelColor = "#1d76db"

// giteaForge adds to the scheduler's client what the scheduler never does.
type giteaForge struct {
	*gitea.Forge
	server, token string
}

var _ ci.Forge = (*giteaForge)(nil)

// call runs a request and words its error like those of the scheduler's client.
func (f *giteaForge) call(ctx context.Context, do func(*sdk.Client) (*sdk.Response, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, fmt.Errorf("%w: no answer from %s within %s", gitclient.ErrNetwork, f.server, callTimeout))
	defer cancel()
	client, err := sdk.NewClient(f.server, sdk.SetContext(ctx), sdk.SetToken(f.token), sdk.SetGiteaVersion(""))
	if err != nil {
		return err
	}
	response, err := do(client)
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if response == nil || response.Response == nil {
		return fmt.Errorf("%w: %w", gitclient.ErrNetwork, err)
	}
	return statusError(response.StatusCode, err)
}

// statusError marks an answer's error by its status.
func statusError(code int, err error) error {
	switch code {
	case http.StatusNotFound:
		return fmt.Errorf("%w (%w)", forge.ErrNotFound, err)
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Errorf("%w (%w, http status %d)", gitclient.ErrDenied, err, code)
	}
	return fmt.Errorf("%w (http status %d)", err, code)
}

// Label implements ci.Actor.
func (f *giteaForge) Label(ctx context.Context, repo string, number int, labels []string) error {
	owner, name, _ := strings.Cut(repo, "/")
	ids := make([]int64, 0, len(labels))
	known := map[string]int64{}
	for page := 1; page > 0; {
		err := f.call(ctx, func(c *sdk.Client) (*sdk.Response, error) {
			list, r, err := c.ListRepoLabels(owner, name, sdk.ListLabelsOptions{ListOptions: sdk.ListOptions{Page: page, PageSize: 50}})
			for _, l := range list {
				known[strings.ToLower(l.Name)] = l.ID
			}
			page = 0
			if err == nil && r != nil {
				page = r.NextPage
			}
			return r, err
		})
		if err != nil {
			return fmt.Errorf("labels of %s: %w", repo, err)
		}
	}
	for _, label := range labels {
		id, ok := known[strings.ToLower(label)]
		if !ok {
			err := f.call(ctx, func(c *sdk.Client) (*sdk.Response, error) {
				made, r, err := c.CreateLabel(owner, name, sdk.CreateLabelOption{Name: label, Color: labelColor})
				if err == nil {
					id = made.ID
				}
				return r, err
			})
			if err != nil {
				return fmt.Errorf("making label %s: %w", label, err)
			}
		}
		ids = append(ids, id)
	}
	return f.call(ctx, func(c *sdk.Client) (*sdk.Response, error) {
		_, r, err := c.AddIssueLabels(owner, name, int64(number), sdk.IssueLabelsOption{Labels: ids})
		return r, err
	})
}

// Merge implements ci.Actor. Gitea answers 405 as long as it has not looked at
// a new pull request, and when the branch is protected: both may change.
func (f *giteaForge) Merge(ctx context.Context, repo string, number int, head string) (string, error) {
	owner, name, _ := strings.Cut(repo, "/")
	var code int
	err := f.call(ctx, func(c *sdk.Client) (*sdk.Response, error) {
		merged, r, err := c.MergePullRequest(owner, name, int64(number), sdk.MergePullRequestOption{Style: sdk.MergeStyleMerge, HeadCommitId: head})
		if r != nil && r.Response != nil {
			code = r.StatusCode
		}
		if err == nil && !merged {
			err = errors.New("it is not merged")
		}
		return r, err
	})
	if err != nil && code == http.StatusMethodNotAllowed {
		err = fmt.Errorf("%w: %w", ci.ErrNotYet, err)
	}
	if err != nil {
		// an earlier try may have had its effect although its answer was lost
		if commit, ok := f.merged(ctx, owner, name, number); ok {
			return commit, nil
		}
		return "", err
	}
	commit, ok := f.merged(ctx, owner, name, number)
	if !ok {
		return "", fmt.Errorf("%w: it is merged, and its commit is not known", ci.ErrNotYet)
	}
	return commit, nil
}

// merged returns the merge commit of a pull request that has been merged.
func (f *giteaForge) merged(ctx context.Context, owner, name string, number int) (commit string, ok bool) {
	err := f.call(ctx, func(c *sdk.Client) (*sdk.Response, error) {
		pr, r, err := c.GetPullRequest(owner, name, int64(number))
		if err == nil && pr.HasMerged && pr.MergedCommitID != nil {
			commit, ok = *pr.MergedCommitID, true
		}
		return r, err
	})
	return commit, ok && err == nil
}

// workflowFolders are where Gitea looks for workflows, in this order.
var workflowFolders = []string{".gitea/workflows/", ".github/workflows/"}

// StartWorkflow implements ci.Actor. Gitea takes whatever inputs it is given,
// so that they are looked at here.
func (f *giteaForge) StartWorkflow(ctx context.Context, repo, file, ref string, inputs map[string]string) error {
	owner, name, _ := strings.Cut(repo, "/")
	where, content, err := f.workflow(ctx, repo, file, ref)
	switch {
	case errors.Is(err, forge.ErrNotFound): // Gitea says what it is that is missing
	case err != nil:
		return err
	default:
		if err := ci.CheckInputs(where, content, inputs); err != nil {
			return err
		}
	}
	return f.call(ctx, func(c *sdk.Client) (*sdk.Response, error) {
		_, r, err := c.DispatchRepoActionWorkflow(owner, name, file, sdk.CreateActionWorkflowDispatchOption{Ref: ref, Inputs: inputs}, false)
		return r, err
	})
}

// workflow reads a workflow's file as it is on branch ref.
func (f *giteaForge) workflow(ctx context.Context, repo, file, ref string) (where string, content []byte, err error) {
	owner, name, _ := strings.Cut(repo, "/")
	for _, folder := range workflowFolders {
		where = folder + file
		err = f.call(ctx, func(c *sdk.Client) (r *sdk.Response, err error) {
			content, r, err = c.GetFile(owner, name, ref, where)
			return r, err
		})
		if !errors.Is(err, forge.ErrNotFound) {
			break
		}
	}
	return where, content, err
}
