package githubfake

import (
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
			list = append(list, m.json(t))
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
		return created{t.comment(c.user, text(in, "body")).json(t)}, nil
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

// thread is an issue or a pull request: both have numbers of one row.
type thread struct {
	repo     *repository
	id       int64
	number   int
	title    string
	body     string
	closed   bool
	closedAt time.Time
	author   *User
	labels   map[string]bool // by name in lower case
	comments []comment
	created  time.Time
	updated  time.Time
	pull     *pull // nil for an issue
	reviews  []review
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
	mergedBy   *User
	mergeSHA   string
	mergeBase  string // where its base was before
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

// close closes a thread, or opens it again.
func (t *thread) close(closed bool) {
	t.touch()
	switch {
	case !closed:
		t.closedAt = time.Time{}
	case !t.closed:
		t.closedAt = t.updated
	}
	t.closed = closed
}

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

func (t *thread) nodeID() string { return nodeID("PR", t.id) }

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
			t.close(true)
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
	id                       int64
	name, color, description string
}

var color = regexp.MustCompile(`^[0-9a-fA-F]{6}$`)

// labelRoutes are labels (docs: issues/labels).
func (s *Server) labelRoutes() {
	s.on(Read, "GET /labels/{name}", func(c *call) (any, error) {
		if l := c.repo.labels[strings.ToLower(c.param("name"))]; l != nil {
			return l.json(c.repo), nil
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
		return created{c.repo.label(name, text(in, "color"), text(in, "description")).json(c.repo)}, nil
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
		r.labels[key] = &label{r.server.id(), name, color, description}
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
