package github

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	sdk "github.com/google/go-github/v88/github"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// statusText is as much of a description as GitHub takes.
const statusText = 140

// Statuses implements forge.Forge.
func (f *Forge) Statuses(ctx context.Context, repo, commit string) ([]forge.Status, error) {
	owner, name, err := split(repo)
	if err != nil {
		return nil, err
	}
	found := map[string]forge.Status{}
	err = f.pages(ctx, func(page sdk.ListOptions) (*sdk.Response, bool, error) {
		all, r, err := f.client.Repositories.GetCombinedStatus(ctx, owner, name, commit, &page)
		for _, s := range all.GetStatuses() {
			found[s.GetContext()] = forge.Status{Context: s.GetContext(), State: statusState(s.GetState()), Description: s.GetDescription(), URL: s.GetTargetURL()}
		}
		return r, false, err
	})
	if err != nil {
		return nil, fmt.Errorf("statuses of commit %s of %s: %w", commit, repo, err)
	}
	return sortedStatuses(found), nil
}

// SetStatus implements forge.Forge.
func (f *Forge) SetStatus(ctx context.Context, repo, commit string, status forge.Status) error {
	owner, name, err := split(repo)
	if err != nil {
		return err
	}
	s := sdk.RepoStatus{State: new(string(status.State)), Context: &status.Context}
	if status.Description != "" {
		s.Description = new(shortened(status.Description, statusText))
	}
	if status.URL != "" {
		s.TargetURL = &status.URL
	}
	err = f.call(ctx, func() (*sdk.Response, error) {
		_, r, err := f.client.Repositories.CreateStatus(ctx, owner, name, commit, s)
		return r, err
	})
	if err != nil {
		err = fmt.Errorf("status %q of commit %s of %s: %w", status.Context, commit, repo, err)
	}
	return err
}

// statusState maps GitHub's states to the three that the scheduler tells apart.
func statusState(s string) forge.StatusState {
	switch s {
	case "success":
		return forge.Success
	case "pending":
		return forge.Pending
	}
	return forge.Failure
}

func sortedStatuses(found map[string]forge.Status) []forge.Status {
	list := slices.Collect(maps.Values(found))
	slices.SortFunc(list, func(a, b forge.Status) int { return strings.Compare(a.Context, b.Context) })
	return list
}

// shortened is a text of at most so many characters.
func shortened(s string, limit int) string {
	runes := []rune(s)
	if len(runes) <= limit {
		return s
	}
	return string(runes[:limit-1]) + "…"
}
