package git

import "code.gitea.io/sdk/gitea"

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
