package githubfake

import (
	"crypto/rand"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"golang.org/x/crypto/nacl/box"
)

// repository is a repository with what GitHub keeps beside it.
type repository struct {
	server        *Server
	id            int64
	owner, name   string
	description   string
	private       bool
	internal      bool // to an enterprise; such a repository is private, too
	archived      bool
	hasIssues     bool
	noDrafts      bool
	defaultBranch string
	bare          bare
	number        int
	threads       []*thread         // issues and pull requests, oldest first
	labels        map[string]*label // by name in lower case
	statuses      map[string][]object
	started       []Dispatch
	actions       map[string]*actionsData // by environment; "" is the repository
	topics        []string
	hooks         []*Hook
	public        *[32]byte
	secret        *[32]byte
}

func (r *repository) fullName() string { return r.owner + "/" + r.name }

func (r *repository) key() string { return strings.ToLower(r.fullName()) }

// Option changes a new repository.
type Option func(*repository)

// Public makes it one that everybody may read.
func Public(r *repository) { r.private = false }

// NoIssues switches issues off.
func NoIssues(r *repository) { r.hasIssues = false }

// NoDrafts is a private repository of a free organisation: it has no drafts.
func NoDrafts(r *repository) { r.noDrafts = true }

// Archived makes it read only.
func Archived(r *repository) { r.archived = true }

// Repo makes a private, empty repository, with its organisation.
func (s *Server) Repo(repo string, options ...Option) {
	s.mu.Lock()
	defer s.mu.Unlock()
	owner, name, _ := strings.Cut(repo, "/")
	s.orgs[strings.ToLower(owner)] = true
	r := s.create(owner, name)
	for _, o := range options {
		o(r)
	}
}

func (s *Server) create(owner, name string) *repository {
	r := &repository{
		server: s, id: s.id(), owner: owner, name: name, private: true, hasIssues: true, defaultBranch: s.organisation(owner).branch,
		labels: map[string]*label{}, statuses: map[string][]object{}, actions: map[string]*actionsData{"": newActions()},
	}
	var err error
	r.public, r.secret, err = box.GenerateKey(rand.Reader)
	must(0, err)
	r.bare = newBare(filepath.Join(s.root, r.key()+".git"))
	s.repos[r.key()] = r
	return r
}

func (r *repository) json() object {
	r.settle()
	open := 0
	for _, t := range r.threads {
		if !t.closed {
			open++
		}
	}
	return object{
		"visibility": r.visibility(), "topics": append([]string{}, r.topics...), "open_issues_count": open,
		"id": r.id, "name": r.name, "full_name": r.fullName(), "owner": object{"login": r.owner}, "private": r.private,
		"description": r.description, "default_branch": r.defaultBranch, "has_issues": r.hasIssues, "archived": r.archived,
		"html_url": r.server.URL + "/" + r.fullName(), "clone_url": r.server.CloneURL(r.fullName()),
	}
}

var repositoryName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}$`)

// repoRoutes are the repositories themselves (docs: repos/repos).
func (s *Server) repoRoutes() {
	s.on(Read, "GET ", func(c *call) (any, error) { return c.repo.json(), nil })
	s.on(Admin, "PATCH ", func(c *call) (any, error) {
		in, err := c.body(fields{"default_branch": "string", "description": "string", "private": "boolean"})
		if err != nil {
			return nil, err
		}
		if b := text(in, "default_branch"); has(in, "default_branch") {
			if c.repo.bare.branch(b) == "" {
				return nil, custom("Repository", "default_branch", "The branch "+b+" was not found. Please push that ref first or create it via the Git Data API.")
			}
			c.repo.defaultBranch = b
			must(c.repo.bare.run(nil, nil, "symbolic-ref", "HEAD", "refs/heads/"+b))
		}
		return c.repo.json(), nil
	})
	s.on(Admin, "DELETE ", func(c *call) (any, error) {
		if !c.user.bot && !c.user.has("delete_repo") {
			no := refuse(http.StatusForbidden, "Must have admin rights to Repository.")
			no.header = http.Header{"X-Accepted-Oauth-Scopes": {"delete_repo"}}
			return nil, no
		}
		delete(c.server.repos, c.repo.key())
		must(0, os.RemoveAll(string(c.repo.bare)))
		return nothing{}, nil
	})
	s.handle("POST /orgs/{org}/repos", func(c *call) (any, error) {
		if !c.server.orgs[strings.ToLower(c.param("org"))] {
			return nil, notFound()
		}
		in, err := c.body(fields{
			"name": "!string", "description": "string", "homepage": "string", "private": "boolean", "visibility": "string",
			"has_issues": "boolean", "has_projects": "boolean", "has_wiki": "boolean",
			"delete_branch_on_merge": "boolean", "allow_merge_commit": "boolean",
		})
		switch {
		case c.user == nil:
			return nil, refuse(http.StatusUnauthorized, "Requires authentication")
		case err != nil:
			return nil, err
		case !c.user.bot && !c.user.has("repo"):
			return nil, notFound()
		case !repositoryName.MatchString(text(in, "name")):
			return nil, custom("Repository", "name", "name is invalid")
		case c.server.repos[strings.ToLower(c.param("org")+"/"+text(in, "name"))] != nil:
			return nil, custom("Repository", "name", "name already exists on this account")
		}
		r := c.server.create(c.param("org"), text(in, "name"))
		r.description = text(in, "description")
		if err := r.see(in); err != nil {
			delete(c.server.repos, r.key())
			return nil, err
		}
		if has(in, "has_issues") {
			r.hasIssues = flag(in, "has_issues")
		}
		return created{r.json()}, nil
	})
}

// routes adds every route.
func (s *Server) routes() {
	s.appRoutes()
	s.repoRoutes()
	s.refRoutes()
	s.pullRoutes()
	s.issueRoutes()
	s.labelRoutes()
	s.statusRoutes()
	s.actionRoutes()
	s.graphRoutes()
	s.organisationRoutes()
	s.hookRoutes()
	s.historyRoutes()
}

// stamp is a time as GitHub writes it, nil for none.
func stamp(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(time.RFC3339)
}
