package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kalypso-dev/kalypso/hub/propose"
	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/scheduler/explain"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// Problem is an error, as RFC 9457 has it.
type Problem struct {
	Type     string         `json:"type" doc:"What kind of problem it is: the path of a page of the hub."`
	Title    string         `json:"title" doc:"The same for all problems of the type."`
	Status   int            `json:"status" doc:"The HTTP status."`
	Detail   string         `json:"detail" doc:"What is wrong, this time."`
	Instance string         `json:"instance" doc:"The ID of the request, which the hub's log and audit have."`
	Hint     string         `json:"hint,omitempty" doc:"What to do."`
	Errors   []ProblemError `json:"errors,omitempty" doc:"Each thing that is wrong with the request."`
	Plan     *propose.Plan  `json:"plan,omitempty" doc:"Of a proposal whose branch has moved: the plan as it is now."`

	header http.Header
}

// ProblemError is one thing that is wrong with a request.
type ProblemError struct {
	Location string `json:"location" doc:"Where in the request: query.limit, path.environment, body.name."`
	Message  string `json:"message"`
	Value    any    `json:"value,omitempty" doc:"What was given."`
}

// Error implements error.
func (p *Problem) Error() string { return p.Detail }

// GetStatus implements huma.StatusError.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType implements huma.ContentTypeFilter.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// GetHeaders implements huma.HeadersError.
func (p *Problem) GetHeaders() http.Header { return p.header }

// at adds where in the request a problem is.
func (p *Problem) at(location string, value any) *Problem {
	p.Errors = append(p.Errors, ProblemError{Location: location, Message: p.Detail, Value: value})
	return p
}

// problemKind is a type of problems: its page has all of it.
type problemKind struct {
	slug   string
	status int
	title  string
	page   string // what it means, and what to do
}

// problemKinds are all types. The first of a status is the one of problems that say nothing else.
var problemKinds = []problemKind{
	{"malformed-request", 400, "The request cannot be read", "The body is not the JSON that the operation takes, or has no end. The detail says where reading has ended."},
	{"invalid-cursor", 400, "The cursor is not valid", "A cursor is the value of next of a list, unchanged, with the same filters and the same sort. Begin again without after."},
	{"not-signed-in", 401, "Not signed in", "Send a token as Authorization: Bearer, or open the hub with kalypso open hub. Tokens and sessions end at their time, and tokens can be revoked."},
	{"sign-in-failed", 401, "The sign-in has failed", "The provider has refused it, or it was begun in another browser or more than ten minutes ago. Begin again on the hub's first page. If the provider refuses again, who operates it knows why."},
	{"spent-ticket", 401, "The link is spent", "A link of kalypso open hub is good for one sign-in within a minute. Run kalypso open hub again."},
	{"forbidden", 403, "Not permitted", "The role or the scope of your sign-in does not permit it. The detail names what is needed; who operates the hub can give it."},
	{"no-role", 403, "No role in this hub", "You have signed in, and none of your groups has a role here. Who operates the hub gives roles to groups in its configuration, and can see in the audit who has tried."},
	{"cross-origin", 403, "From a page of another origin", "A browser sent the request for a page that is not the hub's. Scripts use a token, without a cookie."},
	{"missing-csrf", 403, "X-CSRF is missing", "Writes that are signed in by the cookie carry the header X-CSRF with the value that /api/v1/me has."},
	{"not-found", 404, "Not found", "Nothing has this name, or it is outside of what you may see. The hint has the nearest name."},
	{"method-not-allowed", 405, "Method not allowed", "The path is there, the method is not. The header Allow has those that are."},
	{"timeout", 408, "The request took too long", "The body did not come in time. Send it again."},
	{"conflict", 409, "It is there already", "Names are unique. Take another, or remove what has it."},
	{"busy", 409, "Something is being done already", "Only one step of a workshop is done at a time. Wait until it has ended, and try again."},
	{"moved", 412, "The branch has moved", "What the request was made for is not what there is any more. The answer has the plan as it is now: look at it, and send its head as If-Match. Nothing forces an older one."},
	{"body-too-large", 413, "The body is too large", "A request sends at most 1 MiB."},
	{"unsupported-content-type", 415, "Unsupported content type", "Bodies are application/json."},
	{"unknown-host", 421, "Unknown host", "The hub answers for the names in its configuration only: a page of elsewhere may have pointed its own name to this machine. Use the address that kalypso open hub prints, or add the name to the hub's hosts."},
	{"invalid-request", 422, "The request is not valid", "A parameter or field is unknown or has a value that it cannot have. errors names each of them."},
	{"answer-too-large", 422, "The answer is too large", "An answer has at most 2 MiB. Ask for fewer rows with limit, and for the rest with after."},
	{"key-missing", 428, "Idempotency-Key is missing", "A request that makes something carries a key of its own, so that it can be repeated when its answer is lost: the same key gets the same answer for a day."},
	{"too-many-sign-ins", 429, "Too many failed sign-ins", "From this address 20 sign-ins in a minute have failed. The header Retry-After has the seconds to wait."},
	{"internal", 500, "The hub has failed", "It is not the request's fault. The hub's log has the reason beside the request's ID, which is instance."},
	{"provider-unavailable", 502, "The sign-in provider does not answer", "The hub cannot reach who signs users in, or it does not answer as it should. Sessions that are open go on. Try again later; the hub's log has the reason."},
	{"unavailable", 503, "The hub cannot answer now", "The store did not answer in time, or what is asked does not answer. Try again later; /readyz has more."},
}

