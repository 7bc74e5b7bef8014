package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	gitea "code.gitea.io/sdk/gitea"
	"github.com/google/go-github/v88/github"
	"golang.org/x/oauth2"
)

// Forge is the forge of the platform, where users sign in with the account that they have there.
type Forge struct {
	GitHub   bool   // else it is a Gitea
	URL      string // of its pages, without a slash at the end
	API      string // of GitHub's REST API
	ClientID string // of the OAuth2 application, or of the GitHub App
	Secret   string
}

const (
	giteaWay  = "gitea"
	githubWay = "github"
)

// Way is how users sign in with it.
func (f *Forge) Way() Way {
	if f.GitHub {
		return Way{Name: githubWay, Title: "GitHub", Forge: true, provider: f}
	}
	return Way{Name: giteaWay, Title: "Gitea", Forge: true, provider: f}
}

func (f *Forge) client(context.Context) (*oauth2.Config, error) {
	c := &oauth2.Config{ClientID: f.ClientID, ClientSecret: f.Secret}
	path := "/login/oauth/"
	if f.GitHub {
		// what the token may do is set where the App is
		c.Endpoint = oauth2.Endpoint{AuthURL: f.URL + path + "authorize", TokenURL: f.URL + path + "access_token", AuthStyle: oauth2.AuthStyleInParams}
		return c, nil
	}
	c.Scopes = []string{"read:user", "read:organization", "write:repository"}
	c.Endpoint = oauth2.Endpoint{AuthURL: f.URL + path + "authorize", TokenURL: f.URL + path + "access_token", AuthStyle: oauth2.AuthStyleInParams}
	return c, nil
}

// lasts: the forge can be asked as long as there is a token.
func (f *Forge) lasts(*oauth2.Token) bool { return true }

// forgePage is how many organisations or teams a forge is asked for at once, and forgePages how
// often at most.
const (
	forgePage  = 50
	forgePages = 20
)

func (f *Forge) user(ctx context.Context, token *oauth2.Token, _ string) (User, error) {
	client, _ := ctx.Value(oauth2.HTTPClient).(*http.Client)
	ask := f.ofGitea
	if f.GitHub {
		ask = f.ofGitHub
	}
	p, status, err := ask(ctx, client, token.AccessToken)
	switch {
	case err != nil && (status == http.StatusUnauthorized || status == http.StatusForbidden):
		return User{}, fmt.Errorf("%w by %s: the token may not read who it is of, and the organisations and teams of that user", ErrRefused, f.URL)
	case err != nil:
		return User{}, fmt.Errorf("%s %w: %w", f.URL, ErrUnavailable, err)
	case p.Login == "":
		return User{}, fmt.Errorf("%w: %s has not said who it is", ErrRefused, f.URL)
	}
	p.Name = p.Login
	slices.Sort(p.Groups)
	p.Groups = slices.Compact(p.Groups)
	return p, nil
}

func (f *Forge) ofGitea(ctx context.Context, client *http.Client, token string) (p User, status int, err error) {
	c, err := gitea.NewClient(f.URL, gitea.SetContext(ctx), gitea.SetToken(token), gitea.SetHTTPClient(client), gitea.SetGiteaVersion(""))
	if err != nil {
		return p, 0, err
	}
	of := func(r *gitea.Response) int {
		if r == nil || r.Response == nil {
			return 0
		}
		return r.StatusCode
	}
	user, r, err := c.GetMyUserInfo()
	if err != nil {
		return p, of(r), err
	}
	p.Login = user.UserName
	for page := 1; page <= forgePages; page++ {
		all, r, err := c.ListMyOrgs(gitea.ListOrgsOptions{ListOptions: gitea.ListOptions{Page: page, PageSize: forgePage}})
		if err != nil {
			return p, of(r), err
		}
		for _, o := range all {
			p.Groups = append(p.Groups, o.Name)
		}
		if len(all) < forgePage {
			break
		}
	}
	for page := 1; page <= forgePages; page++ {
		all, r, err := c.ListMyTeams(&gitea.ListTeamsOptions{ListOptions: gitea.ListOptions{Page: page, PageSize: forgePage}})
		if err != nil {
			return p, of(r), err
		}
		for _, t := range all {
			if t.Organization != nil {
				p.Groups = append(p.Groups, t.Organization.Name+"/"+t.Name)
			}
		}
		if len(all) < forgePage {
			break
		}
	}
	return p, http.StatusOK, nil
}

func (f *Forge) ofGitHub(ctx context.Context, client *http.Client, token string) (p User, status int, err error) {
	api := strings.TrimSuffix(f.API, "/") + "/"
	c, err := github.NewClient(github.WithHTTPClient(client), github.WithAuthToken(token), github.WithURLs(&api, &api))
	if err != nil {
		return p, 0, err
	}
	of := func(err error) int {
		var answer *github.ErrorResponse
		if errors.As(err, &answer) && answer.Response != nil {
			return answer.Response.StatusCode
		}
		return 0
	}
	user, _, err := c.Users.Get(ctx, "")
	if err != nil {
		return p, of(err), err
	}
	p.Login = user.GetLogin()
	o := &github.ListOptions{PerPage: 2 * forgePage, Page: 1}
	for range forgePages {
		all, r, err := c.Organizations.List(ctx, "", o)
		if err != nil {
			return p, of(err), err
		}
		for _, one := range all {
			p.Groups = append(p.Groups, one.GetLogin())
		}
		if o.Page = r.NextPage; o.Page == 0 {
			break
		}
	}
	o.Page = 1
	for range forgePages {
		all, r, err := c.Teams.ListUserTeams(ctx, o)
		if err != nil {
			return p, of(err), err
		}
		for _, one := range all {
			p.Groups = append(p.Groups, one.GetOrganization().GetLogin()+"/"+one.GetSlug())
		}
		if o.Page = r.NextPage; o.Page == 0 {
			break
		}
	}
	return p, http.StatusOK, nil
}

type forgeUserKey struct{}

// forgeUser is who acts at the forge.
type forgeUser struct {
	token func() (string, error)
	login string
}

// UserForge is the token and the account of who has signed in by the forge, for what is done there
// as that user. ok is false for everybody else, and where the token cannot be had any more.
func UserForge(ctx context.Context) (token, login string, ok bool) {
	who, ok := ctx.Value(forgeUserKey{}).(forgeUser)
	if !ok {
		return "", "", false
	}
	token, err := who.token()
	return token, who.login, err == nil && token != ""
}
