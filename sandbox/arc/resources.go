package arc

import (
	"net/http"

	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
)

// listResources lists the clusters as ARM lists resources of all types: without
// their properties, so that none of them is asked. Configurations are not among
// them: ARM does not list extension resources.
func (s *server) listResources(r *http.Request) (*answer, error) {
	if r.Method != http.MethodGet {
		return nil, wrongMethod(r)
	}
	if filter := r.URL.Query().Get("$filter"); filter != "" {
		// the whole list would be a wrong answer
		return nil, errorf(http.StatusBadRequest, "InvalidFilterInQueryString", "The sandbox does not support the filter '%s': ask for the resources of a resource group.", filter)
	}
	var all []map[string]any
	for _, name := range s.Clusters.Names() {
		c := arc.Cluster{ResourceGroup: s.ResourceGroup, Type: arc.ConnectedClusters, Name: name}
		all = append(all, map[string]any{
			"id": c.ID(s.Subscription), "name": name, "type": c.Type.Provider() + "/" + string(c.Type), "location": s.Location,
			"tags": map[string]string{}, "identity": arc.Identity{Type: "SystemAssigned", TenantID: s.Tenant},
		})
	}
	return value(all), nil
}
