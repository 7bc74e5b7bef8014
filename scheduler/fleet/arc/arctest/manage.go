package arctest

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The paths, in any case as in Azure.
var (
	subscriptionPath = regexp.MustCompile(`(?i)^/subscriptions/([^/]+)$`)
	clustersPath     = regexp.MustCompile(`(?i)^(/subscriptions/([^/]+)(?:/resourceGroups/([^/]+))?)/providers/Microsoft\.Kubernetes/connectedClusters(?:/([^/]+))?$`)
	fluxPath         = regexp.MustCompile(`(?i)^((/subscriptions/([^/]+)/resourceGroups/([^/]+))/providers/Microsoft\.(?:Kubernetes/connectedClusters|ContainerService/managedClusters)/([^/]+))/providers/Microsoft\.KubernetesConfiguration/fluxConfigurations(?:/([^/]+)(?:/operations/([^/]+))?)?$`)
	graphPath        = regexp.MustCompile(`(?i)^/providers/Microsoft\.ResourceGraph/resources$`)
)

// versions are the api-versions of each part.
var versions = map[*regexp.Regexp][]string{
	subscriptionPath: {"2022-12-01"}, clustersPath: {"2024-01-01"}, fluxPath: {"2024-11-01", "2025-04-01"}, graphPath: {"2022-10-01", "2024-04-01"},
}

// manage serves the Resource Manager.
func (s *Server) manage(w http.ResponseWriter, q *http.Request) {
	app, no := s.who(q)
	if no != nil {
		no.write(w)
		return
	}
	if no := s.route(w, q, app); no != nil {
		no.write(w)
	}
}

func (s *Server) route(w http.ResponseWriter, q *http.Request, app string) *refusal {
	version := q.URL.Query().Get("api-version")
	if version == "" {
		return refuse(http.StatusBadRequest, "MissingApiVersionParameter", "The api-version query parameter (?api-version=) is required for all requests.")
	}
	for path, known := range versions {
		m := path.FindStringSubmatch(q.URL.Path)
		switch {
		case m == nil:
			continue
		case !slices.Contains(known, version):
			return refuse(http.StatusBadRequest, "InvalidResourceType", fmt.Sprintf("The api-version '%s' is not one of '%s'.", version, strings.Join(known, ", ")))
		case (q.Method == http.MethodPost || q.Method == http.MethodPut || q.Method == http.MethodPatch) && !strings.HasPrefix(q.Header.Get("Content-Type"), "application/json"):
			return refuse(http.StatusUnsupportedMediaType, "UnsupportedMediaType", "The content media type is not supported. Only 'application/json' is supported.")
		case path == graphPath:
			return s.graph(w, q, app)
		case path == subscriptionPath:
			return s.showSubscription(w, app, m[1])
		case path == clustersPath:
			return s.clusters(w, q, app, m)
		default:
			return s.flux(w, q, app, m)
		}
	}
	return refuse(http.StatusNotFound, "InvalidResourceNamespace", fmt.Sprintf("The resource namespace of '%s' is invalid.", q.URL.Path))
}

// known is a subscription that the application can see.
func (s *Server) known(app, id string) (*subscription, *refusal) {
	sub := s.subscriptions[strings.ToLower(id)]
	prefix := "/subscriptions/" + strings.ToLower(id)
	sees := slices.ContainsFunc(s.roles[app], func(r role) bool { return strings.HasPrefix(r.scope+"/", prefix+"/") || r.scope == "" })
	if sub == nil || !sees {
		return nil, refuse(http.StatusNotFound, "SubscriptionNotFound", fmt.Sprintf("The subscription '%s' could not be found.", id))
	}
	return sub, nil
}

func (s *Server) showSubscription(w http.ResponseWriter, app, id string) *refusal {
	sub, no := s.known(app, id)
	if no != nil {
		return no
	}
	write(w, http.StatusOK, object{"id": "/subscriptions/" + sub.id, "subscriptionId": sub.id, "displayName": "Fleet " + sub.id, "state": "Enabled", "tenantId": Tenant})
	return nil
}

func (s *Server) clusters(w http.ResponseWriter, q *http.Request, app string, m []string) *refusal {
	scope, id, group, name := m[1], m[2], m[3], m[4]
	sub, no := s.known(app, id)
	if no == nil {
		no = s.authorize(app, "Microsoft.Kubernetes/connectedClusters/read", scope)
	}
	switch {
	case no != nil:
		return no
	case q.Method != http.MethodGet:
		return notAllowed(q)
	case group != "" && !sub.groups[strings.ToLower(group)]:
		return noGroup(group)
	case name == "":
		return s.page(w, q, sorted(sub.clusters, func(key string) bool { return strings.HasPrefix(key, strings.ToLower(scope)+"/") }))
	}
	found := sub.clusters[strings.ToLower(q.URL.Path)]
	if found == nil {
		return refuse(http.StatusNotFound, "ResourceNotFound", fmt.Sprintf("The Resource 'Microsoft.Kubernetes/connectedClusters/%s' under resource group '%s' was not found.", name, group))
	}
	write(w, http.StatusOK, found)
	return nil
}

// page writes a part of a list, with a link to the next one
// (github.com/microsoft/api-guidelines, azure, "Collections").
func (s *Server) page(w http.ResponseWriter, q *http.Request, all []object) *refusal {
	query := q.URL.Query()
	from, _ := strconv.Atoi(query.Get("$skiptoken"))
	if from < 0 || from > len(all) {
		return badRequest("The $skiptoken is invalid.")
	}
	to := min(from+s.pageSize, len(all))
	body := object{"value": append([]object{}, all[from:to]...)}
	if to < len(all) {
		query.Set("$skiptoken", strconv.Itoa(to))
		body["nextLink"] = base(q) + q.URL.Path + "?" + query.Encode()
	}
	w.Header().Set("x-ms-ratelimit-remaining-subscription-reads", "249")
	write(w, http.StatusOK, body)
	return nil
}

func base(q *http.Request) string {
	if q.TLS == nil {
		return "http://" + q.Host
	}
	return "https://" + q.Host
}

func notAllowed(q *http.Request) *refusal {
	return refuse(http.StatusMethodNotAllowed, "MethodNotAllowed", fmt.Sprintf("The method '%s' is not allowed here.", q.Method))
}

func noGroup(group string) *refusal {
	return refuse(http.StatusNotFound, "ResourceGroupNotFound", fmt.Sprintf("Resource group '%s' could not be found.", group))
}
