package scenarios

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"code.gitea.io/sdk/gitea"
)

// wordStatus looks at the latest status of a commit in a context, and of those
// that have come of it.
func (s *script) wordStatus(args []string) error {
	repo, commit, context, state := args[0], args[1], args[2], args[3]
	if commit == "" {
		return unmet("it is not known yet which commit that is")
	}
	commits, err := s.forge.carriers(repo, commit)
	if err != nil {
		return err
	}
	var not error // the reason of the newest that has the context, or else of the first
	for _, c := range commits {
		latest, err := s.forge.statuses(repo, c)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(latest, func(status *gitea.Status) bool { return status.Context == context })
		if i < 0 {
			not = cmp.Or(not, withoutStatus(c, context, latest))
			continue
		}
		status := latest[i]
		if string(status.State) == state && (len(args) < 5 || status.Description == args[4]) {
			fmt.Fprintf(&s.ran, "%s of commit %s: %s (%s)\n", context, short(c), status.State, status.Description)
			return nil
		}
		not = unmet("%s of commit %s is %s (%s)", context, short(c), status.State, status.Description)
	}
	return not
}

// withoutStatus words that a commit has no status in a context.
func withoutStatus(commit, context string, others []*gitea.Status) error {
	if len(others) == 0 {
		return unmet("commit %s has no status yet", short(commit))
	}
	seen := make([]string, len(others))
	for i, status := range others {
		seen[i] = fmt.Sprintf("%q", status.Context)
	}
	return unmet("commit %s has no status %q, only %s", short(commit), context, strings.Join(seen, ", "))
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
