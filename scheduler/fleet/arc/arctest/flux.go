package arctest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// looks are how many looks at a write it takes until it is done.
const looks = 2

// flux serves fluxConfigurations
// (docs: rest/api/kubernetesconfiguration/fluxconfigurations/flux-configurations).
func (s *Server) flux(w http.ResponseWriter, q *http.Request, app string, m []string) *refusal {
	cluster, group, name, operation := m[1], m[4], m[6], m[7]
	sub, no := s.known(app, m[3])
	if no != nil {
		return no
	}
	action := map[string]string{http.MethodGet: "read", http.MethodPut: "write", http.MethodPatch: "write", http.MethodDelete: "delete"}[q.Method]
	if no := s.authorize(app, "Microsoft.KubernetesConfiguration/fluxConfigurations/"+action, strings.TrimSuffix(q.URL.Path, "/operations/"+operation)); no != nil {
		return no
	}
	switch {
	case !sub.registered:
		return refuse(http.StatusConflict, "MissingSubscriptionRegistration", "The subscription is not registered to use namespace 'Microsoft.KubernetesConfiguration'. See https://aka.ms/rps-not-found for how to register subscriptions.")
	case !sub.groups[strings.ToLower(group)]:
		return noGroup(group)
	case sub.clusters[strings.ToLower(cluster)] == nil:
		return refuse(http.StatusNotFound, "ResourceNotFound", fmt.Sprintf("The Resource '%s' was not found.", cluster))
	case operation != "":
		return s.operation(w, q, operation)
	case name == "":
		var all []object
		for _, c := range sorted(s.configurations, func(key string) bool { return strings.HasPrefix(key, strings.ToLower(cluster+configurationPath)) }) {
			all = append(all, c.shown())
		}
		return s.page(w, q, all)
	}
	key := strings.ToLower(q.URL.Path)
	switch q.Method {
	case http.MethodGet:
		return s.getFlux(w, key, name)
	case http.MethodPut:
		return s.putFlux(w, q, key, name)
	case http.MethodPatch:
		return s.patchFlux(w, q, key, name)
	case http.MethodDelete:
		return s.deleteFlux(w, q, key)
	}
	return notAllowed(q)
}

func (s *Server) getFlux(w http.ResponseWriter, key, name string) *refusal {
	c, there := s.look(key)
	if !there {
		return noFlux(name)
	}
	write(w, http.StatusOK, c.shown())
	return nil
}

func noFlux(name string) *refusal {
	return refuse(http.StatusNotFound, "FluxConfigurationNotFound", fmt.Sprintf("The Resource Microsoft.KubernetesConfiguration/fluxConfigurations/%s could not be found!", name))
}

func (c *configuration) occupied() *refusal {
	if c == nil || c.busy == 0 {
		return nil
	}
	return refuse(http.StatusConflict, "Conflict", fmt.Sprintf("Another operation on '%s' is in progress.", c.name))
}

func (s *Server) putFlux(w http.ResponseWriter, q *http.Request, key, name string) *refusal {
	c := s.configurations[key]
	if no := c.occupied(); no != nil {
		return no
	}
	properties, no := body(q, putSchema)
	if no != nil {
		return no
	}
	status, state := http.StatusOK, "Updating"
	if c == nil {
		status, state = http.StatusCreated, "Creating"
		c = &configuration{id: q.URL.Path, name: name}
		s.configurations[key] = c
	}
	c.properties = properties
	s.begin(w, q, key, c, state)
	write(w, status, c.shown())
	return nil
}

func (s *Server) patchFlux(w http.ResponseWriter, q *http.Request, key, name string) *refusal {
	c := s.configurations[key]
	if c == nil {
		return noFlux(name)
	}
	if no := c.occupied(); no != nil {
		return no
	}
	changes, no := body(q, patchSchema)
	if no != nil {
		return no
	}
	merge(c.properties, changes)
	s.begin(w, q, key, c, "Updating")
	write(w, http.StatusAccepted, c.shown())
	return nil
}

func (s *Server) deleteFlux(w http.ResponseWriter, q *http.Request, key string) *refusal {
	c := s.configurations[key]
	if c == nil {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	if no := c.occupied(); no != nil {
		return no
	}
	s.begin(w, q, key, c, "Deleting")
	c.deleting = true
	w.WriteHeader(http.StatusAccepted)
	return nil
}

// begin begins a write, and says where to ask about it.
func (s *Server) begin(w http.ResponseWriter, q *http.Request, key string, c *configuration, state string) {
	c.status(state)
	c.busy, c.failure = looks, nil
	if s.broken["key"] == key {
		c.failure, s.broken = object{"code": s.broken["code"], "message": s.broken["message"]}, nil
	}
	s.next++
	id := fmt.Sprintf("op-%d", s.next)
	s.operations[id] = &operation{key}
	w.Header().Set("Azure-AsyncOperation", base(q)+q.URL.Path+"/operations/"+id+"?api-version="+q.URL.Query().Get("api-version"))
	w.Header().Set("Retry-After-Ms", "1") // the service itself says 10 seconds
}

// operation tells how far a write is (docs: azure/azure-resource-manager/
// management/async-operations).
func (s *Server) operation(w http.ResponseWriter, q *http.Request, id string) *refusal {
	o := s.operations[id]
	if o == nil || q.Method != http.MethodGet {
		return refuse(http.StatusNotFound, "OperationNotFound", fmt.Sprintf("The operation '%s' could not be found.", id))
	}
	body := object{"id": q.URL.Path, "name": id, "status": "Succeeded", "properties": object{}}
	switch c, there := s.look(o.key); {
	case there && c.properties["provisioningState"] == "Failed":
		body["status"], body["error"] = "Failed", c.failure
	case there && (c.busy > 0 || c.properties["provisioningState"] != "Succeeded"):
		body["status"] = "InProgress"
	}
	w.Header().Set("Retry-After-Ms", "1")
	write(w, http.StatusOK, body)
	return nil
}

// body reads the properties of a write, and refuses what they must not have.
func body(q *http.Request, s schema) (object, *refusal) {
	var all map[string]json.RawMessage
	if err := json.NewDecoder(q.Body).Decode(&all); err != nil {
		return nil, badRequest("The request content was invalid and could not be deserialized: '" + err.Error() + "'.")
	}
	for k := range all {
		if k != "properties" {
			return nil, badRequest(fmt.Sprintf("Could not find member '%s' on object of type 'FluxConfiguration'.", k))
		}
	}
	var properties any
	if err := json.Unmarshal(all["properties"], &properties); err != nil {
		return nil, badRequest("The request content is missing the property 'properties'.")
	}
	if wrong := s.check("properties", properties); wrong != "" {
		return nil, badRequest(wrong)
	}
	return properties.(object), nil
}

// merge is RFC 7396.
func merge(into, from object) {
	for k, v := range from {
		inner, isMap := v.(object)
		old, wasMap := into[k].(object)
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
