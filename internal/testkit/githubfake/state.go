package githubfake

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/internal/testkit/gitkit"
)

// What follows is the state of the server, for assertions. None of it is
// counted as a request.

// Pull is a pull request as it is.
type Pull struct {
	Number              int
	Title, Body         string
	Head, Base, HeadSHA string
	State               string // open, closed or merged
	Draft               bool
	Labels              []string
	Author              string
	Later               string // the method of its auto-merge, QUEUE in the merge queue
}

// Issue is an issue as it is.
type Issue struct {
	Number       int
	Title, Body  string
	State        string
	Author       string
	Labels       []string
	CommentTexts []string
}

// Files returns the files of a branch; nil when there is no such branch.
func (s *Server) Files(repo, branch string) map[string]string {
	return edit(s, repo, func(r *repository) map[string]string {
		if r.bare.branch(branch) == "" {
			return nil
		}
		return r.bare.files(r.bare.branch(branch))
	})
}

// Modes returns the modes of a branch's files and links, as git writes them.
func (s *Server) Modes(repo, branch string) map[string]string {
	return edit(s, repo, func(r *repository) map[string]string { return r.bare.modes(branch) })
}

// Branch returns the head of a branch, "" when there is none.
func (s *Server) Branch(repo, branch string) string {
	return edit(s, repo, func(r *repository) string { return r.bare.branch(branch) })
}

// Log returns the commits of a branch, newest first, in one of git's formats.
func (s *Server) Log(repo, branch, format string) []string {
	return edit(s, repo, func(r *repository) []string {
		return strings.Split(must(r.bare.run("log", "--first-parent", "--format="+format, branch)), "\n")
	})
}

// Pulls returns every pull request, oldest first.
func (s *Server) Pulls(repo string) []Pull {
	return edit(s, repo, func(r *repository) (list []Pull) {
		for _, t := range r.threads {
			if t.pull == nil {
				continue
			}
			p := Pull{
				Number: t.number, Title: t.title, Body: t.body, Head: t.pull.head, Base: t.pull.base, HeadSHA: t.pull.headSHA,
				State: t.state(), Draft: t.pull.draft, Labels: slices.Sorted(maps.Keys(t.labels)), Author: t.author.Login,
				Later: t.pull.later,
			}
			if !t.pull.mergedAt.IsZero() {
				p.State = "merged"
			}
			list = append(list, p)
		}
		return list
	})
}

// Issues returns every issue, oldest first.
func (s *Server) Issues(repo string) []Issue {
	return edit(s, repo, func(r *repository) (list []Issue) {
		for _, t := range r.threads {
			if t.pull != nil {
				continue
			}
			i := Issue{Number: t.number, Title: t.title, Body: t.body, State: t.state(), Author: t.author.Login, Labels: slices.Sorted(maps.Keys(t.labels))}
			for _, c := range t.comments {
				i.CommentTexts = append(i.CommentTexts, c.body)
			}
			list = append(list, i)
		}
		return list
	})
}

// Comments returns the texts of the comments on a pull request or an issue.
func (s *Server) Comments(repo string, number int) []string {
	return edit(s, repo, func(r *repository) (list []string) {
		for _, c := range r.must(number).comments {
			list = append(list, c.author.Login+": "+c.body)
		}
		return list
	})
}

// LabelColor returns a label's colour, "" when the repository does not have it.
func (s *Server) LabelColor(repo, name string) string {
	return edit(s, repo, func(r *repository) string {
		if l := r.labels[strings.ToLower(name)]; l != nil {
			return l.color
		}
		return ""
	})
}

// Dispatches returns the workflows that were started, oldest first.
func (s *Server) Dispatches(repo string) []Dispatch {
	return edit(s, repo, func(r *repository) []Dispatch { return slices.Clone(r.started) })
}

// Secret returns a secret's value, as only GitHub itself can see it.
func (s *Server) Secret(repo, environment, name string) string {
	return edit(s, repo, func(r *repository) string {
		if a := r.actions[environment]; a != nil {
			return a.secrets[strings.ToUpper(name)]
		}
		return ""
	})
}

// Variable returns a variable's value.
func (s *Server) Variable(repo, environment, name string) string {
	return edit(s, repo, func(r *repository) string {
		if a := r.actions[environment]; a != nil {
			return a.variables[strings.ToUpper(name)]
		}
		return ""
	})
}

// Repos returns the names of all repositories, sorted.
func (s *Server) Repos() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []string
	for _, r := range s.repos {
		list = append(list, r.fullName())
	}
	slices.Sort(list)
	return list
}

// What follows is done by users. None of it is counted as a request, and what
// is impossible panics: it is a mistake in the test.

// Push makes a commit on a branch, and the repository and the branch when they
// are missing. An empty content removes the file, one that begins with #! makes
// it executable. It returns the commit.
func (s *Server) Push(repo, branch string, files map[string]string) string {
	s.mu.Lock()
	_, there := s.repos[strings.ToLower(repo)]
	s.mu.Unlock()
	if !there {
		s.Repo(repo)
	}
	return edit(s, repo, func(r *repository) string { return r.push(branch, files) })
}

