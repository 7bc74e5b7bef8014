package armemulator

import (
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/armapi"
)

// path is what a request is about.
type path struct {
	graph          bool
	resources      bool           // of the group, or of the subscription
	cluster        armapi.Cluster // as the request spells it, until resolve
	provider       string
	configurations bool
	configuration  string
	operation      string
}

// The paths of ARM, in any case as there.
var (
	graphPath    = regexp.MustCompile(`(?i)^/providers/Microsoft\.ResourceGraph/resources$`)
	resourcePath = regexp.MustCompile(`(?i)^/subscriptions/([^/]+)(?:/resourceGroups/([^/]+))?` +
		`(?:(/resources)|/providers/([^/]+)/([^/]+)(?:/([^/]+)(/providers/Microsoft\.KubernetesConfiguration/fluxConfigurations(?:/([^/]+)(?:/operations/([^/]+))?)?)?)?)?$`)
)

// parsePath reads the path of a request, which is escaped.
func parsePath(escaped string) (path, error) {
	escaped = strings.TrimSuffix(escaped, "/")
	unknown := Errorf(http.StatusNotFound, "InvalidResourceType", "The resource type could not be found in '%s'. The sandbox has clusters, fluxConfigurations and the resource graph.", escaped)
	if graphPath.MatchString(escaped) {
		return path{graph: true}, nil
	}
	m := resourcePath.FindStringSubmatch(escaped)
	for i := range m {
		plain, err := url.PathUnescape(m[i])
		if err != nil {
			m = nil
			break
		}
		m[i] = plain
	}
	switch {
	case escaped == "":
		return path{}, Errorf(http.StatusBadRequest, "InvalidRequestUri", "The request URI '/' is invalid.")
	case m == nil:
		return path{}, unknown
	}
	p := path{
		cluster:   armapi.Cluster{Subscription: m[1], ResourceGroup: m[2], Name: m[6]},
		resources: m[3] != "", provider: m[4], configurations: m[7] != "", configuration: m[8], operation: m[9],
	}
	if p.provider == "" {
		// a resource group itself is nothing that there is
		if p.cluster.ResourceGroup != "" && !p.resources {
			return path{}, unknown
		}
		return p, nil
	}
	t, err := armapi.ParseClusterType(m[5])
	named := p.cluster.Name != ""
	if err != nil || !strings.EqualFold(t.Provider(), p.provider) || named && p.cluster.ResourceGroup == "" || !named && t != armapi.ConnectedClusters {
		return path{}, unknown
	}
	p.cluster.Type = t
	return p, nil
}

// resolve checks that the subscription, the resource group and the cluster of a
// path exist, and gives them their own spelling.
func (s *server) resolve(p *path) error {
	c := &p.cluster
	subscription := s.subscription(c.Subscription)
	if subscription == nil {
		return Errorf(http.StatusNotFound, "SubscriptionNotFound", "The subscription '%s' could not be found.", c.Subscription)
	}
	c.Subscription = subscription.ID
	if c.ResourceGroup == "" {
		return nil
	}
	groups := map[string]string{strings.ToLower(s.ResourceGroup): s.ResourceGroup}
	var found *armapi.Cluster
	var names []string
	for _, known := range s.Backend.Clusters() {
		if known.Subscription != c.Subscription {
			continue
		}
		names = append(names, known.Name)
		groups[strings.ToLower(known.ResourceGroup)] = known.ResourceGroup
		if strings.EqualFold(known.ResourceGroup, c.ResourceGroup) && strings.EqualFold(known.Name, c.Name) {
			found = &known
		}
	}
	group, there := groups[strings.ToLower(c.ResourceGroup)]
	if !there {
		return Errorf(http.StatusNotFound, "ResourceGroupNotFound", "Resource group '%s' could not be found. The clusters of the sandbox are in '%s'.",
			c.ResourceGroup, strings.Join(slices.Sorted(maps.Values(groups)), "', '"))
	}
	c.ResourceGroup = group
	if c.Name == "" {
		return nil
	}
	managed := c.Type == armapi.ManagedClusters && !p.configurations // the clusters are connected ones
	if found == nil || managed {
		kind := "clusters"
		if managed {
			kind = string(armapi.ConnectedClusters)
		}
		return Errorf(http.StatusNotFound, "ResourceNotFound", "The Resource '%s/%s/%s' under resource group '%s' was not found. The sandbox has the %s '%s'.",
			p.provider, c.Type, c.Name, c.ResourceGroup, kind, strings.Join(names, "', '"))
	}
	c.Name = found.Name
	return nil
}

// subscription is the one with an ID, nil when there is none.
func (s *server) subscription(id string) *armapi.Subscription {
	i := slices.IndexFunc(s.Subscriptions, func(one armapi.Subscription) bool { return strings.EqualFold(one.ID, id) })
	if i < 0 {
		return nil
	}
	return &s.Subscriptions[i]
}

var apiVersion = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}(-(?i:preview|alpha|beta|rc|privatepreview))?$`)

func checkVersion(q url.Values) error {
	v := q.Get("api-version")
	if v == "" {
		return Errorf(http.StatusBadRequest, "MissingApiVersionParameter", "The api-version query parameter (?api-version=) is required for all requests.")
	}
	if !apiVersion.MatchString(v) {
		return Errorf(http.StatusBadRequest, "InvalidApiVersionParameter", "The api-version '%s' is invalid.", v)
	}
	return nil
}
