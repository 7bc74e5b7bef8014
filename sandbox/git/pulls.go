package git

import (
	"fmt"
	"slices"

	"code.gitea.io/sdk/gitea"
	"github.com/kalypso-dev/kalypso/fixtures"
)

// ensurePullRequests opens those that a workshop begins with. One that people
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
