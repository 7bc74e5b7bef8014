package github

import (
	"context"
	"fmt"

	sdk "github.com/google/go-github/v88/github"
)

// HookEvents are what a scheduler has to hear of: pushes, and whatever can
// change a pull request or an issue of its own.
func HookEvents() []string {
	return []string{"push", "create", "delete", "pull_request", "issues"}
}

// Hook is a webhook of a repository.
type Hook struct {
	ID     int64
	URL    string
	Events []string
	Active bool
}

// Hooks lists the webhooks of a repository. Their secrets cannot be read.
func (f *Forge) Hooks(ctx context.Context, repo string) ([]Hook, error) {
	owner, name, err := split(repo)
	if err != nil {
		return nil, err
	}
	var all []Hook
	err = f.pages(ctx, func(page sdk.ListOptions) (*sdk.Response, bool, error) {
		list, r, err := f.client.Repositories.ListHooks(ctx, owner, name, &page)
		for _, h := range list {
			all = append(all, Hook{h.GetID(), h.GetConfig().GetURL(), h.Events, h.GetActive()})
		}
		return r, false, err
	})
	if err != nil {
		return nil, fmt.Errorf("webhooks of %s: %w", repo, err)
	}
	return all, nil
}

// SaveHook makes a webhook (ID 0) or brings the one that there is to this. The
// secret is set in both cases, and no error holds it.
func (f *Forge) SaveHook(ctx context.Context, repo string, h Hook, secret string) error {
	owner, name, err := split(repo)
	if err != nil {
		return err
	}
	want := &sdk.Hook{
		Config: &sdk.HookConfig{URL: &h.URL, ContentType: new("json"), InsecureSSL: new("0"), Secret: &secret},
		Events: h.Events, Active: &h.Active,
	}
	err = f.call(ctx, func() (r *sdk.Response, err error) {
		if h.ID == 0 {
			_, r, err = f.client.Repositories.CreateHook(ctx, owner, name, want)
			return r, err
		}
		_, r, err = f.client.Repositories.EditHook(ctx, owner, name, h.ID, want)
		return r, err
	})
	if err != nil {
		return fmt.Errorf("webhook %s of %s: %w", h.URL, repo, err)
	}
	return nil
}
