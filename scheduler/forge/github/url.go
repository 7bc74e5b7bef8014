package github

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
)

// roots returns the web root and the root of the REST API of a GitHub.
func roots(web, api string) (*url.URL, *url.URL, error) {
	if web == "" {
		web = PublicURL
	}
	w, err := root("URL", web)
	if err != nil {
		return nil, nil, err
	}
	if api == "" {
		api = apiRoot(w)
	}
	a, err := root("API URL", api)
	return w, a, err
}

// APIRoot is where a GitHub has its REST API: api, or what follows from where its pages are.
func APIRoot(web, api string) (string, error) {
	_, found, err := roots(web, api)
	if err != nil {
		return "", err
	}
	return found.String(), nil
}

// apiRoot is where a GitHub has its API, by where its pages are
// (docs.github.com/rest/using-the-rest-api/getting-started-with-the-rest-api).
func apiRoot(web *url.URL) string {
	host := strings.ToLower(web.Hostname())
	if host == "github.com" || host == "www.github.com" {
		return "https://api.github.com"
	}
	if strings.HasSuffix(host, ".ghe.com") {
		return "https://api." + host
	}
	return web.JoinPath("api", "v3").String()
}

// graphQL is the URL of the GraphQL API of the same GitHub.
func graphQL(api *url.URL) string {
	s := strings.TrimSuffix(api.String(), "/")
	if server, ok := strings.CutSuffix(s, "/api/v3"); ok {
		return server + "/api/graphql"
	}
	return s + "/graphql"
}

func root(what, s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, fmt.Errorf("github: %s is not an http or https URL", what)
	}
	if u.User != nil {
		return nil, fmt.Errorf("github: %s %s holds credentials: put them into an environment variable or a file", what, u.Redacted())
	}
	u.Path, u.RawQuery, u.Fragment = strings.TrimSuffix(u.Path, "/"), "", ""
	return u, nil
}

// ownRemote is the remote of a repository of this GitHub. It is spelled the same
// whatever the clone URL was, so that a repository is cached once.
func (f *Forge) ownRemote(ctx context.Context, repo string) (gitclient.Remote, error) {
	token, err := f.account.token(ctx)
	if err != nil {
		return gitclient.Remote{}, err
	}
	return gitclient.Remote{
		URL:  f.site.Root.JoinPath(repo + ".git").String(),
		Auth: &gitclient.Auth{User: "x-access-token", Password: token},
	}, nil
}

// OrganisationURL is what the clone URLs of an organisation begin with, without
// a slash in the end.
func (f *Forge) OrganisationURL(organisation string) string {
	return f.site.Root.JoinPath(organisation).String()
}

// Registry is the host of the image registry that belongs to this GitHub
// (docs.github.com/packages/working-with-a-github-packages-registry/
// working-with-the-container-registry).
func (f *Forge) Registry() string {
	if forge.Origin(f.site.Root) == "https://github.com:443" {
		return "ghcr.io"
	}
	return "containers." + f.site.Root.Host
}
