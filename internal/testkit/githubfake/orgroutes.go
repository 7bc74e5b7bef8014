package githubfake

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var topic = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,49}$`)

// organisationRoutes are organisations, and topics (docs: orgs/orgs, repos/
// repos#replace-all-repository-topics).
func (s *Server) organisationRoutes() {
	s.handle("GET /orgs/{org}", func(c *call) (any, error) {
		name := c.param("org")
		if !c.server.orgs[strings.ToLower(name)] {
			return nil, notFound()
		}
		o := object{"login": name}
		answer := answered{o, http.Header{}}
		if c.user != nil && !c.user.bot {
			o["plan"] = object{"name": c.server.organisation(name).plan}
			answer.header.Set("X-OAuth-Scopes", strings.Join(c.user.scopes, ", "))
		}
		return answer, nil
	})
	s.handle("GET /orgs/{org}/repos", func(c *call) (any, error) {
		if !c.server.orgs[strings.ToLower(c.param("org"))] {
			return nil, notFound()
		}
		list := []object{}
		for _, key := range slices.Sorted(maps.Keys(c.server.repos)) {
			r := c.server.repos[key]
			if strings.EqualFold(r.owner, c.param("org")) && c.user.may(r) >= Read {
				list = append(list, r.json())
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
				return nil, custom("Repository", "topics", "Topics must start with a lowercase letter or number, consist of 50 characters or less, and can include hyphens.")
			}
		}
		if len(names) > 20 {
			return nil, custom("Repository", "topics", "A repository cannot have more than 20 topics.")
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
