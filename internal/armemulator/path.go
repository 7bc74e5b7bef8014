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

// parsePath reads a resource's path. The words of ARM may be in any case, as
// there.
func parsePath(escaped string) (path, error) {
	var s []string
	for _, part := range strings.Split(strings.Trim(escaped, "/"), "/") {
		plain, err := url.PathUnescape(part)
		if err != nil || plain == "" {
			return path{}, Errorf(http.StatusBadRequest, "InvalidRequestUri", "The request URI '%s' is invalid.", escaped)
		}
		s = append(s, plain)
	}
	take := func(words ...string) bool {
		if len(s) < len(words) {
			return false
		}
		for i, w := range words {
			if !strings.EqualFold(s[i], w) {
				return false
			}
		}
		s = s[len(words):]
		return true
	}
	next := func() string {
		if len(s) == 0 {
			return ""
		}
		word := s[0]
		s = s[1:]
		return word
	}
	unknown := Errorf(http.StatusNotFound, "InvalidResourceType", "The resource type could not be found in '%s'. The sandbox has clusters, fluxConfigurations and the resource graph.", escaped)

	var p path
	if take("providers", "Microsoft.ResourceGraph", "resources") {
		p.graph = true
		return p, unless(len(s) == 0, unknown)
	}
	if !take("subscriptions") {
		return path{}, unknown
	}
	p.cluster.Subscription = next()
	if p.cluster.Subscription != "" && len(s) == 0 {
		return p, nil // the subscription itself
	}
	if take("resourceGroups") {
		p.cluster.ResourceGroup = next()
	}
	if take("resources") {
		p.resources = true
		return p, unless(len(s) == 0, unknown)
	}
	if !take("providers") || len(s) < 2 {
		return path{}, unknown
	}
	p.provider = next()
	t, err := armapi.ParseClusterType(next())
	if err != nil || !strings.EqualFold(t.Provider(), p.provider) {
		return path{}, unknown
	}
	p.cluster.Type, p.cluster.Name = t, next()
	if p.cluster.Name != "" && p.cluster.ResourceGroup == "" {
		return path{}, unknown
	}
	if p.cluster.Name != "" && take("providers", "Microsoft.KubernetesConfiguration", "fluxConfigurations") {
		p.configurations, p.configuration = true, next()
		if p.configuration != "" && take("operations") {
			p.operation = next()
		}
	}
	return p, unless(len(s) == 0 && (p.cluster.Name != "" || t == armapi.ConnectedClusters), unknown)
}

func unless(fine bool, err error) error {
	if fine {
		return nil
	}
	return err
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
