package githubfake

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
)

// call is an API request that is answered.
type call struct {
	server  *Server
	request *http.Request
	user    *User
	app     *app
	repo    *repository
}

func (c *call) param(name string) string { return c.request.PathValue(name) }

func (c *call) query(name string) string { return c.request.URL.Query().Get(name) }

// handler answers a request. It runs while the server is locked.
type handler func(c *call) (any, error)

// handle adds a route of the API.
func (s *Server) handle(pattern string, h handler) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, q *http.Request) {
		user, app, err := s.authenticate(q)
		c := &call{server: s, request: q, user: user, app: app}
		var answer any
		if err == nil {
			answer, err = h(c)
		}
		write(w, q, answer, err)
	})
}

// on adds a route of a repository for accounts with rights. Those who may not
// read it get the answer of one that does not exist (docs: using-the-rest-api/
// troubleshooting-the-rest-api, "404 Not Found for an existing resource").
func (s *Server) on(need Rights, route string, h handler) {
	method, rest, _ := strings.Cut(route, " ")
	s.handle(method+" /repos/{owner}/{repo}"+rest, func(c *call) (any, error) {
		r, ok := s.repos[strings.ToLower(c.param("owner")+"/"+c.param("repo"))]
		if old := s.renamed[strings.ToLower(c.param("owner")+"/"+c.param("repo"))]; !ok && old != nil && rest == "" {
			return nil, old.moved()
		}
		if !ok || c.user.may(r) < Read {
			return nil, notFound()
		}
		c.repo = r
		switch {
		case c.user == nil && need > Read:
			return nil, refuse(http.StatusUnauthorized, "Requires authentication")
		case c.user.may(r) < need && c.user != nil && c.user.bot:
			return nil, refuse(http.StatusForbidden, "Resource not accessible by integration")
		case c.user.may(r) < need && need == Admin:
			return nil, refuse(http.StatusForbidden, "Must have admin rights to Repository.")
		case c.user.may(r) < need: // of what one may see, one may not write
			return nil, notFound()
		case r.archived && method != http.MethodGet:
			return nil, refuse(http.StatusForbidden, "Repository was archived so is read-only.")
		}
		r.follow()
		return h(c)
	})
}

func write(w http.ResponseWriter, q *http.Request, answer any, err error) {
	status := http.StatusOK
	var refused *refusal
	switch {
	case errors.As(err, &refused):
		status, answer = refused.status, refused.body()
		for k, v := range refused.header {
			w.Header()[k] = v
		}
	case err != nil:
		status, answer = http.StatusInternalServerError, object{"message": "Server Error: " + err.Error()}
	}
	switch a := answer.(type) {
	case answered:
		for k, v := range a.header {
			w.Header()[k] = v
		}
		answer = a.body
	case created:
		status, answer = http.StatusCreated, a.body
	case nothing:
		w.WriteHeader(http.StatusNoContent)
		return
	case page:
		w.Header().Set("Link", a.link)
		answer = a.items
	case raw:
		w.Header().Set("Content-Type", a.kind)
		w.WriteHeader(status)
		_, _ = w.Write(a.data)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	data := must(json.Marshal(answer))
	if q.Method != http.MethodHead {
		_, _ = w.Write(data)
	}
}
