package armemulator

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/armapi"
)

func (s *server) listConfigurations(r *http.Request, p path) (*answer, error) {
	all, err := s.Backend.Configurations(r.Context(), p.cluster)
	if err != nil {
		return nil, err
	}
	return list(slices.DeleteFunc(slices.Clone(all), func(one armapi.Configuration) bool { return typeOf(one) != p.cluster.Type })), nil
}

// typeOf is the type of the cluster that a configuration was written to.
func typeOf(one armapi.Configuration) armapi.ClusterType {
	c, err := armapi.ParseClusterID(one.ID)
	if err != nil {
		return ""
	}
	return c.Type
}

// find returns the configuration of a path, nil when there is none. Its objects
// on the cluster have one name for both types of the cluster, so that a name
// that the other type has is a conflict.
func (s *server) find(ctx context.Context, p path) (*armapi.Configuration, error) {
	all, err := s.Backend.Configurations(ctx, p.cluster)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(one armapi.Configuration) bool { return one.Name == p.configuration })
	if i < 0 {
		return nil, nil
	}
	if of := typeOf(all[i]); of != p.cluster.Type {
		return nil, Errorf(http.StatusConflict, "Conflict", "The cluster has a configuration '%s' as one of the %s already.", p.configuration, of)
	}
	return &all[i], nil
}

// configuration serves one of them.
func (s *server) configuration(r *http.Request, p path) (*answer, error) {
	switch r.Method {
	case http.MethodGet:
		found, err := s.find(r.Context(), p)
		if err != nil {
			return nil, err
		}
		if found == nil {
			return nil, notFound(p)
		}
		return ok(found), nil
	case http.MethodPut:
		return s.put(r, p)
	case http.MethodPatch:
		return s.patch(r, p)
	case http.MethodDelete:
		force := strings.EqualFold(r.URL.Query().Get("forceDelete"), "true")
		found, err := s.Backend.Delete(r.Context(), p.cluster, p.configuration, force)
		if err != nil {
			return nil, err
		}
		if !found {
			return &answer{status: http.StatusNoContent}, nil
		}
		return &answer{status: http.StatusAccepted, header: followUp(r, p, operationDelete)}, nil
	}
	return nil, wrongMethod(r)
}

func notFound(p path) error {
	return Errorf(http.StatusNotFound, "FluxConfigurationNotFound", "The Resource %s/%s/%s/%s/%s could not be found!",
		p.cluster.Type.Provider(), p.cluster.Type, p.cluster.Name, armapi.ConfigurationType, p.configuration)
}

func (s *server) put(r *http.Request, p path) (*answer, error) {
	var body struct {
		Properties *armapi.Properties `json:"properties"`
	}
	if err := decode(r, &body); err != nil {
		return nil, err
	}
	if body.Properties == nil {
		return nil, Errorf(http.StatusBadRequest, "InvalidRequestContent", "The request content is missing the property 'properties'.")
	}
	before, err := s.find(r.Context(), p)
	if err != nil {
		return nil, err
	}
	return s.write(r, p, before, *body.Properties, false)
}

// patch is a merge of the properties (RFC 7396) into those that exist; protected
// settings that are not given stay.
func (s *server) patch(r *http.Request, p path) (*answer, error) {
	var body struct {
		Properties map[string]any `json:"properties"`
	}
	if err := decode(r, &body); err != nil {
		return nil, err
	}
	before, err := s.find(r.Context(), p)
	if err != nil {
		return nil, err
	}
	if before == nil {
		return nil, notFound(p)
	}
	b, err := json.Marshal(before.Properties)
	if err != nil {
		return nil, err
	}
	var merged map[string]any
	if err := json.Unmarshal(b, &merged); err != nil {
		return nil, err
	}
	merge(merged, body.Properties)
	if b, err = json.Marshal(merged); err != nil {
		return nil, err
	}
	var properties armapi.Properties
	if err := json.Unmarshal(b, &properties); err != nil {
		return nil, Errorf(http.StatusBadRequest, "InvalidRequestContent", "The request content was invalid and could not be deserialized: '%s'.", err)
	}
	return s.write(r, p, before, properties, true)
}

