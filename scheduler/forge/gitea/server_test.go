package gitea_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/kalypso-dev/kalypso/internal/testkit/gitkit"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitea"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// server is a real Gitea server, with an organisation of this test's own.
type server struct {
	*testing.T
	url, token string
	admin      *sdk.Client
	forge      *gitea.Forge
	org        string
}

// newServer connects to the server that KALYPSO_TEST_GITEA_URL names. The
// token in KALYPSO_TEST_GITEA_TOKEN must be an administrator's.
func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{T: t, url: strings.TrimSuffix(os.Getenv("KALYPSO_TEST_GITEA_URL"), "/"), token: os.Getenv("KALYPSO_TEST_GITEA_TOKEN")}
	if s.url == "" || s.token == "" {
		t.Skip("KALYPSO_TEST_GITEA_URL and KALYPSO_TEST_GITEA_TOKEN name no Gitea server")
	}
	var err error
	if s.admin, err = sdk.NewClient(s.url, sdk.SetToken(s.token)); err != nil {
		t.Fatal(err)
	}
	if s.forge, err = gitea.New(gitea.Options{URL: s.url, Token: s.token}); err != nil {
		t.Fatal(err)
	}
	s.org = fmt.Sprintf("t%08x", rand.Uint32())
	if _, _, err := s.admin.CreateOrg(sdk.CreateOrgOption{Name: s.org}); err != nil {
		t.Fatal(err)
	}
	return s
}

func must[T any](v T, _ *sdk.Response, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// create makes an empty repository and returns its owner/name.
func (s *server) create(name string, private bool) string {
	s.Helper()
	must(s.admin.CreateOrgRepo(s.org, sdk.CreateRepoOption{Name: name, DefaultBranch: "main", Private: private}))
	return s.org + "/" + name
}

func (s *server) cloneURL(repo string) string { return s.url + "/" + repo + ".git" }

// newUser makes a user who may write to the organisation's repositories.
func (s *server) newUser(name string) (user string, client *sdk.Client) {
	s.Helper()
	user = name + strings.TrimPrefix(s.org, "t")
	no := false
	must(s.admin.AdminCreateUser(sdk.CreateUserOption{
		Username: user, Email: user + "@example.com", Password: "pw-" + user, MustChangePassword: &no,
	}))
	teams := must(s.admin.ListOrgTeams(s.org, sdk.ListTeamsOptions{}))
	if _, err := s.admin.AddTeamMember(teams[0].ID, user); err != nil {
		s.Fatal(err)
	}
	client, err := sdk.NewClient(s.url, sdk.SetBasicAuth(user, "pw-"+user))
	if err != nil {
		s.Fatal(err)
	}
	return user, client
}

// work is a clone that a user works in.
type work struct {
	*testing.T
	dir string
}

// clone makes an empty work tree whose origin is a repository.
func (s *server) clone(repo string) *work {
	s.Helper()
	w := &work{s.T, s.TempDir()}
	w.git("init", "-q", "-b", "main")
	w.git("remote", "add", "origin", strings.Replace(s.cloneURL(repo), "://", "://x:"+s.token+"@", 1))
	return w
}

// git runs git and returns its output.
func (w *work) git(args ...string) string {
	w.Helper()
	return gitkit.Run(w, w.dir, args...)
}

// push commits files on a branch and pushes it.
func (w *work) push(branch string, files map[string]string) string {
	w.Helper()
	for name, content := range files {
		file := filepath.Join(w.dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			w.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			w.Fatal(err)
		}
	}
	w.git("add", "-A")
	w.git("commit", "-q", "--allow-empty", "-m", "work")
	w.git("push", "-q", "-f", "origin", "HEAD:refs/heads/"+branch)
	return w.git("rev-parse", "HEAD")
}

func (s *server) ref(repo, branch string) model.Reference {
	return model.Reference{Repo: s.cloneURL(repo), Branch: branch}
}