// push writes a commit as one stream, so that ten thousand files take a moment.
func (r *repository) push(branch string, files map[string]string) string {
	var b strings.Builder
	data := func(s string) { fmt.Fprintf(&b, "data %d\n%s\n", len(s), s) }
	now := r.server.now().Unix()
	fmt.Fprintf(&b, "commit refs/heads/%s\ncommitter a user <user@example.com> %d +0000\n", branch, now)
	data("work")
	if old := r.bare.branch(branch); old != "" {
		fmt.Fprintf(&b, "from %s\n", old)
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if files[path] == "" {
			fmt.Fprintf(&b, "D %s\n", path)
			continue
		}
		mode := "100644"
		if strings.HasPrefix(files[path], "#!") {
			mode = "100755"
		}
		fmt.Fprintf(&b, "M %s inline %s\n", mode, path)
		data(files[path])
	}
	first := r.bare.empty()
	must(gitkit.Git(string(r.bare), b.String(), "fast-import", "--quiet", "--force"))
	if first { // GitHub makes the first branch that is pushed the default
		r.defaultBranch = branch
		must(r.bare.run("symbolic-ref", "HEAD", "refs/heads/"+branch))
	}
	r.follow()
	return r.bare.branch(branch)
}

// DeleteBranch removes a branch, which closes its pull requests.
func (s *Server) DeleteBranch(repo, branch string) {
	edit(s, repo, func(r *repository) string {
		return must(r.bare.run("update-ref", "-d", "refs/heads/"+branch))
	})
}

// Merge merges a pull request in its author's name, and returns the merge commit.
func (s *Server) Merge(repo string, number int) string {
	return edit(s, repo, func(r *repository) string {
		t := r.must(number)
		must(0, t.merge())
		t.pull.mergedBy = t.author
		return t.pull.mergeSHA
	})
}

// Reopen opens a closed issue or pull request again.
func (s *Server) Reopen(repo string, number int) {
	edit(s, repo, func(r *repository) int { r.must(number).close(false); return 0 })
}

// Close closes an issue or a pull request.
func (s *Server) Close(repo string, number int) {
	edit(s, repo, func(r *repository) int { r.must(number).close(true); return 0 })
}

// Ready makes a draft ready for review.
func (s *Server) Ready(repo string, number int) {
	edit(s, repo, func(r *repository) int { r.must(number).pull.draft = false; r.must(number).touch(); return 0 })
}

// OpenPull opens a pull request in an account's name.
func (s *Server) OpenPull(u *User, repo, title, head, base string) int {
	return edit(s, repo, func(r *repository) int {
		return r.open(u, title, "", &pull{head: head, base: base, headSHA: r.bare.branch(head)}).number
	})
}

// OpenIssue opens an issue in an account's name.
func (s *Server) OpenIssue(u *User, repo, title, body string) int {
	return edit(s, repo, func(r *repository) int { return r.open(u, title, body, nil).number })
}

// Comment comments in an account's name.
func (s *Server) Comment(u *User, repo string, number int, body string) {
	edit(s, repo, func(r *repository) int { r.must(number).comment(u, body); return 0 })
}

// Label adds a label.
func (s *Server) Label(repo string, number int, name string) {
	edit(s, repo, func(r *repository) int { r.must(number).add(name); return 0 })
}

// Unlabel takes a label off.
func (s *Server) Unlabel(repo string, number int, name string) {
	edit(s, repo, func(r *repository) int {
		delete(r.must(number).labels, strings.ToLower(name))
		r.must(number).touch()
		return 0
	})
}

// Lag has lists of pull requests show what there is now, whatever is changed
// until end is called.
func (s *Server) Lag(repo string) (end func()) {
	edit(s, repo, func(r *repository) int {
		r.listed = []*thread{}
		for _, t := range r.threads {
			as := *t
			as.labels = maps.Clone(t.labels)
			if t.pull != nil {
				as.pull = new(*t.pull)
			}
			r.listed = append(r.listed, &as)
		}
		return 0
	})
	return func() { edit(s, repo, func(r *repository) int { r.listed = nil; return 0 }) }
}

// RenameUser gives an account another name, by which GitHub's API does not find what
// it has opened.
func (s *Server) RenameUser(login, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users[strings.ToLower(login)].Login = name
}

// Skew puts the server's clock ahead.
func (s *Server) Skew(ahead time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.skew = ahead
}

// edit does something with a repository.
func edit[T any](s *Server, repo string, do func(*repository) T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.repos[strings.ToLower(repo)]
	if !ok {
		panic("githubfake: there is no repository " + repo)
	}
	r.follow()
	defer r.follow()
	return do(r)
}

func (r *repository) must(number int) *thread {
	t := r.thread(fmt.Sprint(number))
	if t == nil {
		panic(fmt.Sprintf("githubfake: there is no %s#%d", r.fullName(), number))
	}
	return t
}
