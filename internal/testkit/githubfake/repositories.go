package githubfake

import (
	"crypto/rand"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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
	merging       Merging
	defaultBranch string
	bare          bare
	number        int
	threads       []*thread         // issues and pull requests, oldest first
	listed        []*thread         // as lists of pull requests have them; nil: as they are
	labels        map[string]*label // by name in lower case
	statuses      map[string][]object
	checkRuns     map[string][]object
	started       []Dispatch
	actions       map[string]*actionsData // by environment; "" is the repository
	topics        []string
	created       time.Time
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

// Merging is how pull requests may be merged.
type Merging struct {
	Merge, Squash, Rebase bool   // the methods
	Auto                  bool   // auto-merge
	Queue                 bool   // by a merge queue only
	Missing               string // what GitHub says about a requirement that is not met, "" when all are
}

// SetMerging says how pull requests of a repository may be merged. New ones allow
// every method.
func (s *Server) SetMerging(repo string, m Merging) {
	edit(s, repo, func(r *repository) int { r.merging = m; return 0 })
}

// Repo makes a private, empty repository, with its organisation.
func (s *Server) Repo(repo string, options ...Option) {
	s.mu.Lock()
	defer s.mu.Unlock()
	owner, name, _ := strings.Cut(repo, "/")
	s.org(owner)
	r := s.create(owner, name)
	for _, o := range options {
		o(r)
	}
}

func (s *Server) create(owner, name string) *repository {
	r := &repository{
		server: s, id: s.id(), owner: owner, name: name, private: true, hasIssues: true, defaultBranch: s.organisation(owner).branch,
		merging: Merging{Merge: true, Squash: true, Rebase: true},
		labels:  map[string]*label{}, statuses: map[string][]object{}, checkRuns: map[string][]object{}, actions: map[string]*actionsData{"": s.newActions()}, created: s.now(),
	}
	var err error
	r.public, r.secret, err = box.GenerateKey(rand.Reader)
	must(0, err)
	r.bare = newBare(filepath.Join(s.root, r.key()+".git"))
	s.repos[r.key()] = r
	return r
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
			must(c.repo.bare.run("symbolic-ref", "HEAD", "refs/heads/"+b))
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
		if c.server.orgs[strings.ToLower(c.param("org"))] == nil {
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
	s.reviewRoutes()
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

// SetTopics changes the topics as a user does.
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

// paidFor reports whether a repository may have environments (docs: deployments/
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
	must(r.bare.run("symbolic-ref", "HEAD", "refs/heads/"+first))
}

var topic = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,49}$`)

// organisationRoutes are organisations, and topics (docs: orgs/orgs, repos/
// repos#replace-all-repository-topics).
func (s *Server) organisationRoutes() {
	s.handle("GET /orgs/{org}", func(c *call) (any, error) {
		name := c.param("org")
		account := c.server.orgs[strings.ToLower(name)]
		if account == nil {
			return nil, notFound()
		}
		o := c.server.organisationJSON(account)
		answer := answered{o, http.Header{}}
		if c.user != nil && !c.user.bot {
			o["plan"] = object{"name": c.server.organisation(name).plan, "space": 1 << 20, "private_repos": 9999}
			answer.header.Set("X-OAuth-Scopes", strings.Join(c.user.scopes, ", "))
		}
		return answer, nil
	})
	s.handle("GET /orgs/{org}/repos", func(c *call) (any, error) {
		if c.server.orgs[strings.ToLower(c.param("org"))] == nil {
			return nil, notFound()
		}
		list := []object{}
		for _, key := range slices.Sorted(maps.Keys(c.server.repos)) {
			r := c.server.repos[key]
			if strings.EqualFold(r.owner, c.param("org")) && c.user.may(r) >= Read {
				list = append(list, r.listJSON())
			}
		}
		return paginate(c, list), nil
	})
	s.handle("GET /repositories/{id}", func(c *call) (any, error) {
		for _, r := range c.server.repos {
			if strconv.FormatInt(r.id, 10) == c.param("id") && c.user.may(r) >= Read {
				return r.json(), nil
			}
		}
		return nil, notFound()
	})
	s.on(Admin, "PUT /topics", func(c *call) (any, error) {
		in, err := c.body(fields{"names": "!strings"})
		if err != nil {
			return nil, err
		}
		names := texts(in, "names")
		for _, name := range names {
			if !topic.MatchString(name) {
				return nil, validation("Topics must start with a lowercase letter or number, consist of 50 characters or less, and can include hyphens.")
			}
		}
		if len(names) > 20 {
			return nil, validation("A repository cannot have more than 20 topics.")
		}
		c.repo.topics = names
		return object{"names": names}, nil
	})
}

// moved leads to where a repository is now (docs: using-the-rest-api/best-
// practices-for-using-the-rest-api, "Follow redirects").
func (r *repository) moved() *refusal {
	no := refuse(http.StatusMovedPermanently, "Moved Permanently")
	no.header = http.Header{"Location": {fmt.Sprintf("%s/api/v3/repositories/%d", r.server.URL, r.id)}}
	return no
}
