package githubfake

import (
	"cmp"
	"net/http"
	"regexp"
	"strings"
	"unicode/utf8"
)

// graphRoutes are the two mutations that the REST API has nothing for, and the
// query of many files at once (docs.github.com/graphql/reference/mutations and
// objects#blob). GraphQL answers 200 also where it refuses.
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
		if strings.HasPrefix(text(in, "query"), "query(") {
			return c.blobs(text(in, "query"), text(variables, "owner")+"/"+text(variables, "name"))
		}
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

var (
	blobQuery = regexp.MustCompile(`^query\(\$owner:String!,\$name:String!\)\{repository\(owner:\$owner,name:\$name\)\{(.*)\}\}$`)
	blobField = regexp.MustCompile(`^(\w+):object\(oid:"([0-9a-f]{40})"\)\{\.\.\.on Blob\{text\}\}`)
)

// blobs answers a query of files. The text of what is none is null.
func (c *call) blobs(query, repo string) (any, error) {
	no := func(kind, message string) (any, error) {
		return object{"data": nil, "errors": []object{{"type": kind, "message": message}}}, nil
	}
	r := c.server.repos[strings.ToLower(repo)]
	if r == nil || c.user.may(r) < Read {
		return no("NOT_FOUND", "Could not resolve to a Repository with the name '"+repo+"'.")
	}
	m := blobQuery.FindStringSubmatch(query)
	if m == nil {
		return no("undefinedField", "Parse error")
	}
	answer := object{}
	for rest := m[1]; rest != ""; {
		f := blobField.FindStringSubmatch(rest)
		if f == nil {
			return no("undefinedField", "Parse error on "+rest)
		}
		rest = rest[len(f[0]):]
		if r.bare.kind(f[2]) != "blob" {
			answer[f[1]] = nil
			continue
		}
		data := must(r.bare.output(nil, nil, "cat-file", "blob", f[2]))
		if !utf8.Valid(data) || strings.Contains(string(data), "\x00") {
			answer[f[1]] = object{"text": nil}
			continue
		}
		answer[f[1]] = object{"text": string(data)}
	}
	return object{"data": object{"repository": answer}}, nil
}
