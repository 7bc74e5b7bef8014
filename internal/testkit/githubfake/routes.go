package githubfake

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
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

// fields are what a request's body may hold: the kind of each field by name,
// with "!" before the kind when it must be there and "?" behind it when it may
// be null. Kinds: string, boolean, integer, strings, objects, object.
type fields map[string]string

// body reads a request's body and holds it to the fields (docs: using-the-
// rest-api/troubleshooting-the-rest-api, "Problems parsing JSON" to "Invalid
// request").
func (c *call) body(allowed fields) (object, error) {
	data, err := io.ReadAll(c.request.Body)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "Problems parsing JSON")
	}
	if len(bytes.TrimSpace(data)) == 0 {
		data = []byte("{}")
	} else if !strings.HasPrefix(c.request.Header.Get("Content-Type"), "application/json") {
		return nil, refuse(http.StatusUnsupportedMediaType, "Unsupported Media Type")
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&v); err != nil || !utf8.Valid(data) {
		return nil, refuse(http.StatusBadRequest, "Problems parsing JSON")
	}
	if list, ok := v.([]any); ok && len(allowed) == 1 { // some bodies may be the list alone
		for name, kind := range allowed {
			if strings.HasSuffix(kind, "s") {
				v = object{name: list}
			}
		}
	}
	o, ok := v.(object)
	if !ok {
		return nil, refuse(http.StatusBadRequest, "Body should be a JSON object")
	}
	return o, check(o, allowed)
}

func check(o object, allowed fields) error {
	var wrong []string
	for _, name := range slices.Sorted(maps.Keys(o)) {
		kind, ok := allowed[name]
		kind = strings.TrimPrefix(kind, "!")
		nullable := strings.HasSuffix(kind, "?")
		kind = strings.TrimSuffix(kind, "?")
		switch {
		case !ok:
			wrong = append(wrong, fmt.Sprintf("%q is not a permitted key.", name))
		case o[name] == nil && nullable:
		case !is(o[name], kind):
			shown, _ := json.Marshal(o[name])
			wrong = append(wrong, fmt.Sprintf("For 'properties/%s', %s is not a %s.", name, shown, kind))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(allowed)) {
		if _, there := o[name]; !there && strings.HasPrefix(allowed[name], "!") {
			wrong = append(wrong, fmt.Sprintf("%q wasn't supplied.", name))
		}
	}
	if len(wrong) > 0 {
		return unprocessable("Invalid request.\n\n" + strings.Join(wrong, "\n"))
	}
	return nil
}

func is(v any, kind string) bool {
	switch kind {
	case "string":
		_, ok := v.(string)
		return ok
	case "boolean":
		_, ok := v.(bool)
		return ok
	case "integer":
		n, ok := v.(json.Number)
		_, err := n.Int64()
		return ok && err == nil
	case "object":
		_, ok := v.(object)
		return ok
	}
	list, ok := v.([]any)
	for _, one := range list {
		ok = ok && is(one, strings.TrimSuffix(kind, "s"))
	}
	return ok
}

// text returns a string field, "" when it is missing or null.
func text(o object, name string) string {
	s, _ := o[name].(string)
	return s
}

func flag(o object, name string) bool {
	b, _ := o[name].(bool)
	return b
}

func texts(o object, name string) (all []string) {
	list, _ := o[name].([]any)
	for _, one := range list {
		all = append(all, one.(string))
	}
	return all
}

func has(o object, name string) bool {
	_, ok := o[name]
	return ok
}

// tooLong holds a text to what GitHub takes.
func tooLong(resource, field, s string, limit int) error {
	if utf8.RuneCountInString(s) > limit {
		return custom(resource, field, fmt.Sprintf("%s is too long (maximum is %d characters)", field, limit))
	}
	if strings.Contains(s, "\x00") {
		return invalid(resource, field, "invalid")
	}
	return nil
}

type object = map[string]any

// refusal is an answer that says no (docs: using-the-rest-api/
// troubleshooting-the-rest-api).
type refusal struct {
	status  int
	message string
	details []any
	header  http.Header
}

func (r *refusal) Error() string { return r.message }

func (r *refusal) body() object {
	b := object{"message": r.message, "documentation_url": "https://docs.github.com/rest", "status": strconv.Itoa(r.status)}
	if len(r.details) > 0 {
		b["errors"] = r.details
	}
	return b
}

func refuse(status int, message string) *refusal { return &refusal{status: status, message: message} }

func notFound() *refusal { return refuse(http.StatusNotFound, "Not Found") }

// invalid is a 422 that names a field, with one of the codes of the docs.
func invalid(resource, field, code string) *refusal {
	r := refuse(http.StatusUnprocessableEntity, "Validation Failed")
	r.details = []any{object{"resource": resource, "field": field, "code": code}}
	return r
}

// custom is a 422 in words.
func custom(resource, field, message string) *refusal {
	r := invalid(resource, field, "custom")
	detail := r.details[0].(object)
	detail["message"] = message
	if field == "" {
		delete(detail, "field")
	}
	return r
}

// validation is a 422 in words alone, as some routes have it.
func validation(message string) *refusal {
	r := refuse(http.StatusUnprocessableEntity, "Validation Failed")
	r.details = []any{message}
	return r
}

// unprocessable is a 422 without details, as the Git data API has them.
func unprocessable(message string) *refusal {
	return refuse(http.StatusUnprocessableEntity, message)
}

// emptyRepository is the Git data API's answer before the first commit
// (github.com/github/rest-api-description issue 637).
func emptyRepository() *refusal {
	return refuse(http.StatusConflict, "Git Repository is empty.")
}

// created, accepted and nothing are answers other than 200; answered is one
// with a header.
type (
	answered struct {
		body   any
		header http.Header
	}
	created struct{ body any }
	nothing struct{}
	raw     struct {
		kind string
		data []byte
	}
)

// page is one page of a list, with the links to others (docs: using-the-rest-
// api/using-pagination-in-the-rest-api).
type page struct {
	items any
	link  string
}

func paginate[T any](c *call, all []T) page {
	per, n := 30, 1
	if v, err := strconv.Atoi(c.query("per_page")); err == nil && v > 0 {
		per = min(v, 100)
	}
	if v, err := strconv.Atoi(c.query("page")); err == nil && v > 0 {
		n = v
	}
	last := max(1, (len(all)+per-1)/per)
	var links []string
	link := func(rel string, to int) {
		v := c.request.URL.Query()
		v.Set("page", strconv.Itoa(to))
		links = append(links, fmt.Sprintf("<%s/api/v3%s?%s>; rel=%q", c.server.URL, c.request.URL.Path, v.Encode(), rel))
	}
	if n > 1 {
		link("prev", n-1)
		link("first", 1)
	}
	if n < last {
		link("next", n+1)
		link("last", last)
	}
	from := min((n-1)*per, len(all))
	items := all[from:min(from+per, len(all))]
	if items == nil {
		items = []T{}
	}
	return page{items, strings.Join(links, ", ")}
}
