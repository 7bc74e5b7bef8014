package hub

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/hub/auth"
	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/internal/yamlpos"
	"github.com/kalypso-dev/kalypso/scheduler/controller"
	"github.com/kalypso-dev/kalypso/scheduler/forge/github"
)

// checkSignIn adds what is wrong with the ways to sign in, and with the roles.
func (c Config) checkSignIn(check *yamlpos.Checker) {
	if o := c.SignIn.OIDC; o != nil {
		if o.Issuer == "" || o.ClientID == "" {
			check.Add("signIn.oidc needs issuer and clientID", "signIn", "oidc")
		}
		checkURL(check, o.Issuer, "signIn", "oidc", "issuer")
		if u, err := url.Parse(o.Issuer); err == nil && u.Scheme == "http" && !loopbackHost(u.Hostname()) {
			check.Add("signIn.oidc.issuer is reached without TLS: anybody in between could sign in as whom they like", "signIn", "oidc", "issuer")
		}
		o.check(check, "signIn", "oidc")
	}
	if f := c.SignIn.Forge; f != nil {
		if f.ClientID == "" {
			check.Add("signIn.forge needs clientID", "signIn", "forge")
		}
		f.check(check, "signIn", "forge")
	}
	provided := c.SignIn.OIDC != nil || c.SignIn.Forge != nil
	switch {
	case provided && len(c.Roles) == 0:
		check.Add("signIn gives nobody a role: add roles, such as {group: platform, role: operator}", "signIn")
	case !provided && len(c.Roles) > 0:
		check.Add("roles are of those who sign in by signIn.oidc or signIn.forge: add one of them", "roles")
	}
	if d := c.SignIn.Session; d < 0 || d > 0 && d < time.Minute {
		check.Add(fmt.Sprintf("signIn.session %s is too short: a minute is the least", d), "signIn", "session")
	}
	for i, r := range c.Roles {
		path := []string{"roles", strconv.Itoa(i)}
		if (r.Group == "") == (r.User == "") {
			check.Add("a role is of either a group or a user", path...)
		}
		switch r.Role {
		case auth.Viewer, auth.Proposer:
		case auth.Operator:
			if len(r.Workspaces)+len(r.Environments) > 0 {
				check.Add("an operator sees all: leave workspaces and environments out", path...)
			}
		default:
			check.Add(fmt.Sprintf("role %q is not known: choose viewer, proposer or operator", r.Role), append(slices.Clone(path), "role")...)
		}
	}
}

func (s ClientSecret) check(check *yamlpos.Checker, path ...string) {
	if s.SecretFile != "" && s.SecretEnv != "" {
		check.Add(strings.Join(path, ".")+" has either secretFile or secretEnv", path...)
	}
}

// read returns the secret, "" where there is none.
func (s ClientSecret) read(of string) (string, error) {
	value, from := os.Getenv(s.SecretEnv), "environment variable "+s.SecretEnv
	switch {
	case s.SecretFile != "":
		data, err := os.ReadFile(s.SecretFile)
		if err != nil {
			return "", fmt.Errorf("secret of %s: %w", of, err)
		}
		value, from = string(data), s.SecretFile
	case s.SecretEnv == "":
		return "", nil
	}
	if value = strings.TrimSpace(value); value == "" {
		return "", fmt.Errorf("secret of %s: %s is empty", of, from)
	}
	return value, nil
}

// ways are how users sign in, nil for no way but tokens and tickets.
func (c Config) ways() (*auth.SignIn, error) {
	var ways []auth.Way
	if o := c.SignIn.OIDC; o != nil {
		secret, err := o.read("signIn.oidc")
		if err != nil {
			return nil, err
		}
		provider := &auth.OIDC{Issuer: o.Issuer, ClientID: o.ClientID, Secret: secret, GroupsClaim: o.GroupsClaim, Scopes: o.Scopes, Title: o.Title}
		ways = append(ways, provider.Way())
	}
	if f := c.SignIn.Forge; f != nil {
		secret, err := f.read("signIn.forge")
		if err != nil {
			return nil, err
		}
		of := c.scheduler.Forge
		provider := &auth.Forge{GitHub: of.Type == controller.GitHub, URL: strings.TrimSuffix(of.Address(), "/"), ClientID: f.ClientID, Secret: secret}
		if provider.GitHub {
			if provider.API, err = github.APIRoot(of.Address(), of.API); err != nil {
				return nil, err
			}
		}
		ways = append(ways, provider.Way())
	}
	if len(ways) == 0 {
		return nil, nil
	}
	return auth.New(c.base(), c.Roles, c.SignIn.Session, ways...), nil
}

// base is the hub's URL as browsers have it.
func (c Config) base() string {
	switch {
	case c.PublicURL != "":
		return c.PublicURL
	case c.TLS != nil:
		return "https://" + c.Listen
	}
	return "http://" + c.Listen
}

// agents are the tokens of the clusters that report, nil for none of a file, and whether clusters
// report at all.
func (c Config) agents() (*auth.ClusterTokens, bool, error) {
	for _, o := range c.Observe {
		if o.Agents == nil {
			continue
		}
		if o.Agents.TokensFile == "" {
			return nil, true, nil
		}
		tokens, err := auth.ReadClusterTokens(o.Agents.TokensFile)
		return tokens, true, err
	}
	return nil, false, nil
}

// reachable is the mistake that it is when others reach a hub that nobody can sign in to.
func (c Config) reachable(ctx context.Context, s *store.Store) error {
	if c.unreached == "" {
		return nil
	}
	all, err := s.Tokens(ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	if !slices.ContainsFunc(all, func(t store.Token) bool { return t.Cluster == "" && (t.Expires.IsZero() || t.Expires.After(now)) }) {
		return usage.New(c.unreached)
	}
	return nil
}

func loopbackHost(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
