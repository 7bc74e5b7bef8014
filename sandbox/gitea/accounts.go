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
	"github.com/kalypso-dev/kalypso/sandbox/state"
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
	out, err := g.admin(ctx, []string{passwordVariable + "=" + a.Password}, "create", "--admin",
		"--username="+a.User,
		"--email="+a.User+"@localhost.localdomain",
		"--must-change-password=false",
	)
	if err != nil && strings.Contains(out, "already exists") {
		return nil
	}
	return err
}

// admin runs a command of Gitea's about users, which works on the forge's data
// itself, and returns what it prints.
func (g Server) admin(ctx context.Context, env []string, command string, flags ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	args := append([]string{"admin", "user", command, "--config=" + g.config()}, flags...)
	cmd := exec.CommandContext(ctx, g.path("bin", "gitea"), args...)
	cmd.Env, cmd.Dir = append(g.environment(), env...), g.Dir
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := supervisor.RunCommand(cmd); err != nil {
		return out.String(), fmt.Errorf("gitea admin user %s: %w: %s", command, err, strings.TrimSpace(out.String()))
	}
	return out.String(), nil
}

var accessToken = regexp.MustCompile(`^[0-9a-f]{40}$`)

// ensureToken calls create, for the account, and makes an access token of it,
// which is kept in a file. A token that the forge still knows shows that both are
// there: then nothing is made.
func (g Server) ensureToken(ctx context.Context, create func() error, a Account, name string, scopes ...gitea.AccessTokenScope) (made bool, err error) {
	kept, err := g.keptToken(name)
	if kept != "" || err != nil {
		return false, err
	}
	if err := create(); err != nil {
		return false, fmt.Errorf("account %s: %w", a.User, err)
	}
	// the name is used once: a token of a run that was cut off may exist
	token, err := g.newToken(ctx, a, fmt.Sprintf("%s-%d", name, time.Now().UnixNano()), scopes)
	if err != nil {
		return false, fmt.Errorf("token %s of %s: %w", name, a.User, err)
	}
	return true, state.WriteFile(g.TokenFile(name), []byte(token))
}

// newToken makes a token of an account. The account's password may not be the one
// any more that the sandbox gave it, since it belongs to the users: then Gitea's
// command line makes the token, for which it takes none.
func (g Server) newToken(ctx context.Context, a Account, name string, scopes []gitea.AccessTokenScope) (string, error) {
	own, err := gitea.NewClient(g.URL, gitea.SetBasicAuth(a.User, a.Password), gitea.SetHTTPClient(client), gitea.SetGiteaVersion(""), gitea.SetContext(ctx))
	if err != nil {
		return "", err
	}
	made, response, err := own.CreateAccessToken(gitea.CreateAccessTokenOption{Name: name, Scopes: scopes})
	if err == nil {
		return made.Token, nil
	}
	if response == nil || response.StatusCode != http.StatusUnauthorized && response.StatusCode != http.StatusForbidden {
		return "", err
	}
	var list []string
	for _, s := range scopes {
		list = append(list, string(s))
	}
	out, err := g.admin(ctx, nil, "generate-access-token", "--username="+a.User, "--token-name="+name, "--scopes="+strings.Join(list, ","), "--raw")
	if err != nil {
		return "", err
	}
	// its log goes the same way, before or after the token
	for line := range strings.Lines(out) {
		if line = strings.TrimSpace(line); accessToken.MatchString(line) {
			return line, nil
		}
	}
	return "", errors.New("gitea admin user generate-access-token prints no token")
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
	known, err := g.Knows(string(b))
	if !known || err != nil {
		return "", err
	}
	return string(b), nil
}

// TokenFile is where the token of a name is kept.
func (g Server) TokenFile(name string) string { return g.path("tokens", name) }

// Knows reports whether the forge knows the token. It may well forbid the
// token what is asked here: that it knows.
func (g Server) Knows(token string) (bool, error) {
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
