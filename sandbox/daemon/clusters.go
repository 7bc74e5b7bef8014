package daemon

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox/stack"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"github.com/kalypso-dev/kalypso/workshop"
)

// Clusters are what changes and lists the clusters of a sandbox at run time; the
// fields of the zero value do nothing.
type Clusters struct {
	Change func(context.Context, *supervisor.Supervisor, stack.ClusterRequest) (stack.ClusterAnswer, error)
	List   func([]supervisor.Status) []stack.Cluster
}

// changeClusters handles requests to change the clusters. They must not overlap.
func (s *Server) changeClusters(r *http.Request) (any, error) {
	var request stack.ClusterRequest
	if err := json.NewDecoder(http.MaxBytesReader(nil, r.Body, maxClusters)).Decode(&request); err != nil {
		return nil, usage.Errorf("the request to change the clusters cannot be read: %v", err)
	}
	if _, err := workshop.Expand(request.Add); err != nil {
		return nil, usage.New(err.Error())
	}
	now := s.current()
	if now.clusters.Change == nil {
		return stack.ClusterAnswer{}, nil
	}
	// what has begun is finished, also for a client that is gone
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), changeLimit)
	defer cancel()
	return now.clusters.Change(ctx, now.Supervisor, request)
}

func (s *Server) listClusters(w http.ResponseWriter, _ *http.Request) {
	now := s.current()
	all := []stack.Cluster{}
	if list := now.clusters.List; list != nil {
		all = append(all, list(now.Status())...)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(all)
}
