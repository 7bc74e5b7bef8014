package lease_test

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/kalypso-dev/kalypso/internal/testkit/githubfake"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitea"
	"github.com/kalypso-dev/kalypso/scheduler/forge/github"
	"github.com/kalypso-dev/kalypso/scheduler/lease"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// TestOnGitHub goes through GitHub's API.
func TestOnGitHub(t *testing.T) {
	t.Parallel()
	s := githubfake.Start(t)
	s.Push(repo, "main", map[string]string{"README.md": "x"})
	bot := s.User("bot")
	handsOver(t, model.Reference{Repo: s.CloneURL(repo), Branch: "main"}, func() (forge.Forge, error) {
		return github.New(github.Options{URL: s.URL, Token: bot.Token, Log: slog.New(slog.DiscardHandler)})
	})
}

// TestOnGitea goes through the Gitea server that KALYPSO_TEST_GITEA_URL names.
// The token in KALYPSO_TEST_GITEA_TOKEN must be an administrator's.
func TestOnGitea(t *testing.T) {
	t.Parallel()
	url, token := strings.TrimSuffix(os.Getenv("KALYPSO_TEST_GITEA_URL"), "/"), os.Getenv("KALYPSO_TEST_GITEA_TOKEN")
	if url == "" || token == "" {
		t.Skip("KALYPSO_TEST_GITEA_URL and KALYPSO_TEST_GITEA_TOKEN name no Gitea server")
	}
	admin, err := sdk.NewClient(url, sdk.SetToken(token))
	if err != nil {
		t.Fatal(err)
	}
	org := fmt.Sprintf("l%08x", rand.Uint32())
	if _, _, err := admin.CreateOrg(sdk.CreateOrgOption{Name: org}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := admin.CreateOrgRepo(org, sdk.CreateRepoOption{Name: "platform", DefaultBranch: "main", AutoInit: true}); err != nil {
		t.Fatal(err)
	}
	handsOver(t, model.Reference{Repo: url + "/" + org + "/platform.git", Branch: "main"}, func() (forge.Forge, error) {
		return gitea.New(gitea.Options{URL: url, Token: token})
	})
}

// handsOver hands the lease from one to the other.
func handsOver(t *testing.T, at model.Reference, connect func() (forge.Forge, error)) {
	t.Helper()
	w := &work{T: t}
	one := func(name string) (l *lease.Lease, stop func()) {
		f, err := connect()
		if err != nil {
			t.Fatal(err)
		}
		return contend(t, lease.Options{Forge: f, At: at, Holder: name, Length: lease.MinLength}, w.run(name, nil))
	}
	until := func(what string) {
		t.Helper()
		for start := time.Now(); w.now() != what; time.Sleep(10 * time.Millisecond) {
			if time.Since(start) > time.Minute {
				t.Fatalf("waited a minute until %s works: %s does", what, w.now())
			}
		}
	}
	_, stopA := one("a")
	until("[a]")
	b, _ := one("b")
	for start := time.Now(); b.State().Holder == ""; time.Sleep(10 * time.Millisecond) {
		if time.Since(start) > time.Minute {
			t.Fatalf("b does not see who leads: %+v", b.State())
		}
	}
	if w.now() != "[a]" {
		t.Errorf("%s works", w.now())
	}
	stopA()
	until("[b]")
}
