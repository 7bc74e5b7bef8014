package armemulator

import (
	"net/http"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/armapi"
	"golang.org/x/sync/errgroup"
)

func (s *server) showSubscription(p path) (*answer, error) {
	found := s.subscription(p.cluster.Subscription)
	return ok(struct {
		ResourceID string `json:"id"`
		*armapi.Subscription
	}{"/subscriptions/" + found.ID, found}), nil
}

// within are the clusters in the subscription of a path, and in its resource
// group unless that is "".
func (s *server) within(p path) []armapi.Cluster {
	var all []armapi.Cluster
	for _, c := range s.Backend.Clusters() {
		if c.Subscription == p.cluster.Subscription && (p.cluster.ResourceGroup == "" || strings.EqualFold(c.ResourceGroup, p.cluster.ResourceGroup)) {
			all = append(all, c)
		}
	}
	return all
}

func (s *server) listClusters(r *http.Request, p path) (*answer, error) {
	clusters := s.within(p)
	all := make([]armapi.ConnectedCluster, len(clusters))
	var g errgroup.Group
	for i, c := range clusters {
		g.Go(func() error {
			all[i] = s.Backend.Describe(r.Context(), c)
			return nil
		})
	}
	_ = g.Wait() // none of them fails
	return list(all), nil
}

// listResources lists the clusters as ARM lists resources of all types: without
// their properties, so that no cluster is asked. Configurations are not among
// them: ARM does not list extension resources.
func (s *server) listResources(r *http.Request, p path) (*answer, error) {
	if filter := r.URL.Query().Get("$filter"); filter != "" {
		// the whole list would be a wrong answer
		return nil, Errorf(http.StatusBadRequest, "InvalidFilterInQueryString", "The emulator does not support the filter '%s': ask for the resources of a resource group.", filter)
	}
	var all []map[string]any
	for _, c := range s.within(p) {
		all = append(all, map[string]any{
			"id": c.ID(), "name": c.Name, "type": c.Type.ResourceType(), "location": s.Location,
			"tags": s.Backend.Tags(c), "identity": armapi.Identity{Type: "SystemAssigned", TenantID: s.subscription(c.Subscription).Tenant},
		})
	}
	return list(all), nil
}
