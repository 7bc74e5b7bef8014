package gitea

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"code.gitea.io/sdk/gitea"
	"github.com/kalypso-dev/kalypso/sandbox/loopback"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

// Account is a user that the sandbox makes on the forge.
type Account struct {
	User     string
	Password string
}

// passwordVariable has the password of an account that Gitea's command line
// makes: everybody on the machine sees the arguments of a process.
const passwordVariable = "GITEA_NEW_PASSWORD"

// ensureAdmin makes the account if it is missing. Gitea's command line is the
// only way in before there is any account.
func (g Server) ensureAdmin(ctx context.Context, a Account) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, g.path("bin", "gitea"), "admin", "user", "create", "--admin",
		"--username="+a.User,
		"--email="+a.User+"@localhost.localdomain",
		"--must-change-password=false",
		"--config="+g.config(),
	)
	cmd.Env, cmd.Dir = append(g.environment(), passwordVariable+"="+a.Password), g.Dir
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	err := supervisor.RunCommand(cmd)
	if err != nil && !strings.Contains(out.String(), "already exists") {
		return fmt.Errorf("gitea admin user create: %w: %s", err, strings.TrimSpace(out.String()))
	}
	return nil
}

var accessToken = regexp.MustCompile(`^[0-9a-f]{40}$`)

// ensureToken calls create, for the account, and makes an access token of it,
// which is kept in a file. A token that the forge still knows shows that both are
// there.
func (g Server) ensureToken(create func() error, a Account, name string, scope gitea.AccessTokenScope) (string, error) {
	token, err := g.keptToken(name)
	if token != "" || err != nil {
		return token, err
	}
	if err := create(); err != nil {
		return "", fmt.Errorf("account %s: %w", a.User, err)
	}
	own, err := gitea.NewClient(g.URL, gitea.SetBasicAuth(a.User, a.Password), gitea.SetHTTPClient(client), gitea.SetGiteaVersion(""))
	if err != nil {
		return "", err
	}
	// the name is used once: a token of a run that was cut off may exist
	made, _, err := own.CreateAccessToken(gitea.CreateAccessTokenOption{
		Name: fmt.Sprintf("%s-%d", name, time.Now().UnixNano()), Scopes: []gitea.AccessTokenScope{scope},
	})
	if err != nil {
		return "", fmt.Errorf("token %s of %s: %w", name, a.User, err)
	}
	if err := os.MkdirAll(g.path("tokens"), 0o700); err != nil {
		return "", err
	}
	return made.Token, os.WriteFile(g.TokenFile(name), []byte(made.Token), 0o600)
}

func createAccount(admin *gitea.Client, a Account) error {
	_, response, err := admin.GetUserInfo(a.User)
	if err == nil || response == nil || response.StatusCode != http.StatusNotFound {
		return err
	}
	change := false
	_, _, err = admin.AdminCreateUser(gitea.CreateUserOption{
		Username: a.User, Password: a.Password, Email: a.User + "@localhost.localdomain", MustChangePassword: &change,
	})
	return err
}

// keptToken returns the token of an earlier start, "" when there is none that
// the forge knows.
func (g Server) keptToken(name string) (string, error) {
	b, err := os.ReadFile(g.TokenFile(name))
	if errors.Is(err, fs.ErrNotExist) || err == nil && !accessToken.Match(b) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	known, err := g.knows(string(b))
	if !known || err != nil {
		return "", err
	}
	return string(b), nil
}

// TokenFile is where the token of a name is kept.
func (g Server) TokenFile(name string) string { return g.path("tokens", name) }

// knows reports whether the forge knows the token. It may well forbid the
// token what is asked here: that it knows.
func (g Server) knows(token string) (bool, error) {
	c, err := g.client(token)
	if err != nil {
		return false, err
	}
	_, response, err := c.GetMyUserInfo()
	if response == nil {
		return false, err
	}
	return response.StatusCode != http.StatusUnauthorized, nil
}

// client gives Gitea time to make a repository on a busy machine.
var client = &http.Client{Timeout: 30 * time.Second, Transport: loopback.Client.Transport}

func (g Server) client(token string) (*gitea.Client, error) {
	return gitea.NewClient(g.URL, gitea.SetToken(token), gitea.SetHTTPClient(client), gitea.SetGiteaVersion(""))
}
