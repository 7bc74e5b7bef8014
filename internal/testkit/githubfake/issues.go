package githubfake

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// issueRoutes are issues and comments (docs: issues/issues, issues/comments).
func (s *Server) issueRoutes() {
	s.on(Read, "GET /issues", listIssues)
	s.on(Read, "POST /issues", func(c *call) (any, error) {
		in, err := c.body(fields{"title": "!string", "body": "string?", "labels": "strings", "assignees": "strings", "milestone": "integer?"})
		switch {
		case err != nil:
			return nil, err
		case !c.repo.hasIssues:
			return nil, refuse(http.StatusGone, "Issues has been disabled in this repository.")
		case c.user == nil:
			return nil, refuse(http.StatusUnauthorized, "Requires authentication")
		case text(in, "title") == "":
			return nil, invalid("Issue", "title", "missing_field")
		}
		if err := fits("Issue", in); err != nil {
			return nil, err
		}
		return created{c.repo.open(c.user, text(in, "title"), text(in, "body"), nil).issueJSON()}, nil
	})
	s.on(Write, "PATCH /issues/{number}", func(c *call) (any, error) {
		in, err := c.body(fields{"title": "string", "body": "string?", "state": "string", "state_reason": "string?", "labels": "strings", "assignees": "strings"})
		if err != nil {
			return nil, err
		}
		t := c.repo.thread(c.param("number"))
		if t == nil {
			return nil, notFound()
		}
		if err := fits("Issue", in); err != nil {
			return nil, err
		}
		return t.change(in, func() object { return t.issueJSON() })
	})
	s.on(Read, "GET /issues/{number}/comments", func(c *call) (any, error) {
		t := c.repo.thread(c.param("number"))
		if t == nil {
			return nil, notFound()
		}
		list := []object{}
		for _, m := range t.comments {
			list = append(list, m.json())
		}
		return paginate(c, list), nil
	})
	s.on(Read, "POST /issues/{number}/comments", func(c *call) (any, error) {
		in, err := c.body(fields{"body": "!string"})
		if err != nil {
			return nil, err
		}
		t := c.repo.thread(c.param("number"))
		if t == nil || c.user == nil {
			return nil, notFound()
		}
		if text(in, "body") == "" {
			return nil, invalid("IssueComment", "body", "missing_field")
		}
		if err := tooLong("IssueComment", "body", text(in, "body"), maxBody); err != nil {
			return nil, err
		}
		return created{t.comment(c.user, text(in, "body")).json()}, nil
	})
}

func (t *thread) comment(author *User, body string) comment {
	m := comment{t.repo.server.id(), author, body, t.repo.server.now()}
	t.comments = append(t.comments, m)
	t.touch()
	return m
}

func listIssues(c *call) (any, error) {
	since, err := time.Parse(time.RFC3339, c.query("since"))
	if c.query("since") != "" && err != nil {
		return nil, unprocessable("since is not a valid ISO 8601 timestamp")
	}
	state := c.query("state")
	if state == "" {
		state = "open"
	}
	var all []*thread
	for _, t := range c.repo.threads {
		switch {
		case !c.repo.hasIssues && t.pull == nil, state != "all" && t.state() != state:
		case c.query("creator") != "" && !equalFold(t.author.Login, c.query("creator")):
		case t.updated.Before(since):
		default:
			all = append(all, t)
		}
	}
	if c.query("sort") == "updated" {
		slices.SortStableFunc(all, func(a, b *thread) int { return a.updated.Compare(b.updated) })
	}
	if c.query("direction") != "asc" {
		slices.Reverse(all)
	}
	return rendered(paginate(c, all), (*thread).issueJSON), nil
}

func (m comment) json() object {
	return object{"id": m.id, "user": m.author.json(), "body": m.body, "created_at": stamp(m.at), "updated_at": stamp(m.at)}
}

// thread is an issue or a pull request: both have numbers of one row.
type thread struct {
	repo     *repository
	id       int64
	number   int
	title    string
	body     string
	closed   bool
	author   *User
	labels   map[string]bool // by name in lower case
	comments []comment
	created  time.Time
	updated  time.Time
	pull     *pull // nil for an issue
}

type comment struct {
	id     int64
	author *User
	body   string
	at     time.Time
}

// pull is what a pull request has besides.
type pull struct {
	head, base string // branches
	headSHA    string // as long as it is open that of the branch
	draft      bool
	later      string // the method of its auto-merge, or QUEUE
	mergedAt   time.Time
	mergeSHA   string
}

func (r *repository) open(author *User, title, body string, p *pull) *thread {
	r.number++
	now := r.server.now()
	t := &thread{
		repo: r, id: r.server.id(), number: r.number, title: title, body: body, author: author,
		labels: map[string]bool{}, created: now, updated: now, pull: p,
	}
	r.threads = append(r.threads, t)
	return t
}

// touch notes that a thread was changed.
func (t *thread) touch() { t.updated = t.repo.server.now() }

func (t *thread) state() string {
	if t.closed {
		return "closed"
	}
	return "open"
}

// thread finds a thread by its number.
func (r *repository) thread(number string) *thread {
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > len(r.threads) {
		return nil
	}
	return r.threads[n-1]
}

