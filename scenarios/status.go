package scenarios

import (
	"fmt"
	"strings"

	"code.gitea.io/sdk/gitea"
)

// wordStatus looks at the latest status of a commit in a context.
func (s *script) wordStatus(args []string) error {
	repo, commit, context, state := args[0], args[1], args[2], args[3]
	if commit == "" {
		return unmet("it is not known yet which commit that is")
	}
	latest, err := s.forge.statuses(repo, commit)
	if err != nil {
		return err
	}
	var seen []string
	for _, status := range latest {
		if status.Context != context {
			seen = append(seen, fmt.Sprintf("%q", status.Context))
			continue
		}
		if string(status.State) != state || len(args) == 5 && status.Description != args[4] {
			return unmet("%s of commit %s is %s (%s)", context, short(commit), status.State, status.Description)
		}
		fmt.Fprintf(&s.ran, "%s: %s (%s)\n", context, status.State, status.Description)
		return nil
	}
	if len(seen) > 0 {
		return unmet("commit %s has no status %q, only %s", short(commit), context, strings.Join(seen, ", "))
	}
	return unmet("commit %s has no status yet", short(commit))
}

// statuses are the latest of each context.
func (f *forge) statuses(repo, commit string) ([]*gitea.Status, error) {
	list, _, err := f.client.ListStatuses(f.owner, repo, commit, gitea.ListStatusesOption{
		ListOptions: gitea.ListOptions{PageSize: 50},
	})
	if err != nil {
		return nil, fmt.Errorf("statuses of commit %s of %s: %w", short(commit), repo, err)
	}
	byContext := map[string]*gitea.Status{}
	var order []string
	for _, status := range list {
		before := byContext[status.Context]
		if before == nil {
			order = append(order, status.Context)
		}
		if before == nil || status.ID > before.ID {
			byContext[status.Context] = status
		}
	}
	var latest []*gitea.Status
	for _, context := range order {
		latest = append(latest, byContext[context])
	}
	return latest, nil
}
