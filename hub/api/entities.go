package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kalypso-dev/kalypso/hub/propose"
	"github.com/kalypso-dev/kalypso/scheduler/edit"
)

const (
	typeYAML       = "application/yaml"
	typeMergePatch = "application/merge-patch+json"
)

type (
	// EntityName names an object of an environment's platform model.
	EntityName struct {
		EnvironmentInput
		Kind string `path:"kind" enum:"baserepos,clustertypes,configs,gitopsrepos,policies,registrations,rollouts,schemas,templates"`
		Name string `path:"name" maxLength:"253"`
	}
	// EntityOutput is an object with what If-Match takes.
	EntityOutput struct {
		ETag string `header:"Etag"`
		Body propose.Entity
	}
	// EntityChange is what each change of an object takes.
	EntityChange struct {
		EntityName
		DryRun  bool   `query:"dryRun" doc:"Answer with the plan, and change nothing."`
		Title   string `query:"title" maxLength:"200" doc:"Of the pull request."`
		Confirm string `query:"confirm" maxLength:"253" doc:"The environment's name, where the plan has massRemoval."`
		IfMatch string `header:"If-Match" maxLength:"100" doc:"Etag of the object."`
		Key     string `header:"Idempotency-Key" maxLength:"200"`
	}
	// EntityDocument changes an object to what a document says.
	EntityDocument struct {
		EntityChange
		ContentType string `header:"Content-Type" hidden:"true"`
		RawBody     []byte
	}
	// EntityAnswer is the proposal of a change, or of a change that is only tried the plan.
	EntityAnswer struct {
		Status   int
		Location string `header:"Location"`
		Body     any
	}
	// KindName names a kind.
	KindName struct {
		Kind string `path:"kind" maxLength:"63" doc:"clustertypes, or ClusterType."`
	}
)

func (a *api) entityRoutes() {
	const path = "/environments/{env}/{kind}/{name}"
	get(a, operation{id: "listSchemas", path: "/schemas", summary: "The kinds of objects that can be edited, with their JSON schemas"}, func(context.Context, *struct{}) (List[propose.Described], error) {
		all := propose.Schemas()
		n := len(all)
		return List[propose.Described]{Items: all, Total: &n}, nil
	})
	get(a, operation{id: "getSchema", path: "/schemas/{kind}", summary: "The JSON schema of a kind"}, func(_ context.Context, input *KindName) (propose.Schema, error) {
		kind, ok := propose.FindKind(input.Kind)
		if !ok {
			var names []string
			for _, k := range propose.Kinds() {
				names = append(names, k.Plural, k.Name)
			}
			return nil, notFound("path.kind", "kind", input.Kind, names)
		}
		return propose.SchemaOf(kind.Name), nil
	})
	huma.Register(a.huma, operation{id: "getEntity", path: path, summary: "An object of an environment's model as its file has it"}.huma(), a.entity)
	registry := a.huma.OpenAPI().Components.Schemas
	proposal, plan := registry.Schema(reflect.TypeFor[propose.Proposal](), true, ""), registry.Schema(reflect.TypeFor[propose.Plan](), true, "")
	written := func(id, method, summary string) huma.Operation {
		o := operation{id: id, path: path, method: method, summary: summary, role: Proposer, status: http.StatusAccepted}.huma()
		o.Responses = map[string]*huma.Response{
			"202": {Description: "The proposal, whose pull request changes the object when it is merged.", Content: map[string]*huma.MediaType{typeJSON: {Schema: proposal}}},
			"200": {Description: "The plan, of dryRun or where nothing changes.", Content: map[string]*huma.MediaType{typeJSON: {Schema: plan}}},
			// huma adds it to operations with one answer only
			"default": a.huma.OpenAPI().Paths[path].Get.Responses["default"],
		}
		return o
	}
	withBody := func(o huma.Operation, handle func(context.Context, *EntityDocument) (*EntityAnswer, error), types ...string) {
		o.RequestBody = &huma.RequestBody{Required: true}
		huma.Register(a.huma, o, handle)
		o.RequestBody.Content = map[string]*huma.MediaType{} // huma knows bytes only
		for _, t := range types {
			o.RequestBody.Content[t] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true, Description: "An object, or of PATCH a JSON merge patch of one: each kind has a schema of its own."}}
		}
	}
	withBody(written("putEntity", http.MethodPut, "Propose an object as a document says"), func(ctx context.Context, input *EntityDocument) (*EntityAnswer, error) {
		return a.changeEntity(ctx, &input.EntityChange, func(kind edit.Kind) (e edit.Edit, head string, err error) {
			if err := ofType(input.ContentType, typeJSON, typeYAML); err != nil {
				return e, "", err
			}
			if isJSON(input.ContentType) && !json.Valid(input.RawBody) {
				return e, "", newProblem(http.StatusBadRequest, "the body is no JSON").at("body", nil)
			}
			e, err = propose.Put(kind, input.Name, input.RawBody)
			return e, "", err
		})
	}, typeJSON, typeYAML)
	withBody(written("patchEntity", http.MethodPatch, "Propose an object with a JSON merge patch"), func(ctx context.Context, input *EntityDocument) (*EntityAnswer, error) {
		return a.changeEntity(ctx, &input.EntityChange, func(kind edit.Kind) (e edit.Edit, head string, err error) {
			if err := ofType(input.ContentType, typeMergePatch, typeJSON); err != nil {
				return e, "", err
			}
			if !json.Valid(input.RawBody) {
				return e, "", newProblem(http.StatusBadRequest, "the body is no JSON").at("body", nil)
			}
			now, err := a.entityInScope(ctx, &input.EntityName, !input.DryRun)
			if err != nil {
				return e, "", err
			}
			if e, err = propose.Patch(kind, now, input.RawBody); err != nil {
				return e, "", newProblem(http.StatusUnprocessableEntity, err.Error()).at("body", nil)
			}
			return e, now.Head, nil
		})
	}, typeMergePatch, typeJSON)
	huma.Register(a.huma, written("deleteEntity", http.MethodDelete, "Propose that an object goes"), func(ctx context.Context, input *EntityChange) (*EntityAnswer, error) {
		return a.changeEntity(ctx, input, func(kind edit.Kind) (edit.Edit, string, error) {
			return edit.Edit{Operation: edit.DeleteObject, Kind: kind.Name, Name: input.Name}, "", nil
		})
	})
}

