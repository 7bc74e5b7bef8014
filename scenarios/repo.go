package scenarios

import (
	"fmt"
	"net/http"
	"strings"

	"code.gitea.io/sdk/gitea"
)

func (s *script) wordRepoShow(args []string) error {
	b, err := s.forge.file(args[0], args[1], args[2])
	s.stdout.Write(b)
	s.prints("%s on %s of %s", args[2], args[1], args[0])
	return err
}

// wordRepoSameYAML compares a file on a branch, and finds the commit that has
// brought it there: a person may have pushed it.
func (s *script) wordRepoSameYAML(args []string) error {
	repo, branch, path := args[0], args[1], args[2]
	b, err := s.forge.file(repo, branch, path)
	if err != nil {
		return err
	}
	got, err := parseObjects(path, b)
	if err != nil {
		return unmet("%w", err)
	}
	_, wanted, err := s.readObjects(args[3], args[3])
	if err != nil {
		return err
	}
	if findings := compareAll(got, wanted, true); len(findings) > 0 {
		return unmet("%s on %s of %s is not as it should be:\n  %s", path, branch, repo, strings.Join(findings, "\n  "))
	}
	return s.broughtBy(repo, branch, path)
}

func (s *script) wordRepoHasText(args []string) error {
	repo, branch, path := args[0], args[1], args[2]
	b, err := s.forge.file(repo, branch, path)
	if err != nil {
		return err
	}
	wanted, err := s.read(args[3])
	if err != nil {
		return err
	}
	if !strings.Contains(string(b), string(wanted)) {
		return unmet("%s on %s of %s does not have the lines:\n%s", path, branch, repo, strings.TrimRight(string(wanted), "\n"))
	}
	return s.broughtBy(repo, branch, path)
}

// broughtBy sets $COMMIT to the last commit that changed a file.
func (s *script) broughtBy(repo, branch, path string) error {
	c, err := s.forge.lastChange(repo, branch, path)
	if err != nil {
		return err
	}
	if s.since, err = commitTime(c); err != nil {
		return err
	}
	s.setenv("COMMIT", c.SHA)
	return nil
}

func (f *forge) lastChange(repo, branch, path string) (*gitea.Commit, error) {
	list, _, err := f.client.ListRepoCommits(f.owner, repo, gitea.ListCommitOptions{
		SHA: branch, Path: path, ListOptions: gitea.ListOptions{PageSize: 1},
	})
	if err != nil {
		return nil, fmt.Errorf("commits of %s: %w", repo, err)
	}
	if len(list) == 0 || list[0].CommitMeta == nil {
		return nil, unmet("no commit on %s of %s has brought %s", branch, repo, path)
	}
	return list[0], nil
}

func (s *script) wordRepoGone(args []string) error {
	_, response, err := s.forge.client.GetRepo(s.forge.owner, args[0])
	switch {
	case response != nil && response.StatusCode == http.StatusNotFound:
		return nil
	case err != nil:
		return fmt.Errorf("repository %s: %w", args[0], err)
	}
	return unmet("repository %s is still there", args[0])
}
