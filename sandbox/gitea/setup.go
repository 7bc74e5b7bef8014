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
	"github.com/kalypso-dev/kalypso/workshop"
	"github.com/kalypso-dev/kalypso/workshop/seed"
	"golang.org/x/sync/errgroup"
)

// Setup is what the forge holds when a workshop begins.
type Setup struct {
	Organisation string
	Admin        Account
	Scheduler    Account
	// Robot is the account that workflows write to other repositories with, and
	// start workflows in them.
	Robot Account
	// Hub is the account that the hub opens pull requests with, in the control plane alone.
	Hub      Account
	Workshop *workshop.Workshop // as it is loaded for the organisation
	Hook     Hook
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
	HubToken       = "hub" // may write to repositories and issues that its account may
)

// Ensure brings the forge to the setup. What is there stays as it is: once a
// repository has been filled it belongs to its users, and is not
// looked at again. It may be interrupted and called again at any time.
func (g Server) Ensure(ctx context.Context, s Setup) error {
	client, _, err := g.ensureAdminToken(ctx, s)
	if err != nil {
		return err
	}
	// git's work on one repository leaves most of a second core idle
	var all errgroup.Group
	all.Go(func() error {
		_, err := g.ensureTokens(ctx, client, s)
		return err
	})
	if err := ensureOrganisation(client, s.Organisation); err != nil {
		return errors.Join(err, all.Wait())
	}
	repositories, err := seed.Of(s.Workshop, workshop.On(g.URL+"/"+s.Organisation))
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
	if err := ensureTeams(client, s); err != nil {
		return err
	}
	if err := g.ensureSecrets(client, s); err != nil {
		return err
	}
	if err := ensureVariables(client, s); err != nil {
		return err
	}
	if err := ensurePullRequests(client, s.Organisation, s.Workshop.Repositories); err != nil {
		return err
	}
	return ensureHook(client, s.Organisation, s.Hook)
}

// EnsureCredentials looks whether the forge still knows the sandbox's own tokens
// and whether workflows have theirs, of a forge that Ensure has set up. It makes
// what is missing, with the account and its rights where these are gone, and
// returns what it has made, for messages.
func (g Server) EnsureCredentials(ctx context.Context, s Setup) (made []string, err error) {
	client, adminMade, err := g.ensureAdminToken(ctx, s)
	if err != nil {
		return nil, err
	}
	names, err := g.ensureTokens(ctx, client, s)
	if adminMade {
		names = append([]string{AdminToken}, names...)
	}
	for _, name := range names {
		made = append(made, "the forge did not know the token "+name+" any more: it has a new one")
	}
	if err != nil {
		return made, err
	}
	if len(names) > 0 {
		if err := ensureTeams(client, s); err != nil {
			return made, err
		}
	}
	present, _, err := client.ListOrgActionSecret(s.Organisation, gitea.ListOrgActionSecretOption{})
	if err != nil {
		return made, fmt.Errorf("secrets of workflows: %w", err)
	}
	missing := slices.DeleteFunc(slices.Clone(s.Workshop.Workflows.Secrets), func(name string) bool {
		return slices.ContainsFunc(present, func(p *gitea.Secret) bool { return strings.EqualFold(p.Name, name) })
	})
	if len(missing) == 0 && !slices.Contains(names, RobotToken) {
		return made, nil
	}
	made = append(made, "workflows have their secrets again: "+strings.Join(s.Workshop.Workflows.Secrets, ", "))
	return made, g.ensureSecrets(client, s)
}

// ensureAdminToken makes sure of the account that makes everything else.
func (g Server) ensureAdminToken(ctx context.Context, s Setup) (c *gitea.Client, made bool, err error) {
	made, err = g.ensureToken(ctx, func() error { return g.ensureAdmin(ctx, s.Admin) }, s.Admin, AdminToken, gitea.AccessTokenScopeAll)
	if err != nil {
		return nil, false, err
	}
	token, err := os.ReadFile(g.TokenFile(AdminToken))
	if err != nil {
		return nil, made, err
	}
	c, err = g.client(string(token))
	if err == nil {
		c.SetContext(ctx)
	}
	return c, made, err
}

