package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/explain"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
	"github.com/kalypso-dev/kalypso/scheduler/view"
)

type (
	// ExplainInput asks why a target is where it is.
	ExplainInput struct {
		Environment string `query:"env" required:"true"`
		Target      string `query:"target" required:"true" doc:"WORKLOAD-TARGET, or the target alone where only one has that name."`
		ClusterType string `query:"clusterType" doc:"Adds what the target gets there."`
	}
	// ObjectsInput asks for the objects of an environment.
	ObjectsInput struct {
		EnvironmentInput
		Kind string `path:"kind" enum:"clustertypes,targets,policies,configs,schemas,templates,registrations,rollouts,assignments"`
	}
	// Object is a document of package view: which one, the kind says.
	Object struct{ document any }
)

// MarshalJSON implements json.Marshaler.
func (o Object) MarshalJSON() ([]byte, error) { return json.Marshal(o.document) }

// Schema implements huma.SchemaProvider.
func (Object) Schema(r huma.Registry) *huma.Schema {
	var documents []*huma.Schema
	for _, t := range []reflect.Type{reflect.TypeFor[view.ObjectDocument](), reflect.TypeFor[view.TargetDocument](), reflect.TypeFor[view.AssignmentDocument]()} {
		documents = append(documents, r.Schema(t, true, ""))
	}
	return &huma.Schema{AnyOf: documents}
}

func (a *api) modelRoutes() {
	get(a, operation{id: "explain", path: "/explain", summary: "Why a deployment target is, or is not, on cluster types"}, a.explain)
	get(a, operation{id: "listObjects", path: "/environments/{env}/{kind}", summary: "What an environment's model has"}, a.objects)
}

func (a *api) explain(ctx context.Context, input *ExplainInput) (*explain.Explanation, error) {
	if err := a.knownEnvironments(ctx, []string{input.Environment}); err != nil {
		return nil, err
	}
	found, err := a.Model.Explain(ctx, input.Environment, input.Target, input.ClusterType)
	var unknown *explain.InputError
	workspaces := scopeOf(ctx).Workspaces
	switch {
	case len(workspaces) == 0 && err == nil:
	case len(workspaces) > 0 && (errors.As(err, &unknown) && unknown.NoTarget || err == nil && !slices.Contains(workspaces, found.Target.Workspace)):
		// the names of others' targets are not listed either
		requestOf(ctx).hidden = err == nil
		return nil, newProblem(http.StatusNotFound, "there is no deployment target "+input.Target+" in your scope").at("query.target", input.Target)
	case err != nil:
		return nil, ofModel(err)
	}
	return a.redaction.explanation(found), nil
}

func (a *api) objects(ctx context.Context, input *ObjectsInput) (List[Object], error) {
	if err := a.inScope(ctx, input.Environment); err != nil {
		return List[Object]{}, err
	}
	documents, err := a.Model.Objects(ctx, input.Environment, input.Kind)
	if err != nil {
		return List[Object]{}, ofModel(err)
	}
	if workspaces := scopeOf(ctx).Workspaces; len(workspaces) > 0 {
		if documents, err = a.inWorkspaces(ctx, input, documents, workspaces); err != nil {
			return List[Object]{}, ofModel(err)
		}
	}
	items := make([]Object, 0, len(documents))
	for _, d := range documents {
		items = append(items, Object{a.redaction.object(d)})
	}
	return whole(items, time.Time{}), nil
}

// inWorkspaces leaves out what belongs to other workspaces. What is the platform's stays.
func (a *api) inWorkspaces(ctx context.Context, input *ObjectsInput, documents []any, workspaces []string) ([]any, error) {
	var theirs map[string]bool // targets of the workspaces, for assignments
	if input.Kind == "assignments" {
		targets, err := a.Model.Objects(ctx, input.Environment, "targets")
		if err != nil {
			return nil, err
		}
		theirs = map[string]bool{}
		for _, d := range targets {
			if t, ok := d.(view.TargetDocument); ok && slices.Contains(workspaces, t.Workspace) {
				theirs[t.Name] = true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(documents), func(d any) bool {
		switch d := d.(type) {
		case view.TargetDocument:
			return !slices.Contains(workspaces, d.Workspace)
		case view.AssignmentDocument:
			return !theirs[d.Target]
		case view.ObjectDocument:
			registration, ok := d.Spec.(v1alpha1.WorkloadRegistrationSpec)
			return ok && !slices.Contains(workspaces, registration.Workspace)
		}
		return true
	}), nil
}

// ofModel is an error of the model: what cannot be loaded or planned is said, since it is what
// its readers have to mend.
func ofModel(err error) error {
	var input *explain.InputError
	var known *Problem
	if errors.As(err, &input) || errors.As(err, &known) || errors.Is(err, store.ErrNotFound) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return err
	}
	return newProblem(http.StatusServiceUnavailable, redact.Text(err.Error()))
}
