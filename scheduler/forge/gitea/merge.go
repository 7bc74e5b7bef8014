package gitea

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// Merge merges a pull request whose branch is still at the commit head, by a
// merge commit where the repository allows that, and returns the commit. An
// earlier try may have had its effect although its answer was lost: then its
// commit is returned. Gitea answers 405 as long as it has not checked a new pull
// request, and the error wraps forge.ErrNotYet. It does so, too, when the branch
// is protected: then it is to merge it when it can, and the error wraps
// forge.ErrQueued.
func (f *Forge) Merge(ctx context.Context, repo string, number int, head string) (string, error) {
	err := f.mergeBy(ctx, repo, number, head, sdk.MergeStyleMerge, false)
	p, failed := f.pull(ctx, repo, number)
	if failed == nil && errors.Is(err, forge.ErrNotYet) && p.Mergeable && !p.HasMerged {
		err = f.mergeAsAllowed(ctx, repo, number, head)
		p, failed = f.pull(ctx, repo, number)
	}
	switch {
	case failed == nil && p.HasMerged && p.MergedCommitID != nil:
		return *p.MergedCommitID, nil
	case err == nil:
		err = fmt.Errorf("%w: it is merged, and its commit is not known", forge.ErrNotYet)
	}
	return "", err
}

func (f *Forge) pull(ctx context.Context, repo string, number int) (p *sdk.PullRequest, err error) {
	err = f.callRepo(ctx, repo, func(c *sdk.Client, owner, name string) (r *sdk.Response, err error) {
		p, r, err = c.GetPullRequest(owner, name, int64(number))
		return r, err
	})
	return p, err
}

func (f *Forge) mergeBy(ctx context.Context, repo string, number int, head string, style sdk.MergeStyle, later bool) error {
	var code int
	err := f.callRepo(ctx, repo, func(c *sdk.Client, owner, name string) (*sdk.Response, error) {
		merged, r, err := c.MergePullRequest(owner, name, int64(number), sdk.MergePullRequestOption{Style: style, HeadCommitId: head, MergeWhenChecksSucceed: later})
		if r != nil && r.Response != nil {
			code = r.StatusCode
		}
		if err == nil && !merged {
			err = errors.New("it is not merged")
		}
		return r, err
	})
	switch {
	case later && (code == http.StatusCreated || code == http.StatusConflict): // 409: it was to be merged later before
		return fmt.Errorf("%w: checks or reviews are missing", forge.ErrQueued)
	case err == nil:
		return nil
	case code == http.StatusMethodNotAllowed:
		return fmt.Errorf("%w: %w", forge.ErrNotYet, err)
	}
	return err
}

// mergeAsAllowed merges a pull request without conflicts of which Gitea has refused
// a merge commit: it may have been too early, the style may not be allowed, or the
// branch is protected.
func (f *Forge) mergeAsAllowed(ctx context.Context, repo string, number int, head string) error {
	style := sdk.MergeStyleMerge
	err := f.callRepo(ctx, repo, func(c *sdk.Client, owner, name string) (*sdk.Response, error) {
		r, response, err := c.GetRepo(owner, name)
		switch {
		case err != nil || r.AllowMerge:
		case r.AllowSquash:
			style = sdk.MergeStyleSquash
		case r.AllowRebaseMerge:
			style = sdk.MergeStyleRebaseMerge
		case r.AllowRebase:
			style = sdk.MergeStyleRebase
		}
		return response, err
	})
	if err != nil {
		return fmt.Errorf("%w: %w", forge.ErrNotYet, err)
	}
	if err = f.mergeBy(ctx, repo, number, head, style, false); !errors.Is(err, forge.ErrNotYet) {
		return err
	}
	if later := f.mergeBy(ctx, repo, number, head, style, true); later == nil || errors.Is(later, forge.ErrQueued) {
		return later
	}
	return err
}
