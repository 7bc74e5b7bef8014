package githubfake

import (
	"net/http"
	"regexp"
	"strings"
)

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
