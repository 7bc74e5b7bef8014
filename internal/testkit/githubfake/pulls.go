package githubfake

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// What texts GitHub takes.
const (
	maxTitle = 256
	maxBody  = 65536
)

// pullRoutes are pull requests (docs: pulls/pulls).
func (s *Server) pullRoutes() {
	s.on(Read, "GET /pulls", listPulls)
	s.on(Write, "POST /pulls", postPull)
	s.on(Read, "GET /pulls/{number}", func(c *call) (any, error) {
		t, err := c.pullRequest()
		if err != nil {
			return nil, err
		}
		return t.pullJSON(), nil
	})
	s.on(Write, "PATCH /pulls/{number}", patchPull)
	s.on(Write, "PUT /pulls/{number}/merge", func(c *call) (any, error) {
		in, err := c.body(fields{"commit_title": "string", "commit_message": "string", "sha": "string", "merge_method": "string"})
		if err != nil {
			return nil, err
		}
		t, err := c.pullRequest()
		if err != nil {
			return nil, err
		}
		if has(in, "sha") && text(in, "sha") != t.pull.headSHA {
			return nil, refuse(http.StatusConflict, "Head branch was modified. Review and try the merge again.")
		}
		if err := t.merge(); err != nil {
			return nil, err
		}
		return object{"sha": t.pull.mergeSHA, "merged": true, "message": "Pull Request successfully merged"}, nil
	})
}

func (c *call) pullRequest() (*thread, error) {
	t := c.repo.thread(c.param("number"))
	if t == nil || t.pull == nil {
		return nil, notFound()
	}
	return t, nil
}

func listPulls(c *call) (any, error) {
	var all []*thread
	for _, t := range c.repo.threads {
		state := c.query("state")
		if state == "" {
			state = "open"
		}
		head := c.query("head")
		switch {
		case t.pull == nil, state != "all" && t.state() != state:
		case c.query("base") != "" && t.pull.base != c.query("base"):
		case strings.Contains(head, ":") && !equalFold(c.repo.owner+":"+t.pull.head, head): // without an owner it is not looked at
		default:
			all = append(all, t)
		}
	}
	if c.query("direction") != "asc" {
		slices.Reverse(all)
	}
	return rendered(paginate(c, all), (*thread).pullJSON), nil
}

// rendered turns a page of threads into what is sent.
func rendered(p page, json func(*thread) object) page {
	out := []object{}
	for _, t := range p.items.([]*thread) {
		out = append(out, json(t))
	}
	p.items = out
	return p
}

func postPull(c *call) (any, error) {
	in, err := c.body(fields{
		"title": "string", "head": "!string", "base": "!string", "body": "string?", "draft": "boolean",
		"maintainer_can_modify": "boolean", "issue": "integer", "head_repo": "string",
	})
	if err != nil {
		return nil, err
	}
	r := c.repo
	head, base := text(in, "head"), text(in, "base")
	if owner, branch, ok := strings.Cut(head, ":"); ok && equalFold(owner, r.owner) {
		head = branch
	}
	switch {
	case text(in, "title") == "" && !has(in, "issue"):
		return nil, invalid("PullRequest", "title", "missing_field")
	case r.bare.branch(base) == "":
		return nil, invalid("PullRequest", "base", "invalid")
	case r.bare.branch(head) == "":
		return nil, invalid("PullRequest", "head", "invalid")
	}
	if err := fits("PullRequest", in); err != nil {
		return nil, err
	}
	if t := r.between(head, base); t != nil {
		return nil, custom("PullRequest", "", fmt.Sprintf("A pull request already exists for %s:%s.", r.owner, head))
	}
	if r.bare.contains(r.bare.branch(base), r.bare.branch(head)) {
		return nil, custom("PullRequest", "", fmt.Sprintf("No commits between %s and %s", base, head))
	}
	if flag(in, "draft") && r.noDrafts {
		return nil, unprocessable("Draft pull requests are not supported in this repository.")
	}
	t := r.open(c.user, text(in, "title"), text(in, "body"), &pull{head: head, base: base, headSHA: r.bare.branch(head), draft: flag(in, "draft")})
	return created{t.pullJSON()}, nil
}

// between returns the open pull request between two branches.
func (r *repository) between(head, base string) *thread {
	for _, t := range r.threads {
		if t.pull != nil && !t.closed && t.pull.head == head && t.pull.base == base {
			return t
		}
	}
	return nil
}

func fits(what string, in object) error {
	if err := tooLong(what, "title", text(in, "title"), maxTitle); err != nil {
		return err
	}
	return tooLong(what, "body", text(in, "body"), maxBody)
}
