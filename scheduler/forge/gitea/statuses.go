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
	newest := map[string]*sdk.Status{}
	err := f.pages(ctx, repo, func(c *sdk.Client, owner, name string, page sdk.ListOptions) (*sdk.Response, bool, error) {
		list, r, err := c.ListStatuses(owner, name, commit, sdk.ListStatusesOption{ListOptions: page})
		for _, s := range list {
			if old, ok := newest[s.Context]; !ok || s.ID > old.ID {
				newest[s.Context] = s
			}
		}
		return r, false, err
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

// state maps Gitea's states to the scheduler's three.
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
	err := f.callRepo(ctx, repo, func(c *sdk.Client, owner, name string) (*sdk.Response, error) {
		_, r, err := c.CreateStatus(owner, name, commit, sdk.CreateStatusOption{
			State: sdk.StatusState(status.State), TargetURL: status.URL, Description: status.Description, Context: status.Context,
		})
		return r, err
	})
	if err != nil {
		if absent := f.noCommit(ctx, repo, commit); absent != nil {
			err = absent
		}
		return fmt.Errorf("status %q of commit %s of %s: %w", status.Context, commit, repo, err)
	}
	return nil
}

// noCommit returns an error when a commit does not exist, for which Gitea
// answers with an internal error when a status of it is set.
func (f *Forge) noCommit(ctx context.Context, repo, commit string) error {
	err := f.callRepo(ctx, repo, func(c *sdk.Client, owner, name string) (*sdk.Response, error) {
		_, r, err := c.GetSingleCommit(owner, name, commit)
		return r, err
	})
	if errors.Is(err, forge.ErrNotFound) {
		return err
	}
	return nil
}
