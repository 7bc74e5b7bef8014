package scenarios

import (
	"fmt"
	"net/http"
	"slices"

	"code.gitea.io/sdk/gitea"
)

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

// contains tells whether a commit is one that is known to contain another, or
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
// are given to the commit that is promoted: what is told of either is true of all
// that it contains. So whoever pushes several commits at once, or once more
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
