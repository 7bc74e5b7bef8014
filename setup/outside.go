package setup

import (
	"context"
	"fmt"
	"slices"

	"github.com/kalypso-dev/kalypso/fixtures"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/github"
)

// webhook adds the scheduler's. One for its address is brought up to date, since
// nobody can see whether it has the secret.
func (p *Plan) webhook(ctx context.Context, o Options, r wanted, there bool) error {
	if o.Webhook == nil {
		return nil
	}
	hook := github.Hook{URL: o.Webhook.URL, Events: github.HookEvents(), Active: true}
	what := "make the webhook "
	if there {
		var err error
		if hook.ID, err = o.hookID(ctx, r.name); err != nil {
			return err
		}
		if hook.ID != 0 {
			what = "set the secret of the webhook "
		}
	}
	p.add(r, what+hook.URL, func(ctx context.Context) error { return o.saveHook(ctx, r.name, hook) })
	return nil
}

// saveHook looks for the webhook once more when it cannot be made: somebody
// else may have made it meanwhile, or the answer was lost.
func (o Options) saveHook(ctx context.Context, repo string, hook github.Hook) error {
	err := o.Forge.SaveHook(ctx, repo, hook, o.Webhook.Secret)
	if err == nil || hook.ID != 0 {
		return err
	}
	id, looked := o.hookID(ctx, repo)
	if looked != nil || id == 0 {
		return err
	}
	hook.ID = id
	return o.Forge.SaveHook(ctx, repo, hook, o.Webhook.Secret)
}

// hookID is that of the webhook for the wanted address, 0 when there is none.
func (o Options) hookID(ctx context.Context, repo string) (int64, error) {
	all, err := o.Forge.Hooks(ctx, repo)
	if err != nil {
		return 0, err
	}
	if i := slices.IndexFunc(all, func(h github.Hook) bool { return h.URL == o.Webhook.URL }); i >= 0 {
		return all[i].ID, nil
	}
	return 0, nil
}

// pulls adds the pull requests that a workshop begins with. One that people have
// merged or closed stays so.
func (p *Plan) pulls(ctx context.Context, o Options, r wanted, there bool) error {
	for _, pr := range r.PullRequests {
		if there {
			all, err := o.Forge.PullRequests(ctx, r.name, pr.Head, pr.Base)
			if err != nil {
				return err
			}
			if len(all) > 0 {
				continue
			}
		}
		p.add(r, fmt.Sprintf("open the pull request %q", pr.Title), func(ctx context.Context) error { return o.pull(ctx, r.name, pr) })
	}
	return nil
}

// pull opens a pull request, unless somebody else has done so meanwhile.
func (o Options) pull(ctx context.Context, repo string, pr fixtures.PullRequest) error {
	_, err := o.Forge.SavePullRequest(ctx, repo, forge.PullRequest{Head: pr.Head, Base: pr.Base, Title: pr.Title, Body: pr.Body, State: forge.Open})
	if err == nil {
		return nil
	}
	if all, looked := o.Forge.PullRequests(ctx, repo, pr.Head, pr.Base); looked == nil && len(all) > 0 {
		return nil
	}
	return err
}
