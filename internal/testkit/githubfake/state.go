package githubfake

import (
	"maps"
	"slices"
	"strings"
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
		return strings.Split(must(r.bare.run(nil, nil, "log", "--first-parent", "--format="+format, branch)), "\n")
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