// ensureTokens makes sure of the other accounts and tokens, and returns the names
// of those that it has made.
func (g Server) ensureTokens(ctx context.Context, admin *gitea.Client, s Setup) (made []string, err error) {
	var all []error
	for _, t := range []struct {
		name    string
		account Account
		scopes  []gitea.AccessTokenScope
	}{
		{SchedulerToken, s.Scheduler, []gitea.AccessTokenScope{gitea.AccessTokenScopeAll}},
		{RobotToken, s.Robot, []gitea.AccessTokenScope{gitea.AccessTokenScopeAll}},
		{FluxToken, s.Admin, []gitea.AccessTokenScope{"read:repository"}},
		{HubToken, s.Hub, []gitea.AccessTokenScope{"write:repository", "write:issue"}},
	} {
		isNew, err := g.ensureToken(ctx, func() error { return createAccount(admin, t.account) }, t.account, t.name, t.scopes...)
		if isNew {
			made = append(made, t.name)
		}
		all = append(all, err)
	}
	return made, errors.Join(all...)
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
func ensurePullRequests(c *gitea.Client, organisation string, repositories []workshop.Repository) error {
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

// ensureSecrets gives the workflows of all repositories their secrets. They cannot
// be read, so they are written.
func (g Server) ensureSecrets(c *gitea.Client, s Setup) error {
	token, err := os.ReadFile(g.TokenFile(RobotToken))
	if err != nil {
		return err
	}
	for _, name := range s.Workshop.Workflows.Secrets {
		_, err := c.CreateOrgActionSecret(s.Organisation, name, gitea.CreateOrUpdateSecretOption{Data: strings.TrimSpace(string(token))})
		if err != nil {
			return fmt.Errorf("secret %s: %w", name, err)
		}
	}
	return nil
}

// ensureVariables gives the workflows of all repositories their variables. One
// that is there belongs to the users, who may have changed it.
func ensureVariables(c *gitea.Client, s Setup) error {
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
// organisation, present and future, or in one of them.
type team struct {
	name, description string
	member            string
	units             []gitea.RepoUnitType // that it may write to
	repository        string               // "" for all
}

func (s Setup) teams() []team {
	return []team{{
		name: "scheduler", description: "The scheduler's own account", member: s.Scheduler.User,
		units: []gitea.RepoUnitType{gitea.RepoUnitCode, gitea.RepoUnitIssues, gitea.RepoUnitPulls},
	}, {
		name: "workflows", description: "The account that workflows use in other repositories", member: s.Robot.User,
		units: []gitea.RepoUnitType{gitea.RepoUnitCode, gitea.RepoUnitIssues, gitea.RepoUnitPulls, gitea.RepoUnitActions, gitea.RepoUnitPackages},
	}, {
		name: "hub", description: "The account that the hub opens pull requests with", member: s.Hub.User,
		units: []gitea.RepoUnitType{gitea.RepoUnitCode, gitea.RepoUnitIssues, gitea.RepoUnitPulls}, repository: s.Workshop.ControlPlane.Repository,
	}}
}

func ensureTeams(c *gitea.Client, s Setup) error {
	for _, t := range s.teams() {
		if err := ensureTeam(c, s.Organisation, t); err != nil {
			return fmt.Errorf("rights of %s: %w", t.member, err)
		}
	}
	return nil
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
			IncludesAllRepositories: wanted.repository == "", Units: wanted.units,
		})
		if err != nil {
			return err
		}
	}
	if wanted.repository != "" {
		if _, err := c.AddTeamRepository(present.ID, organisation, wanted.repository); err != nil {
			return err
		}
	}
	_, err = c.AddTeamMember(present.ID, wanted.member)
	return err
}
