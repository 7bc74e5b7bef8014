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
	Admin    bool
}

// passwordVariable has the password of an account that Gitea's command line
// makes: everybody on the machine sees the arguments of a process.
const passwordVariable = "GITEA_NEW_PASSWORD"

// ensureAccount makes the account if it is missing. Gitea's command line is
// the one door that works before there is any account.
func (g Server) ensureAccount(ctx context.Context, a Account) error {
	args := []string{"admin", "user", "create",
		"--username=" + a.User,
		"--email=" + a.User + "@localhost.localdomain",
		"--must-change-password=false",
	}
	if a.Admin {
		args = append(args, "--admin")
	}
	_, err := g.command(ctx, []string{passwordVariable + "=" + a.Password}, args...)
	if err != nil && strings.Contains(err.Error(), "already exists") {
		return nil
	}
	return err
}

// accessToken is a token on a line of its own; Gitea's log may stand around it.
var accessToken = regexp.MustCompile(`(?m)^[0-9a-f]{40}$`)

// ensureToken makes the account, if need be, and an access token of it, which
// is kept in a file. A token that the forge still knows shows that both are
// there; asking it costs a tenth of starting Gitea's command line.
func (g Server) ensureToken(ctx context.Context, a Account, name, scopes string) (string, error) {
	token, err := g.keptToken(name)
	if token != "" || err != nil {
		return token, err
	}
	if err := g.ensureAccount(ctx, a); err != nil {
		return "", err
	}
	return g.newToken(ctx, a.User, name, scopes)
}

// ensureOther makes an account, if it is missing, and a token of it, by the
// forge's API: the first account lets the others in, at a tenth of the cost of
// Gitea's command line.
func (g Server) ensureOther(admin *gitea.Client, a Account, name string, scope gitea.AccessTokenScope) error {
	token, err := g.keptToken(name)
	if token != "" || err != nil {
		return err
	}
	if !a.Admin {
		if err := createAccount(admin, a); err != nil {
			return fmt.Errorf("account %s: %w", a.User, err)
		}
	}
	own, err := gitea.NewClient(g.URL, gitea.SetBasicAuth(a.User, a.Password), gitea.SetHTTPClient(client), gitea.SetGiteaVersion(""))
	if err != nil {
		return err
	}
	// the name is used once: a token of a run that was cut off may exist
	made, _, err := own.CreateAccessToken(gitea.CreateAccessTokenOption{
		Name: fmt.Sprintf("%s-%d", name, time.Now().UnixNano()), Scopes: []gitea.AccessTokenScope{scope},
	})
	if err != nil {
		return fmt.Errorf("token %s of %s: %w", name, a.User, err)
	}
	return g.keepToken(name, made.Token)
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

func (g Server) newToken(ctx context.Context, user, name, scopes string) (string, error) {
	// the name is used once: a token of a run that was cut off may exist
	out, err := g.command(ctx, nil, "admin", "user", "generate-access-token",
		"--username="+user, fmt.Sprintf("--token-name=%s-%d", name, time.Now().UnixNano()), "--scopes="+scopes, "--raw")
	if err != nil {
		return "", err
	}
	token := accessToken.FindString(out)
	if token == "" {
		return "", fmt.Errorf("gitea admin user generate-access-token prints no token: %s", strings.TrimSpace(out))
	}
	return token, g.keepToken(name, token)
}

func (g Server) keepToken(name, token string) error {
	if err := os.MkdirAll(g.path("tokens"), 0o700); err != nil {
		return err
	}
	return os.WriteFile(g.TokenFile(name), []byte(token), 0o600)
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

// knows tells whether the forge knows the token. It may well forbid the
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

// command runs Gitea's own command line on the same settings.
func (g Server) command(ctx context.Context, env []string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, g.path("bin", "gitea"), append(args, "--config="+g.config())...)
	cmd.Env, cmd.Dir = append(g.environment(), env...), g.Dir
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := supervisor.RunCommand(cmd); err != nil {
		return "", fmt.Errorf("gitea %s: %w: %s", strings.Join(args[:3], " "), err, strings.TrimSpace(stderr.String()+stdout.String()))
	}
	return stdout.String(), nil
}
