package arctest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

type object = map[string]any

// subscription is one with its clusters.
type subscription struct {
	id         string
	groups     map[string]bool   // in lower case
	clusters   map[string]object // by ID in lower case
	registered bool              // with the provider of configurations
}

// configuration is a fluxConfiguration.
type configuration struct {
	id, name   string
	properties object
	busy       int    // how many looks it takes until the write before is done
	deleting   bool   // and then it is gone
	failure    object // what the write before ends with
}

// operation is a write that was begun.
type operation struct{ key string }

// Subscription makes one.
func (s *Server) Subscription(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscriptions[strings.ToLower(id)] = &subscription{id: id, groups: map[string]bool{}, clusters: map[string]object{}, registered: true}
}

// Unregister takes from a subscription the provider of configurations.
func (s *Server) Unregister(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscriptions[strings.ToLower(id)].registered = false
}

// Cluster connects a cluster, in a subscription that there is, and returns its
// ID.
func (s *Server) Cluster(subscription, group, name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := fmt.Sprintf("/subscriptions/%s/resourceGroups/%s/providers/Microsoft.Kubernetes/connectedClusters/%s", subscription, group, name)
	sub := s.subscriptions[strings.ToLower(subscription)]
	sub.groups[strings.ToLower(group)] = true
	sub.clusters[strings.ToLower(id)] = object{
		"id": id, "name": name, "type": "microsoft.kubernetes/connectedclusters", "location": "eastus", "tags": object{},
		"identity": object{"type": "SystemAssigned", "tenantId": Tenant}, "properties": object{"provisioningState": "Succeeded", "connectivityStatus": "Connected"},
	}
	return id
}

// Follow makes a cluster follow a branch.
func (s *Server) Follow(cluster, name, url, branch string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &configuration{id: cluster + configurationPath + name, name: name, properties: object{
		"scope": "cluster", "namespace": "flux-system", "sourceKind": "GitRepository", "suspend": false,
		"gitRepository":  object{"url": url, "repositoryRef": object{"branch": branch}},
		"kustomizations": object{},
	}}
	c.status("Succeeded")
	s.configurations[strings.ToLower(c.id)] = c
}

const configurationPath = "/providers/Microsoft.KubernetesConfiguration/fluxConfigurations/"

// Report is what the cluster says of a configuration.
func (s *Server) Report(cluster, name, commit, state string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.configurations[strings.ToLower(cluster+configurationPath+name)].properties
	p["sourceSyncedCommitId"], p["complianceState"] = "dev@sha1:"+commit, state
}

// Break lets the write that is under way on a configuration, or the next one,
// fail on the cluster.
func (s *Server) Break(cluster, name, code, message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = object{"key": strings.ToLower(cluster + configurationPath + name), "code": code, "message": message}
}

// Busy lets something be under way on a configuration for some looks at it.
func (s *Server) Busy(cluster, name string, looks int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.configurations[strings.ToLower(cluster+configurationPath+name)]
	c.busy = looks
	c.properties["provisioningState"] = "Updating"
}

// Configurations are the properties of all, by ID.
func (s *Server) Configurations() map[string]map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]map[string]any{}
	for _, c := range s.configurations {
		all[c.id] = maps.Clone(c.properties)
	}
	return all
}

// status fills in what the service tells of a configuration.
func (c *configuration) status(provisioning string) {
	for k, v := range (object{
		"statuses": []any{}, "repositoryPublicKey": "", "sourceSyncedCommitId": nil, "sourceUpdatedAt": nil, "statusUpdatedAt": nil,
		"complianceState": "Pending", "errorMessage": "",
	}) {
		if _, there := c.properties[k]; !there {
			c.properties[k] = v
		}
	}
	c.properties["provisioningState"] = provisioning
}

// shown is a configuration as ARM shows it: without its secrets.
func (c *configuration) shown() object {
	p := maps.Clone(c.properties)
	delete(p, "configurationProtectedSettings")
	return object{"id": c.id, "name": c.name, "type": "Microsoft.KubernetesConfiguration/fluxConfigurations", "properties": p}
}

// look is a look at a configuration, which brings the write that is under way
// forward. It returns false when the configuration is gone after it.
func (s *Server) look(key string) (*configuration, bool) {
	c := s.configurations[key]
	if c == nil {
		return nil, false
	}
	if c.busy > 0 {
		c.busy--
		return c, true
	}
	switch {
	case c.deleting:
		delete(s.configurations, key)
		return nil, false
	case c.failure != nil:
		c.properties["provisioningState"] = "Failed"
	default:
		c.properties["provisioningState"] = "Succeeded"
	}
	return c, true
}

func sorted[T any](m map[string]T, mine func(string) bool) []T {
	var all []T
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if mine(k) {
			all = append(all, m[k])
		}
	}
	return all
}
