package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/kalypso-dev/kalypso/workshop"

	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox/daemon"
	"github.com/kalypso-dev/kalypso/sandbox/gitops"
	"github.com/kalypso-dev/kalypso/sandbox/loopback"
	"github.com/kalypso-dev/kalypso/sandbox/state"
)

// WebPage is a page of the sandbox that a browser can show.
type WebPage struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	URL     string `json:"url"`
	Running bool   `json:"running"` // the sandbox is, so there is something to see
	User    string `json:"user,omitempty"`
	// Part is what can be named within the page, "" for nothing.
	Part string `json:"part,omitempty"`

	within func(ctx context.Context, h Home, part string) (url string, err error)
}

// WebPages returns all pages, also of a sandbox that is down.
func WebPages(ctx context.Context, h Home) ([]WebPage, error) {
	s, err := h.Load()
	if err != nil {
		return nil, err
	}
	all := []WebPage{
		{Name: "gitea", Title: "the forge with the workshop's repositories", URL: s.OrgURL(), User: s.Admin.User, Part: "REPOSITORY", within: repositoryURL},
	}
	if s.Port(HubPage) != 0 { // there is none in a sandbox of an older kalypso
		all = append(all, WebPage{Name: HubPage, Title: "the hub: what runs where, since when, and why", URL: "http://" + s.Address(HubPage) + "/"})
	}
	for _, c := range s.Clusters() {
		if c.Reconciler == workshop.ArgoCD {
			all = append(all, WebPage{Name: "argocd", Title: "Argo CD of cluster " + c.Name, URL: s.LocalURL(state.Listener(c)), User: gitops.ArgoCDUser})
		}
	}
	_, err = daemon.NewClient(h).Components(ctx)
	for i := range all {
		all[i].Running = err == nil
	}
	return all, nil
}

// FindWebPage returns one page, or with a part the part of it. The error is a
// *usage.Error for an unknown name or part.
func FindWebPage(ctx context.Context, h Home, name, part string) (*WebPage, error) {
	all, err := WebPages(ctx, h)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(all))
	for i, p := range all {
		names[i] = p.Name
	}
	if err := state.CheckName("page", name, names); err != nil {
		return nil, err
	}
	page := &all[slices.Index(names, name)]
	if part == "" {
		return page, nil
	}
	if page.within == nil {
		return nil, usage.Errorf("%s is opened as a whole", name)
	}
	page.URL, err = page.within(ctx, h, part)
	return page, err
}

const (
	forgeLimit = 3 * time.Second
	forgePage  = 50 // the most that Gitea gives at once, as it is set up
)

// repositoryURL checks the name where the forge can be asked.
func repositoryURL(ctx context.Context, h Home, name string) (string, error) {
	c, err := GetCredentials(h)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, forgeLimit)
	defer cancel()
	known, err := repositories(ctx, c)
	if err == nil {
		if err := state.CheckName("repository", name, known); err != nil {
			return "", err
		}
	}
	return c.OrgURL + "/" + url.PathEscape(name), nil
}

// repositories are the names of all that the forge has in the organisation.
func repositories(ctx context.Context, c *Credentials) ([]string, error) {
	var names []string
	for n := 1; ; n++ {
		b, err := loopback.Call(ctx, http.MethodGet, fmt.Sprintf("%s/api/v1/orgs/%s/repos?limit=%d&page=%d", c.URL, Organisation, forgePage, n), c.Token)
		if err != nil {
			return nil, err
		}
		var some []struct {
			Name string `json:"name"`
		}
		if err := json.Unmarshal(b, &some); err != nil {
			return nil, fmt.Errorf("the forge's repositories: %w", err)
		}
		for _, r := range some {
			names = append(names, r.Name)
		}
		if len(some) < forgePage {
			slices.Sort(names)
			return names, nil
		}
	}
}
