package arctest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// The roles that there are.
const (
	Reader      = "Reader"
	Contributor = "Contributor"
)

// role is an assignment.
type role struct{ name, scope string }

// Allow gives an application a role on a scope, such as /subscriptions/ID.
func (s *Server) Allow(app, name, scope string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.roles[app] = append(s.roles[app], role{name, strings.ToLower(scope)})
}

// may tells whether an application has a role for an action on something.
func (s *Server) may(app, action, id string) bool {
	return slices.ContainsFunc(s.roles[app], func(r role) bool {
		covers := strings.HasPrefix(strings.ToLower(id)+"/", r.scope+"/")
		return covers && (r.name == Contributor || strings.HasSuffix(action, "/read"))
	})
}

// audiences are whom tokens for a cloud are made out to, by the host of its
// Resource Manager.
var audiences = map[string][]string{
	"management.azure.com":         {"https://management.core.windows.net", "https://management.azure.com"},
	"management.usgovcloudapi.net": {"https://management.core.usgovcloudapi.net", "https://management.usgovcloudapi.net"},
	"management.chinacloudapi.cn":  {"https://management.core.chinacloudapi.cn", "https://management.chinacloudapi.cn"},
}

// who is the application that a request bears a token of.
func (s *Server) who(q *http.Request) (string, *refusal) {
	text, ok := strings.CutPrefix(q.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return "", refuse(http.StatusUnauthorized, "AuthenticationFailed", "Authentication failed. The 'Authorization' header is missing.")
	}
	t := s.tokens[text]
	wanted, cloud := audiences[strings.ToLower(q.Host)]
	if !cloud {
		wanted = []string{"https://" + q.Host}
	}
	switch {
	case t == nil:
		return "", refuse(http.StatusUnauthorized, "InvalidAuthenticationToken", "The access token is invalid.")
	case t.expires.Before(time.Now()):
		return "", refuse(http.StatusUnauthorized, "ExpiredAuthenticationToken", "The access token expiry UTC time is earlier than current UTC time.")
	case !slices.Contains(wanted, t.audience):
		return "", refuse(http.StatusUnauthorized, "InvalidAuthenticationTokenAudience",
			fmt.Sprintf("The access token has been obtained for wrong audience or resource '%s'. It should exactly match with one of the allowed audiences '%s'.", t.audience, strings.Join(wanted, "','")))
	}
	return t.app, nil
}

// authorize refuses an action without a role for it (docs: azure/role-based-
// access-control/troubleshooting).
func (s *Server) authorize(app, action, id string) *refusal {
	if s.may(app, action, id) {
		return nil
	}
	return refuse(http.StatusForbidden, "AuthorizationFailed",
		fmt.Sprintf("The client '%s' with object id '%s' does not have authorization to perform action '%s' over scope '%s' or the scope is invalid. If access was recently granted, please refresh your credentials.", app, app, action, id))
}
