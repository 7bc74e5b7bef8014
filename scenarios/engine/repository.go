package engine

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"code.gitea.io/sdk/gitea"

	forgeapi "github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/workshop/seed"
)

func (s *script) runRepoShow(args []string) error {
	b, err := s.forge.file(args[0], args[1], args[2])
	s.stdout.Write(b)
	s.prints("%s on %s of %s", args[2], args[1], args[0])
	return err
}

// runRepoSameYAML compares a file on a branch, and finds the commit that has
// brought it there: a user may have pushed it.
func (s *script) runRepoSameYAML(args []string) error {
	repo, branch, path := args[0], args[1], args[2]
	b, err := s.forge.file(repo, branch, path)
	if err != nil {
		return err
	}
	got, err := parseObjects(path, s.spelled(b))
	if err != nil {
		return unmet("%w", err)
	}
	wanted, err := s.objects(args[3])
	if err != nil {
		return err
	}
	if findings := compareAll(got, wanted, true); len(findings) > 0 {
		return unmet("%s on %s of %s is not as it should be:\n  %s", path, branch, repo, strings.Join(findings, "\n  "))
	}
	return s.broughtBy(repo, branch, path)
}

// runRepoHasObjects finds objects on a branch in whatever files they lie, and the
// commit that has brought the last of them.
func (s *script) runRepoHasObjects(args []string) error {
	repo, branch, path := args[0], args[1], args[2]
	wanted, err := s.objects(args[3])
	if err != nil {
		return err
	}
	b, missing := s.forge.file(repo, branch, path)
	var not *unmetError
	if missing != nil && !errors.As(missing, &not) {
		return missing
	}
	here, broken := parseObjects(path, s.spelled(b))
	found := path
	for _, w := range wanted {
		where, got := path, find(here, w)
		if got == nil {
			if where, got, err = s.findElsewhere(repo, branch, w); err != nil {
				return err
			}
		}
		switch {
		case got == nil && missing != nil:
			return s.explainMissing(repo, branch, w, missing)
		case got == nil && broken != nil:
			return unmet("%w", broken)
		case got == nil:
			return unmet("%s on %s of %s is not as it should be:\n  %s", path, branch, repo, strings.Join(compareAll(here, wanted, true), "\n  "))
		}
		if findings := compareAll([]any{got}, []any{w}, true); len(findings) > 0 {
			if where != path {
				where += ", where the tutorial has " + path + ","
			}
			return unmet("%s on %s of %s is not as it should be:\n  %s", where, branch, repo, strings.Join(findings, "\n  "))
		}
		found = where
	}
	return s.broughtBy(repo, branch, found)
}

// find returns the object of a kind and name, nil if there is none.
func find(all []any, wanted any) any {
	id := identity(wanted)
	i := slices.IndexFunc(all, func(o any) bool { return id != "" && identity(o) == id })
	if i < 0 {
		return nil
	}
	return all[i]
}

// findElsewhere finds an object of a kind and name on a branch, and its file.
// Files that are no YAML, such as templates, have none.
func (s *script) findElsewhere(repo, branch string, wanted any) (path string, object any, err error) {
	files, err := s.forge.yamlFiles(repo, branch)
	if err != nil {
		return "", nil, err
	}
	for _, f := range files {
		objects, known := s.blobs[f.SHA]
		if !known {
			b, err := s.forge.file(repo, branch, f.Path)
			if err != nil {
				return "", nil, err
			}
			objects, _ = parseObjects(f.Path, s.spelled(b))
			if s.blobs == nil {
				s.blobs = map[string][]any{}
			}
			s.blobs[f.SHA] = objects
		}
		if o := find(objects, wanted); o != nil {
			return f.Path, o, nil
		}
	}
	return "", nil, nil
}

// explainMissing says of an object that is nowhere on its branch whether it is on
// another one, or nobody has pushed to the branch yet; otherwise as it says.
func (s *script) explainMissing(repo, branch string, wanted any, otherwise error) error {
	branches, _, err := s.forge.client.ListRepoBranches(s.forge.owner, repo, gitea.ListRepoBranchesOptions{ListOptions: gitea.ListOptions{PageSize: 50}})
	if err != nil {
		return fmt.Errorf("branches of %s: %w", repo, err)
	}
	for _, other := range branches {
		if other.Name == branch {
			continue
		}
		where, got, err := s.findElsewhere(repo, other.Name, wanted)
		if err != nil {
			return err
		}
		if got != nil && len(compareAll([]any{got}, []any{wanted}, true)) == 0 {
			return unmet("%s is on %s of %s, where the tutorial has it on %s", where, other.Name, repo, branch)
		}
	}
	commits, _, err := s.forge.client.ListRepoCommits(s.forge.owner, repo, gitea.ListCommitOptions{SHA: branch, ListOptions: gitea.ListOptions{PageSize: 50}})
	if err != nil {
		return fmt.Errorf("commits of %s: %w", repo, err)
	}
	if !slices.ContainsFunc(commits, byUser) {
		return unmet("nothing has been pushed to %s of %s yet", branch, repo)
	}
	return otherwise
}

