package arc

import (
	"crypto/subtle"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
)

// path is what a request is about.
type path struct {
	graph          bool
	subscription   string
	resources      bool        // of the group, or of the subscription
	cluster        arc.Cluster // as it is written in the request
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
			return path{}, errorf(http.StatusBadRequest, "InvalidRequestUri", "The request URI '%s' is invalid.", escaped)
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
	unknown := errorf(http.StatusNotFound, "InvalidResourceType", "The resource type could not be found in '%s'. The sandbox has clusters, fluxConfigurations and the resource graph.", escaped)

	var p path
	if take("providers", "Microsoft.ResourceGraph", "resources") {
		p.graph = true
		return p, unless(len(s) == 0, unknown)
	}
	if !take("subscriptions") {
		return path{}, unknown
	}
	p.subscription = next()
	if p.subscription != "" && len(s) == 0 {
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
	t, err := arc.ParseClusterType(next())
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
	return p, unless(len(s) == 0 && (p.cluster.Name != "" || t == arc.ConnectedClusters), unknown)
}

func unless(fine bool, err error) error {
	if fine {
		return nil
	}
	return err
}

// known checks that the subscription, the resource group and the cluster are
// there.
func (s *server) known(p path) error {
	if !strings.EqualFold(p.subscription, s.Subscription) {
		return errorf(http.StatusNotFound, "SubscriptionNotFound", "The subscription '%s' could not be found.", p.subscription)
	}
	if g := p.cluster.ResourceGroup; g != "" && !strings.EqualFold(g, s.ResourceGroup) {
		return errorf(http.StatusNotFound, "ResourceGroupNotFound", "Resource group '%s' could not be found. All clusters of the sandbox are in '%s'.", g, s.ResourceGroup)
	}
	has := "clusters"
	if p.cluster.Type == arc.ManagedClusters && !p.configurations {
		has = "connectedClusters" // and none of the type that is asked for
	}
	if p.cluster.Name != "" && (s.nameOf(p.cluster.Name) == "" || has != "clusters") {
		return errorf(http.StatusNotFound, "ResourceNotFound", "The Resource '%s/%s/%s' under resource group '%s' was not found. The sandbox has the %s '%s'.",
			p.provider, p.cluster.Type, p.cluster.Name, p.cluster.ResourceGroup, has, strings.Join(s.Clusters.Names(), "', '"))
	}
	return nil
}

// nameOf is a cluster's name as it is spelled, "" when there is none.
func (s *server) nameOf(name string) string {
	names := s.Clusters.Names()
	if i := slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, name) }); i >= 0 {
		return names[i]
	}
	return ""
}

// exact is the cluster of a path with the spelling of its names.
func (s *server) exact(p path) arc.Cluster {
	return arc.Cluster{ResourceGroup: s.ResourceGroup, Type: p.cluster.Type, Name: s.nameOf(p.cluster.Name)}
}

func (s *server) authorized(r *http.Request) error {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if token == "" || !strings.EqualFold(scheme, "Bearer") {
		return errorf(http.StatusUnauthorized, "AuthenticationFailed", "Authentication failed. The 'Authorization' header is missing.")
	}
	if s.Token == "" || subtle.ConstantTimeCompare([]byte(token), []byte(s.Token)) != 1 {
		return errorf(http.StatusUnauthorized, "InvalidAuthenticationToken", "The access token is invalid.")
	}
	return nil
}

var apiVersion = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}(-(?i:preview|alpha|beta|rc|privatepreview))?$`)

func checkVersion(q url.Values) error {
	v := q.Get("api-version")
	if v == "" {
		return errorf(http.StatusBadRequest, "MissingApiVersionParameter", "The api-version query parameter (?api-version=) is required for all requests.")
	}
	if !apiVersion.MatchString(v) {
		return errorf(http.StatusBadRequest, "InvalidApiVersionParameter", "The api-version '%s' is invalid.", v)
	}
	return nil
}
