package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"code.gitea.io/sdk/gitea"
)

// runIssueOpen looks for an open issue with a title, and texts in its body.
func (s *script) runIssueOpen(args []string) error {
	repo, title, texts := args[0], args[1], args[2:]
	open, others, err := s.forge.issues(repo, title, gitea.StateOpen)
	if err != nil {
		return err
	}
	switch {
	case len(open) == 0:
		return unmet("no issue %q is open in %s%s", title, repo, onlyThese(others))
	case len(open) > 1:
		return unmet("%d issues %q are open in %s", len(open), title, repo)
	}
	fmt.Fprintf(&s.ran, "%s\n", open[0].HTMLURL)
	for _, text := range texts {
		if !strings.Contains(open[0].Body, text) {
			return unmet("issue #%d of %s does not say %q", open[0].Index, repo, text)
		}
	}
	return nil
}

// runIssueClosed looks for a closed issue, and none that is open.
func (s *script) runIssueClosed(args []string) error {
	repo, title := args[0], args[1]
	open, _, err := s.forge.issues(repo, title, gitea.StateOpen)
	if err != nil {
		return err
	}
	if len(open) > 0 {
		return unmet("issue #%d of %s is open: %s", open[0].Index, repo, open[0].HTMLURL)
	}
	closed, others, err := s.forge.issues(repo, title, gitea.StateClosed)
	if err != nil {
		return err
	}
	if len(closed) == 0 {
		return unmet("%s has never had an issue %q%s", repo, title, onlyThese(others))
	}
	return nil
}

// runIssueCount counts the open issues of a repository.
func (s *script) runIssueCount(args []string) error {
	repo := args[0]
	want, err := strconv.Atoi(args[1])
	if err != nil {
		return fmt.Errorf("%q is not a number of issues", args[1])
	}
	_, open, err := s.forge.issues(repo, "", gitea.StateOpen)
	if err != nil {
		return err
	}
	if len(open) != want {
		return unmet("%s has %d open issues instead of %d: %s", repo, len(open), want, strings.Join(open, ", "))
	}
	return nil
}

// issues lists those with a title, and names the others.
func (f *forge) issues(repo, title string, state gitea.StateType) (found []*gitea.Issue, others []string, err error) {
	list, _, err := f.client.ListRepoIssues(f.owner, repo, gitea.ListIssueOption{
		State: state, Type: gitea.IssueTypeIssue, ListOptions: gitea.ListOptions{PageSize: 50},
	})
	if err != nil {
		return nil, nil, fmt.Errorf("issues of %s: %w", repo, err)
	}
	for _, i := range list {
		if i.Title == title {
			found = append(found, i)
		} else {
			others = append(others, fmt.Sprintf("%q", i.Title))
		}
	}
	return found, others, nil
}

// onlyThese goes on with what there is in place of what is not.
func onlyThese(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return ", only " + strings.Join(names, ", ")
}

// runStatus looks at the latest status of a commit in a context, and of those
// that have come of it.
func (s *script) runStatus(args []string) error {
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
		all, err := s.forge.statuses(repo, c)
		if err != nil {
			return err
		}
		all, others := ofContext(all, context)
		if len(all) == 0 {
			not = cmp.Or(not, withoutStatus(c, context, others))
			continue
		}
		status := all[0]
		matches := func(status *gitea.Status) bool {
			// what was pending has ended well since
			reached := string(status.State) == state || gitea.StatusState(state) == gitea.StatusPending && status.State == gitea.StatusSuccess
			return reached && (len(args) < 5 || status.Description == args[4])
		}
		// what has been achieved stays so while a newer run is under way; who waits,
		// waits for that one
		if n := slices.IndexFunc(all, func(status *gitea.Status) bool { return matches(status) || status.State != gitea.StatusPending }); n > 0 && !s.waits {
			status = all[n]
		}
		if matches(status) {
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

// statuses are all that a commit has been given, the latest first.
func (f *forge) statuses(repo, commit string) ([]*gitea.Status, error) {
	list, _, err := f.client.ListStatuses(f.owner, repo, commit, gitea.ListStatusesOption{
		ListOptions: gitea.ListOptions{PageSize: 50},
	})
	if err != nil {
		return nil, fmt.Errorf("statuses of commit %s of %s: %w", short(commit), repo, err)
	}
	slices.SortStableFunc(list, func(a, b *gitea.Status) int { return cmp.Compare(b.ID, a.ID) })
	return list, nil
}

// ofContext divides statuses into those of a context and the latest of each other.
func ofContext(all []*gitea.Status, context string) (its, others []*gitea.Status) {
	for _, status := range all {
		switch {
		case status.Context == context:
			its = append(its, status)
		case !slices.ContainsFunc(others, func(o *gitea.Status) bool { return o.Context == status.Context }):
			others = append(others, status)
		}
	}
	return its, others
}
