package arc

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/flux"
)

// An operation's ID says what was begun; how far it is, the cluster tells. So
// nothing about operations is kept.
const (
	operationWrite  = "write"
	operationDelete = "delete"

	// pollMilliseconds is how soon to ask again; a real service takes minutes,
	// this one is on the same machine.
	pollMilliseconds = "100"
)

// followUp are the headers that lead to an operation
// (github.com/Azure/azure-resource-manager-rpc, "Asynchronous Operations").
func (s *server) followUp(r *http.Request, c arc.Cluster, configuration, kind string) http.Header {
	id := kind + "-" + strings.ToLower(rand.Text())
	link := base(r) + c.ConfigurationID(s.Subscription, configuration) + "/operations/" + id + "?api-version=" + r.URL.Query().Get("api-version")
	h := http.Header{}
	h.Set("Azure-AsyncOperation", link)
	h.Set("Retry-After-Ms", pollMilliseconds)
	if kind == operationDelete {
		h.Set("Location", link)
	}
	return h
}

func (s *server) operation(r *http.Request, p path) (*answer, error) {
	if r.Method != http.MethodGet {
		return nil, wrongMethod(r)
	}
	kind, _, _ := strings.Cut(p.operation, "-")
	if kind != operationWrite && kind != operationDelete {
		return nil, errorf(http.StatusNotFound, "OperationNotFound", "The operation '%s' could not be found.", p.operation)
	}
	there, err := s.there(r.Context(), s.exact(p).Name, p.configuration)
	if err != nil {
		return nil, err
	}
	status := "Succeeded"
	if there == (kind == operationDelete) {
		status = "InProgress"
	}
	body := map[string]any{
		"id":     s.exact(p).ConfigurationID(s.Subscription, p.configuration) + "/operations/" + p.operation,
		"name":   p.operation,
		"status": status, "properties": map[string]any{}, "error": nil,
	}
	h := http.Header{}
	h.Set("Retry-After-Ms", pollMilliseconds)
	return &answer{status: http.StatusOK, header: h, body: body}, nil
}

// there tells whether anything of a configuration is on the cluster. While its
// Kustomizations clean up, the GitRepository may be gone already.
func (s *server) there(ctx context.Context, name, configuration string) (bool, error) {
	client, err := s.Clusters.Client(name)
	if err != nil {
		if isAway(err) {
			return false, offline(name)
		}
		return false, err
	}
	objects, err := flux.Read(ctx, client.Dynamic)
	if err != nil {
		if isAway(err) {
			return false, offline(name)
		}
		return false, fmt.Errorf("cluster %s: %w", name, err)
	}
	for i := range objects.Repositories {
		r := &objects.Repositories[i]
		if _, brought := flux.AppliedBy(r); !brought && r.GetName() == configuration {
			return true, nil
		}
	}
	for i := range objects.Kustomizations {
		k := &objects.Kustomizations[i]
		source, _ := flux.SourceOf(k)
		if _, brought := flux.AppliedBy(k); !brought && source.Name == configuration && strings.HasPrefix(k.GetName(), configuration+"-") {
			return true, nil
		}
	}
	return false, nil
}

func (s *server) delete(r *http.Request, p path) (*answer, error) {
	found, err := s.find(r.Context(), p)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return &answer{status: http.StatusNoContent}, nil
	}
	c := s.exact(p)
	client, err := s.Clusters.Client(c.Name)
	if err != nil {
		return nil, err
	}
	force := strings.EqualFold(r.URL.Query().Get("forceDelete"), "true")
	repository := found.flux.Repository
	if client.Ledger != nil && cluster.Foreign(repository) {
		return nil, errorf(http.StatusConflict, "Conflict", "The configuration '%s' is not the sandbox's: it was there before, and stays.", p.configuration)
	}
	var failed []error
	for _, k := range found.flux.Kustomizations {
		failed = append(failed, remove(r.Context(), client, flux.Kustomizations, k.GetNamespace(), k.GetName(), force))
	}
	if errors.Join(failed...) == nil {
		failed = append(failed,
			remove(r.Context(), client, flux.Repositories, repository.GetNamespace(), repository.GetName(), force),
			removeSecret(r.Context(), client, repository))
	}
	if err := errors.Join(failed...); err != nil {
		return nil, fmt.Errorf("delete configuration %s from cluster %s: %w", p.configuration, c.Name, err)
	}
	return &answer{status: http.StatusAccepted, header: s.followUp(r, c, p.configuration, operationDelete)}, nil
}
