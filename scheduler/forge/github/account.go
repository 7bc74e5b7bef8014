package github

import (
	"context"
	"crypto/rsa"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v4"
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

// credentials are where the tokens of requests come from.
type credentials interface {
	// token returns the token of a request. It may make a request to get it.
	token(ctx context.Context) (string, error)
	// refused is called with a token that GitHub has not taken, and reports
	// whether token returns another one now.
	refused(token string) bool
}

// account is the account of the requests.
type account interface {
	credentials
	// kind is what the account has, for messages.
	kind() string
	// name asks for the account's name as GitHub writes it on what it opens.
	name(ctx context.Context, f *Forge) (string, error)
}

func newAccount(o Options, api *url.URL, l *limiter) (account, error) {
	switch {
	case o.Token != "" && o.App != nil:
		return nil, errors.New("github: both a token and an App are given: choose one")
	case o.App != nil:
		return newInstallation(*o.App, api, l)
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

func (userAccount) refused(string) bool { return false }

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
	client *sdk.Client // as the App itself, not as its installation

	mu      sync.Mutex // is held while a token is asked for
	cached  string
	expires time.Time
}

func newInstallation(app App, api *url.URL, l *limiter) (*installation, error) {
	if app.ID <= 0 || app.Installation <= 0 || app.KeyFile == "" {
		return nil, errors.New("github: an App needs its ID, the ID of its installation and the file of its private key")
	}
	pem, err := os.ReadFile(app.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("github: private key of App %d: %w", app.ID, err)
	}
	key, err := jwt.ParseRSAPrivateKeyFromPEM(pem)
	if err != nil { // the error could quote the file
		return nil, fmt.Errorf("github: private key of App %d: %s is no RSA key in PEM: download it anew from the App's settings", app.ID, app.KeyFile)
	}
	root := strings.TrimSuffix(api.String(), "/") + "/"
	client, err := sdk.NewClient(sdk.WithTransport(&authorized{l, api, appKey{app.ID, key}}), sdk.WithURLs(&root, &root),
		sdk.WithUserAgent(userAgent), sdk.WithDisableRateLimitCheck())
	if err != nil {
		return nil, fmt.Errorf("github: %w", err)
	}
	return &installation{app: app, client: client}, nil
}

// appKey signs the tokens by which an App makes requests as itself
// (docs.github.com/apps/creating-github-apps/authenticating-with-a-github-app/
// generating-a-json-web-token-jwt-for-a-github-app).
type appKey struct {
	id  int64
	key *rsa.PrivateKey
}

func (k appKey) token(context.Context) (string, error) {
	issued := time.Now().Add(-30 * time.Second) // GitHub's clock may be behind
	return jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.RegisteredClaims{
		Issuer: strconv.FormatInt(k.id, 10), IssuedAt: jwt.NewNumericDate(issued), ExpiresAt: jwt.NewNumericDate(issued.Add(2 * time.Minute)),
	}).SignedString(k.key)
}

func (appKey) refused(string) bool { return false }

func (i *installation) kind() string { return fmt.Sprintf("App %d", i.app.ID) }

func (i *installation) token(ctx context.Context) (string, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.cached != "" && time.Until(i.expires) > time.Minute {
		return i.cached, nil
	}
	made, _, err := i.client.Apps.CreateInstallationToken(ctx, i.app.Installation, &sdk.InstallationTokenOptions{})
	if err == nil {
		i.cached, i.expires = made.GetToken(), made.GetExpiresAt().Time
		return i.cached, nil
	}
	err = failure(err)
	switch {
	case refusedAs(err, http.StatusUnauthorized, ""):
		return "", i.badKey()
	case refusedAs(err, http.StatusForbidden, ""), refusedAs(err, http.StatusNotFound, ""):
		return "", fmt.Errorf("%w: App %d has no installation %d, or it is suspended: look up the number at the end of the installation's URL",
			gitclient.ErrDenied, i.app.ID, i.app.Installation)
	}
	return "", fmt.Errorf("token of App %d: %w", i.app.ID, err)
}

func (i *installation) refused(token string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.cached == token {
		i.cached = ""
	}
	return true
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

// authorized sends a token with requests to the API, and to no other server: a
// request may be redirected. An App's token that GitHub does not take, since it
// was revoked or the clocks differ, is replaced once.
type authorized struct {
	limiter *limiter
	api     *url.URL
	credentials
}

func (a *authorized) RoundTrip(q *http.Request) (*http.Response, error) {
	if forge.Origin(q.URL) != forge.Origin(a.api) {
		return a.limiter.RoundTrip(q)
	}
	var token string
	authorize := func(q *http.Request) (err error) {
		if token, err = a.token(q.Context()); err == nil {
			q.Header.Set("Authorization", "Bearer "+token)
		}
		return err
	}
	answer, err := a.limiter.send(q, authorize)
	if err == nil && answer.StatusCode == http.StatusUnauthorized && a.refused(token) {
		answer, err = a.limiter.send(q, authorize)
	}
	return answer, err
}
