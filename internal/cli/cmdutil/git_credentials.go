package cmdutil

import (
	"net/url"
	"strings"

	"github.com/kalypso-dev/kalypso/sandbox"
)

// The environment variables with credentials for git servers.
const (
	gitUserVariable     = "KALYPSO_GIT_USER"
	gitTokenVariable    = "KALYPSO_GIT_TOKEN"
	GitHubTokenVariable = "GITHUB_TOKEN"
)

// gitCredentials decides who gets which credentials. A platform model names
// servers, and whoever can write one could name his own: so a secret goes only
// where the person at the keyboard has pointed to.
type gitCredentials struct {
	env     func(string) string
	sandbox *sandbox.Credentials // nil without a sandbox
	trusted map[string]bool      // origins that get KALYPSO_GIT_TOKEN
}

// trust adds the servers of URLs, and of what ssh reaches the https server.
// Folders among them mean nothing.
func (c *gitCredentials) trust(places ...string) {
	if c.trusted == nil {
		c.trusted = map[string]bool{}
	}
	for _, place := range places {
		if o := origin(place); o != "" {
			c.trusted[o] = true
		}
	}
}

// get returns user and password for a URL, both "" for none.
func (c *gitCredentials) get(place string) (user, password string) {
	o := origin(place)
	if o == "" {
		return "", ""
	}
	if c.sandbox != nil && o == origin(c.sandbox.URL) {
		return c.sandbox.User, c.sandbox.Password
	}
	if token := c.env(gitTokenVariable); token != "" && c.trusted[o] {
		if user = c.env(gitUserVariable); user == "" {
			user = tokenUser
		}
		return user, token
	}
	if token := c.env(GitHubTokenVariable); token != "" && o == "https://github.com" {
		return tokenUser, token
	}
	return "", ""
}

// tokenUser is the user of a token where servers do not look at it. GitHub
// asks for this one.
const tokenUser = "x-access-token"

// origin is the scheme and host that a secret may go to, "" for none.
func origin(place string) string {
	if !strings.Contains(place, "://") {
		host, _, ok := strings.Cut(place, ":")
		if _, after, found := strings.Cut(host, "@"); found && ok && !strings.ContainsAny(host, `/\`) {
			return "https://" + strings.ToLower(after)
		}
		return ""
	}
	u, err := url.Parse(place)
	if err != nil {
		return ""
	}
	scheme, host := strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	switch scheme {
	case "ssh", "git+ssh":
		return "https://" + strings.ToLower(u.Hostname())
	case "http":
		return "http://" + strings.TrimSuffix(host, ":80")
	case "https":
		return "https://" + strings.TrimSuffix(host, ":443")
	}
	return ""
}
