package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/kalypso-dev/kalypso/scheduler/placement"
)

// What the metadata of an operation says.
const (
	metaRole    = "role"    // the least Role; Viewer when absent
	metaAudited = "audited" // true: it is in the audit though it only reads
	metaOpen    = "open"    // true: nobody needs to be signed in
	metaQuiet   = "quiet"   // true: it is in the audit only when it is refused, though it writes
	metaTagged  = "tagged"  // true: its answer changes only with what the outbox has
)

func init() {
	// huma has these for the whole program, in which only this package uses it.
	huma.NewError = func(status int, message string, errs ...error) huma.StatusError {
		return humaProblem(nil, status, message, errs...)
	}
	huma.NewErrorWithContext = humaProblem
	huma.DefaultArrayNullable = false
}

const description = `What runs where, since when and why, as the hub has observed it.

Lists take limit and after, and answer with items, next (the cursor of the rest), total and asOf. Filters that are repeated mean OR, different ones AND. Errors are application/problem+json. Times are RFC 3339 in UTC.`

// newHuma returns the API without operations.
func newHuma(mux *http.ServeMux) huma.API {
	registry := huma.NewMapRegistry("#/components/schemas/", schemaName)
	registry.RegisterTypeAlias(reflect.TypeFor[placement.State](), reflect.TypeFor[State]())
	config := huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info:    &huma.Info{Title: "kalypso hub", Version: "1", Description: description, License: &huma.License{Name: "Apache 2.0", Identifier: "Apache-2.0"}},
			Servers: []*huma.Server{{URL: prefix}},
			Components: &huma.Components{
				Schemas: registry,
				SecuritySchemes: map[string]*huma.SecurityScheme{
					"token":  {Type: "http", Scheme: "bearer", Description: "From kalypso hub token create."},
					"cookie": {Type: "apiKey", In: "cookie", Name: "kalypso_hub", Description: "From POST /enter; the name ends in the port. Writes carry X-CSRF beside it."},
				},
			},
			Security: []map[string][]string{{"token": {}}, {"cookie": {}}},
		},
		Formats:                      huma.DefaultFormats,
		DefaultFormat:                "application/json",
		RejectUnknownQueryParameters: true,
		Transformers:                 []huma.Transformer{stamp},
	}
	return humago.NewWithPrefix(mux, prefix, config)
}

// schemaName is the name of a type in the OpenAPI document. Types of the scheduler that have
// the names of others get their package's before them.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if rest, ok := strings.CutPrefix(name, "List"); ok && rest != "" && strings.HasPrefix(t.Name(), "List[") {
		return rest + "List"
	}
	_, pkg, _ := strings.Cut(t.PkgPath(), "/kalypso/scheduler/")
	of := map[string]string{"explain": "Explained", "plan": "Planned", "fleet": "Fleet"}[pkg]
	if name == "Explanation" || of == "" {
		return name
	}
	return of + strings.TrimPrefix(name, of)
}

// allowMore leaves answers open to fields that are added later. Only what requests send is
// closed, so that a field that has no effect is a mistake.
func allowMore(o *huma.OpenAPI) {
	sent := map[string]bool{}
	for _, path := range o.Paths {
		for _, operation := range []*huma.Operation{path.Post, path.Put, path.Patch} {
			if operation == nil || operation.RequestBody == nil {
				continue
			}
			for _, content := range operation.RequestBody.Content {
				sent[content.Schema.Ref] = true
			}
		}
	}
	for name, s := range o.Components.Schemas.Map() {
		if s.AdditionalProperties == false && !sent["#/components/schemas/"+name] {
			s.AdditionalProperties = nil
		}
	}
}

// operation describes a route.
type operation struct {
	id, path, summary, method string // GET when empty
	role                      Role   // Viewer when empty
	audited, tagged, open     bool
	quiet                     bool  // it writes, and is in the audit only when it is refused
	body                      int64 // how much it may be sent, in bytes; maxBody when zero
	status                    int   // of success, where it is another than the usual
}

