package githubfake

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// organisation is what GitHub knows of an organisation.
type organisation struct {
	plan   string
	branch string // the default one of new repositories
}

// Plan says which plan an organisation pays for: free, team or enterprise. It
// is team when nothing was said.
func (s *Server) Plan(org, plan string) { s.settings(org, func(o *organisation) { o.plan = plan }) }

// FirstBranch says what an organisation calls the default branch of a new
// repository; main when nothing was said.
func (s *Server) FirstBranch(org, branch string) {
	s.settings(org, func(o *organisation) { o.branch = branch })
}

func (s *Server) settings(org string, change func(*organisation)) {
	s.Org(org)
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.organisation(org)
	change(&o)
	s.plans[strings.ToLower(org)] = o
}

func (s *Server) organisation(name string) organisation {
	o := s.plans[strings.ToLower(name)]
	if o.plan == "" {
		o.plan = "team"
	}
	if o.branch == "" {
		o.branch = "main"
	}
	return o
}

// Topics returns the topics of a repository.
func (s *Server) Topics(repo string) []string {
	return edit(s, repo, func(r *repository) []string { return slices.Clone(r.topics) })
}

// SetTopics changes the topics as a person does.
func (s *Server) SetTopics(repo string, topics ...string) {
	edit(s, repo, func(r *repository) int { r.topics = topics; return 0 })
}

// Rename renames a repository. GitHub leads from its old name to the new one
// until there is another of the old name.
func (s *Server) Rename(repo, name string) {
	edit(s, repo, func(r *repository) int {
		s.renamed[r.key()] = r
		delete(s.repos, r.key())
		r.name = name
		s.repos[r.key()] = r
		to := filepath.Join(s.root, r.key()+".git")
		must(0, os.Rename(string(r.bare), to))
		r.bare = bare(to)
		return 0
	})
}

// Description returns a repository's description, and who may see it.
func (s *Server) Description(repo string) (text, visibility string) {
	return edit(s, repo, func(r *repository) string { return r.description }), edit(s, repo, (*repository).visibility)
}

// DefaultBranch returns the name of a repository's default branch.
func (s *Server) DefaultBranch(repo string) string {
	return edit(s, repo, func(r *repository) string { r.settle(); return r.defaultBranch })
}

// Environments returns the names of a repository's environments, sorted.
func (s *Server) Environments(repo string) []string {
	return edit(s, repo, func(r *repository) []string {
		return slices.Sorted(func(yield func(string) bool) {
			for name := range r.actions {
				if name != "" && !yield(name) {
					return
				}
			}
		})
	})
}

func (r *repository) visibility() string {
	switch {
	case r.internal:
		return "internal"
	case r.private:
		return "private"
	}
	return "public"
}

// paidFor tells whether a repository may have environments (docs: deployments/
// environments: those of private repositories are for paid plans). What GitHub
// answers otherwise is in github.com/google/go-github pull request 2611.
func (r *repository) paidFor() bool {
	return !r.private || r.server.organisation(r.owner).plan != "free"
}

// see is the visibility that a new repository gets (docs: repos/repos#create-
// an-organization-repository).
func (r *repository) see(in object) error {
	switch text(in, "visibility") {
	case "":
		r.private = flag(in, "private")
	case "public":
		r.private = false
	case "private":
		r.private = true
	case "internal":
		if r.server.organisation(r.owner).plan != "enterprise" {
			return custom("Repository", "visibility", "Only organizations associated with an enterprise can set visibility to internal")
		}
		r.private, r.internal = true, true
	default:
		return invalid("Repository", "visibility", "invalid")
	}
	return nil
}

// settle makes a branch the default where the one that should be is missing, as
// GitHub does after the first push to a repository.
func (r *repository) settle() {
	if r.bare.branch(r.defaultBranch) != "" || r.bare.empty() {
		return
	}
	first, _, _ := strings.Cut(r.bare.try("for-each-ref", "--format=%(refname:short)", "refs/heads/"), "\n")
	r.defaultBranch = first
	must(r.bare.run(nil, nil, "symbolic-ref", "HEAD", "refs/heads/"+first))
}
