package gitea

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// Statuses implements forge.Forge.
func (f *Forge) Statuses(ctx context.Context, repo, commit string) ([]forge.Status, error) {
	owner, name, err := split(repo)
	if err != nil {
		return nil, err
	}
	newest := map[string]*sdk.Status{}
	err = f.call(ctx, func(c *sdk.Client) (*sdk.Response, error) {
		return pages(func(page sdk.ListOptions) (*sdk.Response, bool, error) {
			list, r, err := c.ListStatuses(owner, name, commit, sdk.ListStatusesOption{ListOptions: page})
			for _, s := range list {
				if old, ok := newest[s.Context]; !ok || s.ID > old.ID {
					newest[s.Context] = s
				}
			}
			return r, false, err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("statuses of commit %s of %s: %w", commit, repo, err)
	}
	statuses := make([]forge.Status, 0, len(newest))
	for _, s := range newest {
		statuses = append(statuses, forge.Status{Context: s.Context, State: state(s.State), Description: s.Description, URL: s.TargetURL})
	}
	slices.SortFunc(statuses, func(a, b forge.Status) int { return strings.Compare(a.Context, b.Context) })
	return statuses, nil
}

// state maps Gitea's states to the three that the scheduler tells apart.
func state(s sdk.StatusState) forge.StatusState {
	switch s {
	case sdk.StatusSuccess, sdk.StatusWarning:
		return forge.Success
	case sdk.StatusPending:
		return forge.Pending
	}
	return forge.Failure
}

// SetStatus implements forge.Forge.
func (f *Forge) SetStatus(ctx context.Context, repo, commit string, status forge.Status) error {
	owner, name, err := split(repo)
	if err != nil {
		return err
	}
	err = f.call(ctx, func(c *sdk.Client) (*sdk.Response, error) {
		_, r, err := c.CreateStatus(owner, name, commit, sdk.CreateStatusOption{
			State: sdk.StatusState(status.State), TargetURL: status.URL, Description: status.Description, Context: status.Context,
		})
		return r, err
	})
	if err != nil {
		if absent := f.noCommit(ctx, owner, name, commit); absent != nil {
			err = absent
		}
		return fmt.Errorf("status %q of commit %s of %s: %w", status.Context, commit, repo, err)
	}
	return nil
}

// noCommit returns an error when a commit is not there, which Gitea calls a
// mistake of its own when it is asked for a status.
func (f *Forge) noCommit(ctx context.Context, owner, name, commit string) error {
	err := f.call(ctx, func(c *sdk.Client) (*sdk.Response, error) {
		_, r, err := c.GetSingleCommit(owner, name, commit)
		return r, err
	})
	if errors.Is(err, forge.ErrNotFound) {
		return err
	}
	return nil
}
