package forgefake

import (
	"fmt"
	"maps"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// person is the author of commits that Push and Merge make.
const person = "a person"

// What follows is done by people. None of it is counted as a call, and
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
	return r.commit(branch, commit{parent: parent, author: person, message: fmt.Sprint("push ", len(r.commits)), files: after})
}

// CommentByPerson adds a comment in a person's name.
func (f *Forge) CommentByPerson(repo string, number int, author, body string) {
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

// DeleteByPerson removes a branch, which closes its pull requests.
func (f *Forge) DeleteByPerson(repo, branch string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.must(repo).deleteBranch(branch)
}

// OpenPullRequest opens a pull request in a person's name.
func (f *Forge) OpenPullRequest(repo, author, head, base string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, err := f.must(repo).open(repo, forge.PullRequest{Title: head, Head: head, Base: base}, author)
	if err != nil {
		panic(err)
	}
	return p.Number
}

// OpenIssue opens an issue in a person's name.
func (f *Forge) OpenIssue(repo, author, title, body string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.must(repo).openIssue(repo, forge.Issue{Title: title, Body: body}, author).Number
}

// EditPullRequest changes a pull request as a person would.
func (f *Forge) EditPullRequest(repo string, number int, edit func(*forge.PullRequest)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, err := f.must(repo).pull(number)
	if err != nil {
		panic(err)
	}
	edit(p)
}

// EditIssue changes an issue as a person would.
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
	p.State = forge.Merged
	p.MergeCommit = r.commit(p.Base, commit{parent: r.branches[p.Base], author: person, message: fmt.Sprint("merge ", number), files: files})
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