func merge(into, from map[string]any) {
	for k, v := range from {
		inner, isMap := v.(map[string]any)
		old, wasMap := into[k].(map[string]any)
		switch {
		case v == nil:
			delete(into, k)
		case isMap && wasMap:
			merge(old, inner)
		default:
			into[k] = v
		}
	}
}

// write lets the backend write a configuration, and answers with the operation
// to follow.
func (s *server) write(r *http.Request, p path, before *armapi.Configuration, properties armapi.Properties, keep bool) (*answer, error) {
	if err := check(p.configuration, &properties); err != nil {
		return nil, err
	}
	status, state := http.StatusCreated, "Creating"
	if before != nil {
		status, state = http.StatusOK, "Updating"
		was := before.Properties
		if was.Namespace != properties.Namespace || was.Scope != properties.Scope {
			return nil, invalid("The scope and the namespace of a configuration cannot be changed: '%s' has the scope '%s' and the namespace '%s'.", p.configuration, was.Scope, was.Namespace)
		}
		if was.ProvisioningState == "Deleting" {
			return nil, Errorf(http.StatusConflict, "Conflict", "The configuration '%s' is being deleted.", p.configuration)
		}
	}
	if err := s.Backend.Write(r.Context(), p.cluster, p.configuration, properties, keep); err != nil {
		return nil, err
	}
	after, err := s.find(r.Context(), p)
	if err != nil {
		return nil, err
	}
	if after == nil {
		return nil, Errorf(http.StatusConflict, "Conflict", "The configuration '%s' was deleted while it was written.", p.configuration)
	}
	after.Properties.ProvisioningState = state
	return &answer{status: status, header: followUp(r, p, operationWrite), body: after}, nil
}

// An operation's ID says what was begun; the backend knows how far it is. So
// nothing about operations is kept.
const (
	operationWrite  = "write"
	operationDelete = "delete"

	// pollMilliseconds is how soon to ask again; Azure takes minutes, the
	// emulator is on the same machine.
	pollMilliseconds = "100"
)

// followUp are the headers that lead to an operation
// (github.com/Azure/azure-resource-manager-rpc, "Asynchronous Operations").
func followUp(r *http.Request, p path, kind string) http.Header {
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	id := kind + "-" + strings.ToLower(rand.Text())
	link := scheme + r.Host + p.cluster.ConfigurationID(p.configuration) + "/operations/" + id + "?api-version=" + r.URL.Query().Get("api-version")
	h := http.Header{}
	h.Set("Azure-AsyncOperation", link)
	h.Set("Retry-After-Ms", pollMilliseconds)
	if kind == operationDelete {
		h.Set("Location", link)
	}
	return h
}

func (s *server) operation(r *http.Request, p path) (*answer, error) {
	kind, _, _ := strings.Cut(p.operation, "-")
	if kind != operationWrite && kind != operationDelete {
		return nil, Errorf(http.StatusNotFound, "OperationNotFound", "The operation '%s' could not be found.", p.operation)
	}
	done, failure, err := s.Backend.Progress(r.Context(), p.cluster, p.configuration, kind == operationDelete)
	if err != nil {
		return nil, err
	}
	body := map[string]any{
		"id":     p.cluster.ConfigurationID(p.configuration) + "/operations/" + p.operation,
		"name":   p.operation,
		"status": "InProgress", "properties": map[string]any{},
	}
	switch {
	case failure != nil:
		body["status"], body["error"] = "Failed", failure.body()
	case done:
		body["status"] = "Succeeded"
	}
	h := http.Header{}
	h.Set("Retry-After-Ms", pollMilliseconds)
	return &answer{status: http.StatusOK, header: h, body: body}, nil
}
