package githubfake

import (
	"net/http"
	"slices"
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
