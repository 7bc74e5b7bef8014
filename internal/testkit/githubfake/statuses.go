package githubfake

import (
	"maps"
	"slices"
	"strings"
)

// statusRoutes are commit statuses (docs: commits/statuses).
func (s *Server) statusRoutes() {
	s.on(Write, "POST /statuses/{id}", func(c *call) (any, error) {
		in, err := c.body(fields{"state": "!string", "target_url": "string?", "description": "string?", "context": "string"})
		if err != nil {
			return nil, err
		}
		id := c.param("id")
		switch {
		case !slices.Contains([]string{"error", "failure", "pending", "success"}, text(in, "state")):
			return nil, custom("Status", "state", "state is not included in the list")
		case c.repo.bare.kind(id) != "commit":
			return nil, unprocessable("No commit found for SHA: " + id)
		}
		if err := tooLong("Status", "description", text(in, "description"), 140); err != nil {
			return nil, err
		}
		if u := text(in, "target_url"); u != "" && !strings.HasPrefix(u, "http://") && !strings.HasPrefix(u, "https://") {
			return nil, custom("Status", "target_url", "target_url must use http(s) scheme")
		}
		if in["context"] == nil {
			in["context"] = "default"
		}
		status := maps.Clone(in)
		status["id"], status["creator"] = c.server.id(), c.user.json()
		c.repo.statuses[id] = append(c.repo.statuses[id], status)
		return created{status}, nil
	})
}

// combinedStatus is the newest status of each context.
func combinedStatus(c *call, ref string) (any, error) {
	id := c.repo.resolve(ref)
	if id == "" {
		return nil, unprocessable("No commit found for SHA: " + ref)
	}
	newest := map[string]object{}
	for _, s := range c.repo.statuses[id] {
		newest[strings.ToLower(text(s, "context"))] = s
	}
	var all []object
	for _, key := range slices.Sorted(maps.Keys(newest)) {
		all = append(all, newest[key])
	}
	p := paginate(c, all)
	state := "pending"
	if len(all) > 0 {
		state = "success"
	}
	for _, s := range all {
		switch text(s, "state") {
		case "error", "failure":
			state = "failure"
		case "pending":
			if state == "success" {
				state = "pending"
			}
		}
	}
	p.items = object{"state": state, "sha": id, "total_count": len(all), "statuses": p.items}
	return p, nil
}