// ofType is a problem about a body of another content type.
func ofType(given string, types ...string) error {
	kind, _, _ := strings.Cut(given, ";")
	for _, t := range types {
		if strings.EqualFold(strings.TrimSpace(kind), t) {
			return nil
		}
	}
	p := newProblem(http.StatusUnsupportedMediaType, fmt.Sprintf("the body is %q", text(given)))
	p.Hint = "send " + strings.Join(types, " or ")
	return p
}

func isJSON(contentType string) bool { return strings.HasPrefix(contentType, typeJSON) }

func (a *api) entity(ctx context.Context, input *EntityName) (*EntityOutput, error) {
	if err := a.environmentInScope(ctx, "path.env", input.Environment); err != nil {
		return nil, failed(ctx, err)
	}
	found, err := a.entityInScope(ctx, input, false)
	if err != nil {
		return nil, failed(ctx, err)
	}
	a.redaction.entity(&found)
	return &EntityOutput{ETag: `"` + found.Head + `"`, Body: found}, nil
}

// entityInScope is an object that who asks may see; with current as the forge has it now.
func (a *api) entityInScope(ctx context.Context, input *EntityName, current bool) (propose.Entity, error) {
	kind, _ := propose.FindKind(input.Kind) // the path has no others
	found, err := a.planner.Entity(ctx, input.Environment, kind, input.Name, current)
	if err != nil {
		return found, ofEdit(ctx, err, "path.name")
	}
	if workspaces := scopeOf(ctx).Workspaces; len(workspaces) > 0 && !found.In(workspaces) {
		requestOf(ctx).hidden = true
		return found, newProblem(http.StatusNotFound, "there is no "+kind.Name+" "+input.Name+" in your scope").at("path.name", input.Name)
	}
	return found, nil
}

// changeEntity proposes one edit of an object, or says what it would do. made makes the edit, of what
// it has read at a head of the branch, "" for nothing.
func (a *api) changeEntity(ctx context.Context, input *EntityChange, made func(edit.Kind) (e edit.Edit, head string, err error)) (*EntityAnswer, error) {
	if err := a.environmentInScope(ctx, "path.env", input.Environment); err != nil {
		return nil, failed(ctx, err)
	}
	kind, _ := propose.FindKind(input.Kind)
	e, head, err := made(kind)
	if err != nil {
		return nil, failed(ctx, a.counted(err))
	}
	request := propose.Request{Environment: input.Environment, Base: cmp.Or(seen(input.IfMatch), head), Edits: []edit.Edit{e}, Against: propose.Planned, Current: !input.DryRun}
	if input.DryRun {
		planned, err := a.plan(ctx, request, "path.env", "body")
		if err == nil {
			err = isCurrent(planned, input.IfMatch)
		}
		if err != nil {
			return nil, failed(ctx, err)
		}
		return &EntityAnswer{Status: http.StatusOK, Body: planned.Plan}, nil
	}
	var unchanged *propose.Plan
	do := func() (*ProposalOutput, error) {
		planned, err := a.plan(ctx, request, "path.env", "body")
		if err == nil {
			err = isCurrent(planned, input.IfMatch)
		}
		if err != nil {
			return nil, err
		}
		if !planned.Plan.Changed {
			unchanged = &planned.Plan
			return nil, errUnchanged
		}
		if m := planned.Plan.MassRemoval; m != nil && input.Confirm != input.Environment {
			p := newProblem(http.StatusUnprocessableEntity, fmt.Sprintf("this removes %d of %d assignments", m.Count, m.Of)).at("query.confirm", nil)
			p.Hint = "confirm it by the environment's name"
			return nil, p
		}
		title := input.Title
		if title == "" {
			title = map[edit.Operation]string{edit.PutObject: "Change ", edit.DeleteObject: "Remove "}[e.Operation] + kind.Name + " " + input.Name
		}
		return a.propose(ctx, planned, title, "", "body")
	}
	var out *ProposalOutput
	if input.Key == "" {
		out, err = do()
	} else {
		out, err = a.once(ctx, input.Key, struct {
			Path EntityName
			Edit edit.Edit
		}{input.EntityName, e}, do)
	}
	switch {
	case errors.Is(err, errUnchanged):
		return &EntityAnswer{Status: http.StatusOK, Body: *unchanged}, nil
	case err != nil:
		return nil, failed(ctx, a.counted(err))
	}
	return &EntityAnswer{Status: http.StatusAccepted, Location: out.Location, Body: out.Body}, nil
}

// errUnchanged is about an edit that changes nothing: that is no mistake of one who says how an
// object is to be.
var errUnchanged = errors.New("nothing changes")
