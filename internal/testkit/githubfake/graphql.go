package githubfake

import (
	"cmp"
	"net/http"
	"regexp"
	"strings"
)

// graphRoutes are the two mutations that the REST API has nothing for
// (docs.github.com/graphql/reference/mutations). GraphQL answers 200 also where
// it refuses.
func (s *Server) graphRoutes() {
	s.handle("POST /graphql", func(c *call) (any, error) {
		if c.user == nil {
			return nil, refuse(http.StatusUnauthorized, "This endpoint requires you to be authenticated.")
		}
		in, err := c.body(fields{"query": "!string", "variables": "object"})
		if err != nil {
			return nil, err
		}
		variables, _ := in["variables"].(object)
		t := c.server.node(text(variables, "id"))
		no := func(kind, message string) (any, error) {
			return object{"data": nil, "errors": []object{{"type": kind, "message": message}}}, nil
		}
		if t == nil || c.user.may(t.repo) < Read {
			return no("NOT_FOUND", "Could not resolve to a node with the global id of '"+text(variables, "id")+"'.")
		}
		query := text(in, "query")
		draft := strings.Contains(query, "convertPullRequestToDraft(")
		switch {
		case !draft && !strings.Contains(query, "markPullRequestReadyForReview("):
			return no("undefinedField", "Field doesn't exist on type 'Mutation'")
		case c.user.may(t.repo) < Write, draft && t.repo.noDrafts:
			return no("FORBIDDEN", c.user.Login+" does not have permission to convert the pull request "+t.nodeID()+" to draft.")
		case t.closed:
			return no("UNPROCESSABLE", "Pull request is closed")
		}
		t.pull.draft = draft
		t.touch()
		m := mutationField.FindStringSubmatch(query)
		if m == nil {
			return no("undefinedField", "Parse error")
		}
		return object{"data": object{cmp.Or(m[1], m[2]): object{"pullRequest": object{"isDraft": draft}}}}, nil
	})
}

func (s *Server) node(id string) *thread {
	for _, r := range s.repos {
		for _, t := range r.threads {
			if t.pull != nil && t.nodeID() == id {
				return t
			}
		}
	}
	return nil
}

// mutationField is a mutation with the name that its answer has.
var mutationField = regexp.MustCompile(`\{(?:(\w+):)?(\w+)\(input:`)
