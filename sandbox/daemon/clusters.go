package daemon

import (
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
	Change func(stack.ClusterRequest) (stack.ClusterAnswer, error)
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
	change := s.current().clusters.Change
	if change == nil {
		return stack.ClusterAnswer{}, nil
	}
	return change(request)
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