// newProblem makes a problem of a status.
func newProblem(status int, detail string) *Problem {
	i := slices.IndexFunc(problemKinds, func(k problemKind) bool { return k.status == status })
	if i < 0 { // huma's own, which the API has no words of its own for
		return &Problem{Type: "about:blank", Title: cmp.Or(http.StatusText(status), "Error"), Status: status, Detail: detail}
	}
	return newProblemOf(problemKinds[i].slug, detail)
}

// newProblemOf makes a problem of a type.
func newProblemOf(slug, detail string) *Problem {
	k := problemKinds[slices.IndexFunc(problemKinds, func(k problemKind) bool { return k.slug == slug })]
	return &Problem{Type: "/problems/" + slug, Title: k.title, Status: k.status, Detail: detail}
}

func internalProblem() *Problem {
	return newProblemOf("internal", "the hub cannot answer; its log has the reason")
}

// notFound is about a name that is not there, or not in scope, with the nearest that is.
func notFound(location, what, name string, names []string) *Problem {
	p := newProblem(http.StatusNotFound, "there is no "+what+" "+name).at(location, name)
	p.Hint = model.Suggest(name, names, "")
	return p
}

// failed makes the answer of an error: of the store, of the model, or already a problem.
func failed(ctx context.Context, err error) error {
	var known *Problem
	var input *explain.InputError
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &input):
		p := newProblem(http.StatusNotFound, input.Message)
		p.Hint = input.Hint
		return p
	case errors.Is(err, store.ErrNotFound):
		return newProblem(http.StatusNotFound, err.Error())
	case errors.Is(err, store.ErrCursor):
		return newProblemOf("invalid-cursor", err.Error()).at("query.after", nil)
	case errors.Is(err, store.ErrLabels):
		return newProblem(http.StatusUnprocessableEntity, err.Error()).at("query.label", nil)
	case errors.Is(err, store.ErrExists):
		return newProblem(http.StatusConflict, err.Error())
	case errors.Is(err, context.DeadlineExceeded):
		return newProblem(http.StatusServiceUnavailable, "no answer in time")
	case errors.Is(err, context.Canceled):
		return newProblem(http.StatusServiceUnavailable, "the request was cancelled")
	}
	requestOf(ctx).log.Error("a request has failed", "error", err)
	return internalProblem()
}

// refuse answers with a problem outside of huma's handlers.
func (a *api) refuse(rw http.ResponseWriter, r *http.Request, p *Problem) {
	q := requestOf(r.Context())
	p.Instance = q.id
	q.detail = cmp.Or(q.detail, p.Detail)
	secureHeaders(rw.Header())
	for name, values := range p.header {
		for _, v := range values {
			rw.Header().Add(name, v)
		}
	}
	rw.Header().Set("Content-Type", p.ContentType(""))
	rw.WriteHeader(p.Status)
	if err := json.NewEncoder(rw).Encode(p); err != nil {
		q.log.Debug("an answer could not be sent", "error", err)
	}
}

// showProblem is refuse for a browser that shows what it gets: a page instead of a document.
func (a *api) showProblem(rw http.ResponseWriter, r *http.Request, p *Problem) {
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		a.refuse(rw, r, p)
		return
	}
	q := requestOf(r.Context())
	p.Instance = q.id
	q.detail = cmp.Or(q.detail, p.Detail)
	secureHeaders(rw.Header())
	for name, values := range p.header {
		rw.Header()[name] = values
	}
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	rw.WriteHeader(p.Status)
	k := problemKinds[slices.IndexFunc(problemKinds, func(k problemKind) bool { return "/problems/"+k.slug == p.Type })]
	if err := problemTemplate.Execute(rw, shownProblem{k.title, k.page, text(p.Detail), p.Instance, k.status}); err != nil {
		q.log.Debug("an answer could not be sent", "error", err)
	}
}