// issueJSON is a thread as the issues API has it: a pull request is an issue
// with a mark (docs: issues/issues#list-repository-issues).
func (t *thread) issueJSON() object {
	o := object{
		"id": t.id, "node_id": fmt.Sprintf("I_%d", t.id), "number": t.number, "title": t.title, "body": t.body, "state": t.state(),
		"user": t.author.json(), "labels": t.labelsJSON(), "comments": len(t.comments),
		"created_at": stamp(t.created), "updated_at": stamp(t.updated),
		"html_url": fmt.Sprintf("%s/%s/issues/%d", t.repo.server.URL, t.repo.fullName(), t.number),
	}
	if t.pull != nil {
		o["pull_request"] = object{"url": fmt.Sprintf("%s/api/v3/repos/%s/pulls/%d", t.repo.server.URL, t.repo.fullName(), t.number)}
	}
	return o
}

func (t *thread) labelsJSON() []object {
	list := []object{}
	for _, name := range slices.Sorted(maps.Keys(t.labels)) {
		list = append(list, t.repo.labels[name].json())
	}
	return list
}

func (t *thread) pullJSON() object {
	p := t.pull
	side := func(branch, sha string) object {
		return object{"ref": branch, "sha": sha, "label": t.repo.owner + ":" + branch, "repo": t.repo.json(), "user": object{"login": t.repo.owner}}
	}
	o := object{
		"id": t.id, "node_id": t.nodeID(), "number": t.number, "title": t.title, "body": t.body, "state": t.state(), "draft": p.draft,
		"user": t.author.json(), "labels": t.labelsJSON(), "created_at": stamp(t.created), "updated_at": stamp(t.updated),
		"merged_at": stamp(p.mergedAt), "merge_commit_sha": nil,
		"head": side(p.head, p.headSHA), "base": side(p.base, t.repo.bare.branch(p.base)),
		"html_url": fmt.Sprintf("%s/%s/pull/%d", t.repo.server.URL, t.repo.fullName(), t.number),
	}
	if p.later != "" && p.later != "QUEUE" {
		o["auto_merge"] = object{"merge_method": strings.ToLower(p.later)}
	}
	if p.mergeSHA != "" {
		o["merge_commit_sha"] = p.mergeSHA
	}
	return o
}

func (t *thread) nodeID() string { return fmt.Sprintf("PR_%d", t.id) }

// follow brings open pull requests to where their branches are. One without
// its branch is closed.
func (r *repository) follow() {
	for _, t := range r.threads {
		if t.pull == nil || t.closed {
			continue
		}
		head := r.bare.branch(t.pull.head)
		switch {
		case head == "" || r.bare.branch(t.pull.base) == "":
			t.closed = true
			t.touch()
		case head != t.pull.headSHA:
			t.pull.headSHA = head
			t.touch()
		}
	}
}

// equalFold compares names as GitHub does.
func equalFold(a, b string) bool { return strings.EqualFold(a, b) }

// label is a label of a repository.
type label struct {
	name, color, description string
}

func (l *label) json() object {
	return object{"name": l.name, "color": l.color, "description": l.description, "default": false}
}

var color = regexp.MustCompile(`^[0-9a-fA-F]{6}$`)

// labelRoutes are labels (docs: issues/labels).
func (s *Server) labelRoutes() {
	s.on(Read, "GET /labels/{name}", func(c *call) (any, error) {
		if l := c.repo.labels[strings.ToLower(c.param("name"))]; l != nil {
			return l.json(), nil
		}
		return nil, notFound()
	})
	s.on(Write, "POST /labels", func(c *call) (any, error) {
		in, err := c.body(fields{"name": "!string", "color": "string", "description": "string"})
		if err != nil {
			return nil, err
		}
		name := text(in, "name")
		switch {
		case name == "":
			return nil, invalid("Label", "name", "missing_field")
		case has(in, "color") && !color.MatchString(text(in, "color")):
			return nil, invalid("Label", "color", "invalid")
		case c.repo.labels[strings.ToLower(name)] != nil:
			return nil, invalid("Label", "name", "already_exists")
		}
		for field, limit := range map[string]int{"name": 50, "description": 100} {
			if err := tooLong("Label", field, text(in, field), limit); err != nil {
				return nil, err
			}
		}
		return created{c.repo.label(name, text(in, "color"), text(in, "description")).json()}, nil
	})
	s.on(Write, "POST /issues/{number}/labels", func(c *call) (any, error) {
		in, err := c.body(fields{"labels": "!strings"})
		if err != nil {
			return nil, err
		}
		t := c.repo.thread(c.param("number"))
		if t == nil {
			return nil, notFound()
		}
		for _, name := range texts(in, "labels") {
			if err := tooLong("Label", "name", name, 50); err != nil || name == "" {
				return nil, invalid("Label", "name", "invalid")
			}
		}
		t.add(texts(in, "labels")...)
		return t.labelsJSON(), nil
	})
	s.on(Write, "DELETE /issues/{number}/labels/{name}", func(c *call) (any, error) {
		t := c.repo.thread(c.param("number"))
		if t == nil {
			return nil, notFound()
		}
		if !t.labels[strings.ToLower(c.param("name"))] {
			return nil, refuse(http.StatusNotFound, "Label does not exist")
		}
		delete(t.labels, strings.ToLower(c.param("name")))
		t.touch()
		return t.labelsJSON(), nil
	})
}

// label returns a label of the repository and makes it when it is missing.
func (r *repository) label(name, color, description string) *label {
	key := strings.ToLower(name)
	if r.labels[key] == nil {
		if color == "" {
			color = "ededed"
		}
		r.labels[key] = &label{name, color, description}
	}
	return r.labels[key]
}

func (t *thread) add(names ...string) {
	for _, name := range names {
		t.repo.label(name, "", "")
		t.labels[strings.ToLower(name)] = true
	}
	t.touch()
}