// byUser reports whether a commit is neither one of the first ones nor a promotion.
func byUser(c *gitea.Commit) bool {
	if c.RepoCommit == nil || c.RepoCommit.Author == nil {
		return true
	}
	email := c.RepoCommit.Author.Email
	return email != seed.AuthorEmail && email != forgeapi.AuthorEmail
}

func (f *forge) yamlFiles(repo, branch string) ([]gitea.GitEntry, error) {
	var files []gitea.GitEntry
	for page := 1; ; page++ {
		tree, _, err := f.client.GetTrees(f.owner, repo, gitea.ListTreeOptions{Ref: branch, Recursive: true, ListOptions: gitea.ListOptions{Page: page}})
		if err != nil {
			return nil, fmt.Errorf("files on %s of %s: %w", branch, repo, err)
		}
		for _, e := range tree.Entries {
			if e.Type == "blob" && (strings.HasSuffix(e.Path, ".yaml") || strings.HasSuffix(e.Path, ".yml")) {
				files = append(files, e)
			}
		}
		if !tree.Truncated || len(tree.Entries) == 0 {
			return files, nil
		}
	}
}

func (s *script) runRepoHasText(args []string) error {
	repo, branch, path := args[0], args[1], args[2]
	b, err := s.forge.file(repo, branch, path)
	if err != nil {
		return err
	}
	wanted, err := s.read(args[3])
	if err != nil {
		return err
	}
	if !strings.Contains(string(s.spelled(b)), string(wanted)) {
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

func (s *script) runRepoGone(args []string) error {
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

func (s *script) runRepoPromotes(args []string) error {
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

// promotes says whether a commit that is promoted is another one, or has come
// of it. One push can bring several commits, and is promoted as a whole, by its
// last one; and who pushes again before a promotion takes the earlier along.
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

// historyLimit is how many commits are looked through, pages of historyPage.
const (
	historyPage  = 50
	historyLimit = 1000
)

// history is what a commit, or a branch, has come of: the commits in the order
// in which the forge lists them, the newest first.
type history struct {
	commits map[string]*gitea.Commit
	head    string
}

// historyOf reads a history back to a commit, or to its beginning where that is
// not in it. A ref of "" is the default branch.
func (f *forge) historyOf(repo, ref, back string) (*history, error) {
	h := &history{commits: map[string]*gitea.Commit{}}
	for page := 1; h.commits[back] == nil && len(h.commits) < historyLimit; page++ {
		list, response, err := f.client.ListRepoCommits(f.owner, repo, gitea.ListCommitOptions{
			SHA: ref, ListOptions: gitea.ListOptions{Page: page, PageSize: historyPage},
		})
		if response != nil && response.StatusCode == http.StatusNotFound {
			return nil, unmet("%s has no commit %s", repo, short(ref))
		}
		if err != nil {
			return nil, fmt.Errorf("commits of %s: %w", repo, err)
		}
		for _, c := range list {
			if c.CommitMeta == nil {
				continue
			}
			if h.head == "" {
				h.head = c.SHA
			}
			h.commits[c.SHA] = c
		}
		if len(list) < historyPage {
			break
		}
	}
	return h, nil
}

// mainline is the chain of first parents, from the head on: what the branch has
// been, push by push and merge by merge.
func (h *history) mainline() []*gitea.Commit {
	var line []*gitea.Commit
	for c := h.commits[h.head]; c != nil; {
		line = append(line, c)
		if len(c.Parents) == 0 {
			break
		}
		c = h.commits[c.Parents[0].SHA]
	}
	return line
}

// since is the part of the mainline that contains a commit, the newest first.
// Its last one is that by which the branch came to have the commit.
func (h *history) since(commit string) []*gitea.Commit {
	contains := map[string]bool{commit: h.commits[commit] != nil}
	line := h.mainline()
	for i, c := range line {
		if !h.contains(c.SHA, contains) {
			return line[:i]
		}
	}
	return line
}

// contains says whether a commit is one that is known to contain another, or
// has come of such a one. It adds to what is known.
func (h *history) contains(commit string, known map[string]bool) bool {
	if does, ok := known[commit]; ok {
		return does
	}
	known[commit] = false
	c := h.commits[commit]
	if c == nil {
		return false
	}
	for _, parent := range c.Parents {
		if h.contains(parent.SHA, known) {
			known[commit] = true
			break
		}
	}
	return known[commit]
}

// carriers are a commit and those by which the default branch has gone on from
// it, the oldest first. Workflows run for the last commit of a push, and statuses
// are given to the commit that is promoted: what is said of either is true of all
// that it contains. So who pushes several commits at once, or once more
// before the first is promoted, finds it at a later one.
func (f *forge) carriers(repo, commit string) ([]string, error) {
	h, err := f.historyOf(repo, "", commit)
	if err != nil {
		return nil, err
	}
	commits := []string{commit}
	for _, c := range slices.Backward(h.since(commit)) {
		if c.SHA != commit {
			commits = append(commits, c.SHA)
		}
	}
	return commits, nil
}
