package scenarios

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
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

// broughtBy sets $COMMIT to the commit by which a branch came to have a file as
// it is. That is not always the last one that changed it: what comes by a pull
// request is on the branch with the merge, which is the commit that a push
// event, a promotion and a status are about.
func (s *script) broughtBy(repo, branch, path string) error {
	c, err := s.forge.lastChange(repo, branch, path)
	if err != nil {
		return err
	}
	h, err := s.forge.historyOf(repo, branch, c.SHA)
	if err != nil {
		return err
	}
	if line := h.since(c.SHA); len(line) > 0 {
		c = line[len(line)-1]
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

// pinned finds the commit that a branch of the control plane takes.
var pinned = regexp.MustCompile(`(?m)^\s*commit:\s*["']?([0-9a-f]{40})\b`)

// basePath is the file of an environment's branch that says so.
const basePath = "base-repo.yaml"

func (s *script) wordRepoPromotes(args []string) error {
	repo, branch, commit := args[0], args[1], args[2]
	b, err := s.forge.file(repo, branch, basePath)
	if err != nil {
		return err
	}
	where := fmt.Sprintf("%s on %s of %s", basePath, branch, repo)
	m := pinned.FindSubmatch(b)
	if m == nil {
		return unmet("%s names no commit", where)
	}
	return s.promotes(where, repo, string(m[1]), commit)
}

// promotes tells whether a commit that is promoted is another one, or has come
// of it. One push can bring several commits, and is promoted as a whole, by its
// last one; and whoever pushes again before a promotion takes the earlier along.
func (s *script) promotes(where, repo, promoted, commit string) error {
	if commit == "" {
		return errNoCommit
	}
	fmt.Fprintf(&s.ran, "%s: %s\n", where, promoted)
	if promoted == commit {
		return nil
	}
	h, err := s.forge.historyOf(repo, promoted, commit)
	if err != nil {
		return err
	}
	if h.commits[commit] == nil {
		return unmet("%s names commit %s, which does not contain %s", where, short(promoted), short(commit))
	}
	return nil
}

// errNoCommit breaks a check rather than being its result: that nothing is known
// would be right for whatever must not be so.
var errNoCommit = errors.New("it is not known yet which commit that is")