func (o operation) huma() huma.Operation {
	metadata := map[string]any{metaAudited: o.audited, metaTagged: o.tagged, metaOpen: o.open, metaQuiet: o.quiet}
	summary := o.summary
	if o.role != "" {
		metadata[metaRole] = o.role
		summary += " (" + string(o.role) + ")"
	}
	method := o.method
	if method == "" {
		method = http.MethodGet
	}
	whole := huma.Operation{
		OperationID: o.id, Method: method, Path: o.path, Summary: summary, Metadata: metadata, DefaultStatus: o.status,
		MaxBodyBytes: cmp.Or(o.body, maxBody), BodyReadTimeout: bodyTimeout,
	}
	if o.open {
		whole.Security = []map[string][]string{}
	}
	if o.body > maxBody {
		whole.BodyReadTimeout = readTimeout
	}
	return whole
}

func roleOf(o *huma.Operation) Role {
	if role, ok := o.Metadata[metaRole].(Role); ok {
		return role
	}
	return Viewer
}

// answer is a document as huma takes it.
type answer[D any] struct{ Body D }

// get registers an operation that answers with a document.
func get[I, D any](a *api, o operation, handle func(context.Context, *I) (D, error)) {
	huma.Register(a.huma, o.huma(), func(ctx context.Context, input *I) (*answer[D], error) {
		d, err := handle(ctx, input)
		if err != nil {
			return nil, failed(ctx, err)
		}
		return &answer[D]{d}, nil
	})
}

// change registers an operation that changes something and answers with nothing. It is POST
// where no method is given.
func change[I any](a *api, o operation, handle func(context.Context, *I) error) {
	if o.method == "" {
		o.method = http.MethodPost
	}
	huma.Register(a.huma, o.huma(), func(ctx context.Context, input *I) (*struct{}, error) {
		if err := handle(ctx, input); err != nil {
			return nil, failed(ctx, err)
		}
		return nil, nil
	})
}

// enum makes a schema with a name of the values of a type.
func enum[T ~string](r huma.Registry, name, doc string, values []T) *huma.Schema {
	if r.Map()[name] == nil {
		s := &huma.Schema{Type: huma.TypeString, Description: doc}
		for _, v := range values {
			s.Enum = append(s.Enum, string(v))
		}
		s.PrecomputeMessages()
		r.Map()[name] = s
	}
	return &huma.Schema{Ref: "#/components/schemas/" + name}
}

// State is placement.State with its values in the OpenAPI document.
type State placement.State

// Schema implements huma.SchemaProvider.
func (State) Schema(r huma.Registry) *huma.Schema {
	return enum(r, "State", "How a placement is, the worst first.", placement.States())
}

// Schema implements huma.SchemaProvider.
func (ChangeState) Schema(r huma.Registry) *huma.Schema {
	return enum(r, "ChangeState", "How a change is; none: no cluster follows its branch.", changeStates())
}

// Schema implements huma.SchemaProvider.
func (Role) Schema(r huma.Registry) *huma.Schema {
	return enum(r, "Role", "What a user may do; each may do what those before it may. An agent may report of its own cluster alone.", []Role{Viewer, Proposer, Operator, Owner, Agent})
}

// resolved is the schema that a reference stands for.
func resolved(r huma.Registry, s *huma.Schema) *huma.Schema {
	if s != nil && s.Ref != "" {
		return r.SchemaFromRef(s.Ref)
	}
	return s
}

func (a *api) openAPI(rw http.ResponseWriter, r *http.Request) {
	document, err := a.document()
	if err != nil {
		a.refuse(rw, r, asProblem(r.Context(), err))
		return
	}
	rw.Header().Set("Content-Type", "application/openapi+json;version=3.1")
	if _, err := rw.Write(document); err != nil {
		requestOf(r.Context()).log.Debug("an answer could not be sent", "error", err)
	}
}

// document is the OpenAPI document, the same for the same code.
func (a *api) document() ([]byte, error) {
	compact, err := json.Marshal(a.huma.OpenAPI())
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, compact, "", " "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// orEmpty is a list that is not null in JSON.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// orEmptyMap is a map that is not null in JSON.
func orEmptyMap[K comparable, V any](m map[K]V) map[K]V {
	if m == nil {
		return map[K]V{}
	}
	return m
}
