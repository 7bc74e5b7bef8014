package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/bradleyfalzon/ghinstallation/v2"
	sdk "github.com/google/go-github/v88/github"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
)

// App is a GitHub App as it is installed in an organisation. It needs write
// access to contents, pull requests, issues and commit statuses.
type App struct {
	ID           int64  `yaml:"id"`           // on the App's settings page
	Installation int64  `yaml:"installation"` // the number at the end of the installation's URL
	KeyFile      string `yaml:"keyFile"`      // the private key in PEM
}

// account is the account of the requests.
type account interface {
	// kind is what the account has, for messages.
	kind() string
	// token returns the token of a request. It may make a request to get it.
	token(ctx context.Context) (string, error)
	// name asks for the account's name as GitHub writes it on what it opens.
	name(ctx context.Context, f *Forge) (string, error)
}

func newAccount(o Options, api *url.URL, transport http.RoundTripper) (account, error) {
	switch {
	case o.Token != "" && o.App != nil:
		return nil, errors.New("github: both a token and an App are given: choose one")
	case o.App != nil:
		return newInstallation(*o.App, api, transport)
	case o.Token == "":
		return nil, errors.New("github: no token and no App: set one of them, from the environment or a file")
	}
	return userAccount{func() string { return o.Token }}, nil
}

// userAccount is an account with a token of its own. The token is behind a
// function, so that nothing that prints a Forge prints it.
type userAccount struct{ secret func() string }

func (userAccount) kind() string { return "token" }

func (p userAccount) token(context.Context) (string, error) { return p.secret(), nil }

func (userAccount) name(ctx context.Context, f *Forge) (string, error) {
	var login string
	err := f.call(ctx, func() (*sdk.Response, error) {
		u, r, err := f.client.Users.Get(ctx, "")
		login = u.GetLogin()
		return r, err
	})
	if err != nil && errors.Is(err, gitclient.ErrDenied) && strings.Contains(err.Error(), "not accessible by integration") {
		return "", fmt.Errorf("%w; a workflow's own token has no name to ask for: set the account to github-actions[bot]", err)
	}
	return login, err
}

// installation is a GitHub App. Its tokens live for an hour.
type installation struct {
	app    App
	tokens *ghinstallation.Transport
	client *sdk.Client // as the App itself, not as its installation
}

func newInstallation(app App, api *url.URL, transport http.RoundTripper) (*installation, error) {
	if app.ID <= 0 || app.Installation <= 0 || app.KeyFile == "" {
		return nil, errors.New("github: an App needs its ID, the ID of its installation and the file of its private key")
	}
	pem, err := os.ReadFile(app.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("github: private key of App %d: %w", app.ID, err)
	}
	itself, err := ghinstallation.NewAppsTransport(transport, app.ID, pem)
	if err != nil { // the error could quote the file
		return nil, fmt.Errorf("github: private key of App %d: %s is no RSA key in PEM: download it anew from the App's settings", app.ID, app.KeyFile)
	}
	root := strings.TrimSuffix(api.String(), "/")
	itself.BaseURL = root
	client, err := sdk.NewClient(sdk.WithTransport(itself), sdk.WithURLs(new(root+"/"), new(root+"/")),
		sdk.WithUserAgent(userAgent), sdk.WithDisableRateLimitCheck())
	if err != nil {
		return nil, fmt.Errorf("github: %w", err)
	}
	return &installation{app: app, tokens: ghinstallation.NewFromAppsTransport(itself, app.Installation), client: client}, nil
}

func (i *installation) kind() string { return fmt.Sprintf("App %d", i.app.ID) }

func (i *installation) token(ctx context.Context) (string, error) {
	token, err := i.tokens.Token(ctx)
	if err == nil {
		return token, nil
	}
	var refused *ghinstallation.HTTPError
	if !errors.As(err, &refused) || refused.Response == nil {
		return "", fmt.Errorf("token of App %d: %w", i.app.ID, err)
	}
	switch code := refused.Response.StatusCode; code {
	case http.StatusUnauthorized:
		return "", i.badKey()
	case http.StatusForbidden, http.StatusNotFound:
		return "", fmt.Errorf("%w: App %d has no installation %d, or it is suspended (http status %d): look up the number at the end of the installation's URL",
			gitclient.ErrDenied, i.app.ID, i.app.Installation, code)
	default:
		return "", fmt.Errorf("token of App %d: GitHub answers %d: try again later", i.app.ID, code)
	}
}

func (i *installation) badKey() error {
	return fmt.Errorf("%w: GitHub refuses App %d's key: check the App's ID, that the key in %s is still listed in its settings, and this machine's clock",
		gitclient.ErrDenied, i.app.ID, i.app.KeyFile)
}

// name is the author of what an App opens: the App's short name and "[bot]".
func (i *installation) name(ctx context.Context, f *Forge) (string, error) {
	var slug string
	err := f.call(ctx, func() (*sdk.Response, error) {
		a, r, err := i.client.Apps.Get(ctx, "")
		slug = a.GetSlug()
		return r, err
	})
	switch {
	case refusedAs(err, http.StatusUnauthorized, ""):
		return "", i.badKey()
	case err != nil:
		return "", err
	}
	return slug + "[bot]", nil
}

// credentials sends the account's token with requests to the API, and to no
// other server: a request may be redirected.
type credentials struct {
	next  http.RoundTripper
	api   *url.URL
	token func(context.Context) (string, error)
}

func (c *credentials) RoundTrip(q *http.Request) (*http.Response, error) {
	if forge.Origin(q.URL) != forge.Origin(c.api) {
		return c.next.RoundTrip(q)
	}
	token, err := c.token(q.Context())
	if err != nil {
		if q.Body != nil {
			err = errors.Join(err, q.Body.Close())
		}
		return nil, err
	}
	q = q.Clone(q.Context())
	q.Header.Set("Authorization", "Bearer "+token)
	return c.next.RoundTrip(q)
}
