package forgefake

import (
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// What follows is the state of the forge, for assertions. None of it is
// counted as a call.

// Files returns the files of a branch; nil when there is no such branch.
func (f *Forge) Files(repo, branch string) map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	c, ok := f.must(repo).commits[f.must(repo).branches[branch]]
	if !ok {
		return nil
	}
	files := map[string]string{}
	for path, content := range c.files {
		files[path] = string(content)
	}
	return files
}

// Branch returns the head of a branch, "" when there is none.
func (f *Forge) Branch(repo, branch string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.must(repo).branches[branch]
}

// Log returns the commits of a branch, newest first, as "author: subject".
func (f *Forge) Log(repo, branch string) (lines []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.must(repo)
	for c := r.commits[r.branches[branch]]; c != nil; c = r.commits[c.parent] {
		subject, _, _ := strings.Cut(c.message, "\n")
		lines = append(lines, c.author+": "+subject)
	}
	return lines
}

// Parent returns the commit that the head of a branch was made on.
func (f *Forge) Parent(repo, branch string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.must(repo).commits[f.must(repo).branches[branch]]; c != nil {
		return c.parent
	}
	return ""
}

// AllPullRequests returns every pull request of a repository, oldest first.
func (f *Forge) AllPullRequests(repo string) (list []forge.PullRequest) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.must(repo).pulls {
		list = append(list, clone(p))
	}
	return list
}

// AllIssues returns every issue of a repository, oldest first.
func (f *Forge) AllIssues(repo string) (list []forge.Issue) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, i := range f.must(repo).issues {
		list = append(list, *i)
	}
	return list
}

// Comments returns the comments on an issue or pull request, oldest first.
func (f *Forge) Comments(repo string, number int) []Comment {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.must(repo).comments[number])
}

// AllStatuses returns every status that was set on a commit, oldest first.
func (f *Forge) AllStatuses(repo, commit string) []forge.Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.must(repo).statuses[commit])
}