// stamp gives problems that handlers return the ID of their request.
func stamp(ctx huma.Context, _ string, v any) (any, error) {
	if p, ok := v.(*Problem); ok {
		q := requestOf(ctx.Context())
		p.Instance = q.id
		q.detail = cmp.Or(q.detail, p.Detail)
	}
	return v, nil
}

// humaProblem makes a problem of what huma finds wrong with a request.
func humaProblem(ctx huma.Context, status int, message string, errs ...error) huma.StatusError {
	p := newProblem(status, message)
	if status >= http.StatusInternalServerError {
		if ctx != nil {
			requestOf(ctx.Context()).log.Error("a request has failed", "message", message, "errors", errs)
		}
		return internalProblem()
	}
	for _, err := range errs {
		detail := &huma.ErrorDetail{Message: err.Error()}
		var more huma.ErrorDetailer
		if errors.As(err, &more) {
			detail = more.ErrorDetail()
		}
		one := ProblemError{Location: detail.Location, Message: detail.Message, Value: detail.Value}
		if one.Location == "body" {
			one.Value = nil // all of it, which may be long and is known to who sent it
		}
		p.Errors = append(p.Errors, one)
	}
	slices.SortStableFunc(p.Errors, func(a, b ProblemError) int { return cmp.Compare(a.Location, b.Location) })
	if len(p.Errors) > 0 {
		first := p.Errors[0]
		p.Detail = strings.TrimPrefix(first.Location+": "+first.Message, ": ")
		if ctx != nil {
			p.Hint = suggestion(ctx, first)
		}
	}
	return p
}

// suggestion is the parameter, the field or the value that was most likely meant.
func suggestion(ctx huma.Context, e ProblemError) string {
	in, name, _ := strings.Cut(e.Location, ".")
	o, known := ctx.Operation(), requestOf(ctx.Context()).schemas
	switch in {
	case "query", "path":
		var names []string
		for _, p := range o.Parameters {
			if p.In != in {
				continue
			}
			if base, _, _ := strings.Cut(name, "["); p.Name == base {
				return suggestedValue(known, e.Value, p.Schema)
			}
			names = append(names, p.Name)
		}
		return model.Suggest(name, names, "there is "+strings.Join(names, ", "))
	case "body":
		if o.RequestBody == nil {
			return ""
		}
		var names []string
		for _, content := range o.RequestBody.Content {
			if s := resolved(known, content.Schema); s != nil {
				if property, ok := s.Properties[name]; ok {
					return suggestedValue(known, e.Value, property)
				}
				names = slices.AppendSeq(names, maps.Keys(s.Properties))
			}
		}
		slices.Sort(names)
		return model.Suggest(name, names, "")
	}
	return ""
}

func suggestedValue(known huma.Registry, value any, s *huma.Schema) string {
	if s = resolved(known, s); s != nil && s.Type == huma.TypeArray {
		s = resolved(known, s.Items)
	}
	given, ok := value.(string)
	if s == nil || !ok {
		return ""
	}
	var all []string
	for _, v := range s.Enum {
		if one, ok := v.(string); ok {
			all = append(all, one)
		}
	}
	return model.Suggest(given, all, "")
}

var problemTemplate = template.Must(template.New("problem").Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><title>{{.Title}}</title>
<h1>{{.Title}}</h1>{{with .Detail}}<p>{{.}}</p>{{end}}<p>{{.Page}}</p>{{with .Request}}<p>Request {{.}}</p>{{end}}<p>HTTP {{.Status}} &middot; <a href="/">hub</a></p>
</html>
`))

// shownProblem is what its page has of a problem; Detail and Request are of one that has happened.
type shownProblem struct {
	Title, Page, Detail, Request string
	Status                       int
}

// problemPage is what the type of a problem leads to.
func problemPage(rw http.ResponseWriter, r *http.Request) {
	secureHeaders(rw.Header())
	slug := r.PathValue("slug")
	i := slices.IndexFunc(problemKinds, func(k problemKind) bool { return k.slug == slug })
	if i < 0 {
		http.Error(rw, "there is no problem of this type", http.StatusNotFound)
		return
	}
	k := problemKinds[i]
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	if err := problemTemplate.Execute(rw, shownProblem{Title: k.title, Page: k.page, Status: k.status}); err != nil {
		requestOf(r.Context()).log.Debug("an answer could not be sent", "error", err)
	}
}
