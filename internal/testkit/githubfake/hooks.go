package githubfake

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
)

// Hook is a webhook, with the secret that only GitHub itself can see.
type Hook struct {
	ID          int64
	URL, Secret string
	ContentType string
	Events      []string
	Active      bool
}

// Hooks returns the webhooks of a repository, oldest first.
func (s *Server) Hooks(repo string) []Hook {
	return edit(s, repo, func(r *repository) (all []Hook) {
		for _, h := range r.hooks {
			all = append(all, *h)
		}
		return all
	})
}

// hookEvents are some that GitHub knows (docs.github.com/webhooks/webhook-
// events-and-payloads).
var hookEvents = []string{"*", "push", "create", "delete", "pull_request", "pull_request_review", "issues", "issue_comment", "label", "workflow_job", "workflow_run", "status"}

// hookRoutes are webhooks of repositories (docs: repos/webhooks).
func (s *Server) hookRoutes() {
	s.on(Admin, "GET /hooks", func(c *call) (any, error) {
		list := []object{}
		for _, h := range c.repo.hooks {
			list = append(list, h.json(c.repo))
		}
		return paginate(c, list), nil
	})
	s.on(Admin, "POST /hooks", func(c *call) (any, error) {
		in, err := c.body(fields{"name": "string", "config": "!object", "events": "strings", "active": "boolean"})
		if err != nil {
			return nil, err
		}
		if name := text(in, "name"); name != "" && name != "web" {
			return nil, custom("Hook", "name", "name must be 'web'")
		}
		h := &Hook{ContentType: "form", Events: []string{"push"}, Active: true}
		if err := h.change(in); err != nil {
			return nil, err
		}
		for _, other := range c.repo.hooks {
			if other.URL == h.URL && sameEvents(other.Events, h.Events) {
				return nil, custom("Hook", "", "Hook already exists on this repository")
			}
		}
		h.ID = c.server.id()
		c.repo.hooks = append(c.repo.hooks, h)
		return created{h.json(c.repo)}, nil
	})
	s.on(Admin, "PATCH /hooks/{id}", func(c *call) (any, error) {
		in, err := c.body(fields{"config": "object", "events": "strings", "add_events": "strings", "remove_events": "strings", "active": "boolean"})
		if err != nil {
			return nil, err
		}
		for _, h := range c.repo.hooks {
			if strconv.FormatInt(h.ID, 10) == c.param("id") {
				next := *h
				if err := next.change(in); err != nil {
					return nil, err
				}
				*h = next
				return h.json(c.repo), nil
			}
		}
		return nil, notFound()
	})
}

// change reads what a request says of a webhook.
func (h *Hook) change(in object) error {
	if config, ok := in["config"].(object); ok {
		if err := check(config, fields{"url": "!string", "content_type": "string", "secret": "string", "insecure_ssl": "string"}); err != nil {
			return err
		}
		u, err := url.Parse(text(config, "url"))
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return custom("Hook", "url", "url is not a valid URL")
		}
		h.URL, h.Secret = text(config, "url"), text(config, "secret")
		if kind := text(config, "content_type"); kind != "" {
			h.ContentType = kind
		}
	}
	if has(in, "events") {
		h.Events = texts(in, "events")
	}
	for _, e := range h.Events {
		if !slices.Contains(hookEvents, e) {
			return custom("Hook", "events", fmt.Sprintf("%q is not a valid hook event", e))
		}
	}
	if has(in, "active") {
		h.Active = flag(in, "active")
	}
	return nil
}

func sameEvents(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}
