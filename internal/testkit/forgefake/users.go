package forgefake

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// user is the author of commits that Push and Merge make.
const user = "a user"

// What follows is done by users. None of it is counted as a call, and
// anything impossible panics: it is a mistake in the test.

// Push makes a commit on a branch, creating the repository and the branch when
// they are missing. An empty content removes the file.
func (f *Forge) Push(repo, branch string, files map[string]string) (id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, ok := f.repos[repo]
	if !ok {
		r = &repository{
			commits: map[string]*commit{}, branches: map[string]string{},
			comments: map[int][]Comment{}, statuses: map[string][]forge.Status{},
		}
		f.repos[repo] = r
	}
	parent := r.branches[branch]
	after := map[string][]byte{}
	if c, ok := r.commits[parent]; ok {
		after = maps.Clone(c.files)
	}
	for path, content := range files {
		if content == "" {
			delete(after, path)
		} else {
			after[path] = []byte(content)
		}
	}
	return r.commit(branch, commit{parent: parent, author: user, message: fmt.Sprint("push ", len(r.commits)), files: after})
}

// CommentByUser adds a comment in a user's name.
func (f *Forge) CommentByUser(repo string, number int, author, body string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.must(repo)
	r.comments[number] = append(r.comments[number], Comment{author, body})
}

// DeleteRepo removes a repository with all that it has.
func (f *Forge) DeleteRepo(repo string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.must(repo)
	delete(f.repos, repo)
}

// DeleteByUser removes a branch, which closes its pull requests.
func (f *Forge) DeleteByUser(repo, branch string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.must(repo).deleteBranch(branch)
}

// OpenPullRequest opens a pull request in a user's name.
func (f *Forge) OpenPullRequest(repo, author, head, base string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, err := f.must(repo).open(repo, forge.PullRequest{Title: head, Head: head, Base: base}, author)
	if err != nil {
		panic(err)
	}
	return p.Number
}

// OpenIssue opens an issue in a user's name.
func (f *Forge) OpenIssue(repo, author, title, body string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.must(repo).openIssue(repo, forge.Issue{Title: title, Body: body}, author).Number
}

// EditPullRequest changes a pull request as a user would.
func (f *Forge) EditPullRequest(repo string, number int, edit func(*forge.PullRequest)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, err := f.must(repo).pull(number)
	if err != nil {
		panic(err)
	}
	edit(p)
}

// EditIssue changes an issue as a user would.
func (f *Forge) EditIssue(repo string, number int, edit func(*forge.Issue)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i, err := f.must(repo).issue(number)
	if err != nil {
		panic(err)
	}
	edit(i)
}

// Merge merges a pull request and returns the merge commit.
func (f *Forge) Merge(repo string, number int) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.must(repo)
	p, err := r.pull(number)
	if err != nil {
		panic(err)
	}
	files, conflicts := r.merged(p)
	if p.State != forge.Open || p.Draft || len(conflicts) > 0 {
		panic(fmt.Sprintf("pull request %d cannot be merged: state %s, draft %t, conflicts %v", number, p.State, p.Draft, conflicts))
	}
	p.State, p.Merged, p.MergedBy = forge.Merged, now(), user
	p.MergeCommit = r.commit(p.Base, commit{parent: r.branches[p.Base], author: user, message: fmt.Sprint("merge ", number), files: files})
	return p.MergeCommit
}

// Conflicts returns the files that keep a pull request from being merged,
// sorted.
func (f *Forge) Conflicts(repo string, number int) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, err := f.must(repo).pull(number)
	if err != nil {
		panic(err)
	}
	_, conflicts := f.must(repo).merged(p)
	return conflicts
}

func (f *Forge) must(repo string) *repository {
	r, err := f.repo(repo)
	if err != nil {
		panic(err)
	}
	return r
}

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

// Message is that of the commit at the head of a branch.
func (f *Forge) Message(repo, branch string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.must(repo)
	return r.commits[r.branches[branch]].message
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
