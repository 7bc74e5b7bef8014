package gitea

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"

	"code.gitea.io/sdk/gitea"
	"github.com/kalypso-dev/kalypso/fixtures"
	"github.com/kalypso-dev/kalypso/fixtures/seed"
	"golang.org/x/sync/errgroup"
)

// Setup is what the forge holds when a workshop begins.
type Setup struct {
	Organisation string
	Admin        Account
	Scheduler    Account
	// Robot is the account that workflows write to other repositories with, and
	// start workflows in them.
	Robot        Account
	Repositories []fixtures.Repository
	Hook         Hook
	// Secrets are the names by which workflows of the organisation know the
	// robot's token.
	Secrets []string
	// Variables are those of all workflows of the organisation.
	Variables map[string]string
}

// Hook is a webhook for all repositories of the organisation.
type Hook struct {
	URL      string
	Secret   string
	Events   []string
	Replaces []string // URLs of webhooks that are removed
}

// Names of the tokens, see Server.TokenFile.
const (
	AdminToken     = "platform"
	SchedulerToken = "scheduler"
	FluxToken      = "flux" // may read repositories, no more
	RobotToken     = "workflows"
)

// Ensure brings the forge to the setup. What is there stays as it is: once a
// repository has been filled it belongs to its users, and is not
// looked at again. It may be interrupted and called again at any time.
func (g Server) Ensure(ctx context.Context, s Setup) error {
	admin, err := g.ensureToken(func() error { return g.ensureAdmin(ctx, s.Admin) }, s.Admin, AdminToken, gitea.AccessTokenScopeAll)
	if err != nil {
		return err
	}
	client, err := g.client(admin)
	if err != nil {
		return err
	}
	client.SetContext(ctx)

	// git's work on one repository leaves most of a second core idle
	var all errgroup.Group
	all.Go(func() error {
		_, schedulerErr := g.ensureToken(func() error { return createAccount(client, s.Scheduler) }, s.Scheduler, SchedulerToken, gitea.AccessTokenScopeAll)
		_, robotErr := g.ensureToken(func() error { return createAccount(client, s.Robot) }, s.Robot, RobotToken, gitea.AccessTokenScopeAll)
		_, fluxErr := g.ensureToken(func() error { return nil }, s.Admin, FluxToken, "read:repository")
		return errors.Join(schedulerErr, robotErr, fluxErr)
	})
	if err := ensureOrganisation(client, s.Organisation); err != nil {
		return errors.Join(err, all.Wait())
	}
	repositories, err := seed.Of(s.Repositories)
	if err != nil {
		return errors.Join(err, all.Wait())
	}
	for _, r := range repositories {
		all.Go(func() error {
			if err := g.ensureRepository(client, s, r); err != nil {
				return fmt.Errorf("repository %s: %w", r.Name, err)
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		return err
	}
	for _, t := range s.teams() {
		if err := ensureTeam(client, s.Organisation, t); err != nil {
			return fmt.Errorf("rights of %s: %w", t.member, err)
		}
	}
	if err := g.ensureSettings(client, s); err != nil {
		return err
	}
	if err := ensurePullRequests(client, s.Organisation, s.Repositories); err != nil {
		return err
	}
	return ensureHook(client, s.Organisation, s.Hook)
}

func ensureOrganisation(c *gitea.Client, name string) error {
	_, response, err := c.GetOrg(name)
	if err == nil {
		return nil
	}
	if response == nil || response.StatusCode != http.StatusNotFound {
		return fmt.Errorf("organisation %s: %w", name, err)
	}
	_, _, err = c.CreateOrg(gitea.CreateOrgOption{
		Name: name, Visibility: gitea.VisibleTypePublic, RepoAdminChangeTeamAccess: true,
	})
	return err
}

func (g Server) ensureRepository(c *gitea.Client, s Setup, r seed.Repository) error {
	filled := g.path("filled", r.Name)
	if _, err := os.Stat(filled); err == nil {
		return nil
	}
	repo, response, err := c.GetRepo(s.Organisation, r.Name)
	missing := response != nil && response.StatusCode == http.StatusNotFound
	if err != nil && !missing {
		return err
	}
	if !missing {
		// An earlier start was cut off, perhaps while Gitea took the repository
		// over, so that it may never learn of the branches that git has; only a new
		// repository is sure to be whole. When git cannot read one that is empty to
		// Gitea, it was cut off between its row in the database and its folder.
		ours, err := untouched(g.repository(s.Organisation, r.Name), r)
		if err != nil && !repo.Empty {
			return err
		}
		if ours || err != nil {
			if _, err := c.DeleteRepo(s.Organisation, r.Name); err != nil {
				return fmt.Errorf("begin anew: %w", err)
			}
			missing = true
		}
	}
	if missing {
		if err := g.adopt(c, s.Organisation, r); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(g.path("filled"), 0o700); err != nil {
		return err
	}
	return os.WriteFile(filled, nil, 0o600)
}

// repository is a repository's folder.
func (g Server) repository(organisation, name string) string {
	return g.path("data", "gitea-repositories", organisation, name+".git")
}

// adopt puts a new repository beside Gitea's and lets Gitea take it over. That
// costs a tenth of creating it and pushing to it: no hooks run, and Gitea knows
// the branches at once instead of a moment later.
func (g Server) adopt(c *gitea.Client, organisation string, r seed.Repository) error {
	// a folder that is there belongs to no repository that Gitea knows: it is
	// what a start has left that was cut off
	if err := writeBare(g.repository(organisation, r.Name), r); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	if _, err := c.AdoptUnadoptedRepo(organisation, r.Name); err != nil {
		return fmt.Errorf("adopt: %w", err)
	}
	public := false
	if _, _, err := c.EditRepo(organisation, r.Name, gitea.EditRepoOption{Description: &r.Description, Private: &public}); err != nil {
		return fmt.Errorf("edit: %w", err)
	}
	return nil
}

func ensureHook(c *gitea.Client, organisation string, hook Hook) error {
	present, _, err := c.ListOrgHooks(organisation, gitea.ListHooksOptions{})
	if err != nil {
		return fmt.Errorf("webhooks: %w", err)
	}
	if !slices.ContainsFunc(present, func(h *gitea.Hook) bool { return h.Config["url"] == hook.URL }) {
		_, _, err := c.CreateOrgHook(organisation, gitea.CreateHookOption{
			Type: gitea.HookTypeGitea, Active: true, Events: hook.Events,
			Config: map[string]string{"url": hook.URL, "content_type": "json", "secret": hook.Secret},
		})
		if err != nil {
			return fmt.Errorf("webhook %s: %w", hook.URL, err)
		}
	}
	for _, h := range present {
		if slices.Contains(hook.Replaces, h.Config["url"]) {
			if _, err := c.DeleteOrgHook(organisation, h.ID); err != nil {
				return fmt.Errorf("remove webhook %s: %w", h.Config["url"], err)
			}
		}
	}
	return nil
}

// ensurePullRequests opens those that a workshop begins with. One that users
// have merged or closed stays so.
func ensurePullRequests(c *gitea.Client, organisation string, repositories []fixtures.Repository) error {
	for _, r := range repositories {
		if len(r.PullRequests) == 0 {
			continue
		}
		// the newest come first, and these are the oldest
		present, _, err := c.ListRepoPullRequests(organisation, r.Name, gitea.ListPullRequestsOptions{State: gitea.StateAll, Sort: "oldest"})
		if err != nil {
			return fmt.Errorf("pull requests of %s: %w", r.Name, err)
		}
		for _, p := range r.PullRequests {
			if slices.ContainsFunc(present, func(pr *gitea.PullRequest) bool { return pr.Title == p.Title }) {
				continue
			}
			_, _, err := c.CreatePullRequest(organisation, r.Name, gitea.CreatePullRequestOption{
				Head: p.Head, Base: p.Base, Title: p.Title, Body: p.Body,
			})
			if err != nil {
				return fmt.Errorf("pull request %q of %s: %w", p.Title, r.Name, err)
			}
		}
	}
	return nil
}

// ensureSettings gives the workflows of all repositories their secrets and
// variables. Secrets cannot be read, so they are written at each start; a
// variable that is there belongs to the users, who may have changed it.
func (g Server) ensureSettings(c *gitea.Client, s Setup) error {
	token, err := os.ReadFile(g.TokenFile(RobotToken))
	if err != nil {
		return err
	}
	for _, name := range s.Secrets {
		_, err := c.CreateOrgActionSecret(s.Organisation, name, gitea.CreateOrUpdateSecretOption{Data: strings.TrimSpace(string(token))})
		if err != nil {
			return fmt.Errorf("secret %s: %w", name, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Variables)) {
		_, response, err := c.GetOrgActionVariable(s.Organisation, name)
		if err == nil {
			continue
		}
		if response == nil || response.StatusCode != http.StatusNotFound {
			return fmt.Errorf("variable %s: %w", name, err)
		}
		_, err = c.CreateOrgActionVariable(s.Organisation, name, gitea.CreateActionVariableOption{
			Value:       s.Variables[name],
			Description: "The environment that follows one, for promotions",
		})
		if err != nil {
			return fmt.Errorf("variable %s: %w", name, err)
		}
	}
	return nil
}

// team gives one account what it needs in every repository of the
// organisation, present and future.
type team struct {
	name, description string
	member            string
	units             []gitea.RepoUnitType // that it may write to
}

func (s Setup) teams() []team {
	return []team{{
		name: "scheduler", description: "The scheduler's own account", member: s.Scheduler.User,
		units: []gitea.RepoUnitType{gitea.RepoUnitCode, gitea.RepoUnitIssues, gitea.RepoUnitPulls},
	}, {
		name: "workflows", description: "The account that workflows use in other repositories", member: s.Robot.User,
		units: []gitea.RepoUnitType{gitea.RepoUnitCode, gitea.RepoUnitIssues, gitea.RepoUnitPulls, gitea.RepoUnitActions, gitea.RepoUnitPackages},
	}}
}

func ensureTeam(c *gitea.Client, organisation string, wanted team) error {
	found, _, err := c.SearchOrgTeams(organisation, &gitea.SearchTeamsOptions{Query: wanted.name})
	if err != nil {
		return err
	}
	var present *gitea.Team
	for _, t := range found {
		if t.Name == wanted.name {
			present = t
		}
	}
	if present == nil {
		present, _, err = c.CreateTeam(organisation, gitea.CreateTeamOption{
			Name: wanted.name, Description: wanted.description, Permission: gitea.AccessModeWrite,
			IncludesAllRepositories: true, Units: wanted.units,
		})
		if err != nil {
			return err
		}
	}
	_, err = c.AddTeamMember(present.ID, wanted.member)
	return err
}
