package scenarios

import (
	"fmt"
	"strconv"
	"strings"

	"code.gitea.io/sdk/gitea"
)

// wordIssueOpen looks for an open issue with a title, and texts in its body.
func (s *script) wordIssueOpen(args []string) error {
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

// wordIssueClosed looks for a closed issue, and none that is open.
func (s *script) wordIssueClosed(args []string) error {
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

// wordIssueCount counts the open issues of a repository.
func (s *script) wordIssueCount(args []string) error {
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
