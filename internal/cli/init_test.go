package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/testkit/forgefake"
	"github.com/kalypso-dev/kalypso/internal/testkit/githubfake"
	"github.com/kalypso-dev/kalypso/internal/testkit/workshoptest"
	"github.com/kalypso-dev/kalypso/workshop"
	"github.com/rogpeppe/go-internal/txtar"
)

const initSecret = "s3cret-of-a-bot"

// emptyOrganisation is an organisation without repositories, and init as its
// owner calls it.
func emptyOrganisation(t *testing.T) (*githubfake.Server, func(args ...string) (int, string, string)) {
	t.Helper()
	s := githubfake.Start(t)
	s.Org("kalypso")
	token := s.User("owner", "repo", "workflow", "delete_repo").Token
	for name, value := range map[string]string{"INIT_TOKEN": token, "BOT_TOKEN": initSecret, "GITHUB_TOKEN": "", "GITHUB_SERVER_URL": "", "KALYPSO_CI_TOKEN": ""} {
		t.Setenv(name, value)
	}
	return s, func(args ...string) (int, string, string) {
		code, out, talk := call(t, append([]string{"init", "--org", "kalypso", "--url", s.URL, "--token-env", "INIT_TOKEN"}, args...)...)
		for _, secret := range []string{token, initSecret} {
			if strings.Contains(out+talk, secret) {
				t.Errorf("%q: a credential is printed: %q, %q", args, out, talk)
			}
		}
		return code, out, talk
	}
}

func writes(calls []githubfake.Call) (kinds []string) {
	for _, c := range calls {
		if c.Write() {
			kinds = append(kinds, c.Kind)
		}
	}
	return kinds
}

// TestInitToMergedPullRequest begins with an empty organisation and ends with
// the tutorial's manifests on the GitOps branch, by nothing but commands and
// what users do on GitHub. The manifests are those of the same fixtures on the
// sandbox's forge.
func TestInitToMergedPullRequest(t *testing.T) {
	s, initialise := emptyOrganisation(t)
	config := filepath.Join(t.TempDir(), "scheduler.yaml")
	code, out, talk := initialise("--secret-env", "CONTROL_PLANE_TOKEN=BOT_TOKEN", "--secret-env", "CD_TOKEN=BOT_TOKEN", "--config", config)
	if code != cmdutil.ExitOK || out != "" || !strings.Contains(talk, "kalypso scheduler once --config "+config) {
		t.Fatalf("exit code %d, %q, %q", code, out, talk)
	}
	if got := s.Secret("kalypso/kalypso-app-src", "", "CD_TOKEN"); got != initSecret {
		t.Errorf("the secret is %q", got)
	}
	if got := s.Variable("kalypso/kalypso-control-plane", "dev", "NEXT_ENVIRONMENT"); got != "stage" {
		t.Errorf("after dev comes %q", got)
	}

	once := func(want int) string {
		t.Helper()
		code, out, talk := call(t, "scheduler", "once", "--config", config, "--exit-code")
		if code != want {
			t.Fatalf("exit code %d, %q, %q", code, out, talk)
		}
		return out
	}
	t.Log("as the sandbox, it begins with nothing to do")
	once(cmdutil.ExitOK)

	t.Log("a user onboards the application, and the workflow cd promotes it")
	w := helloWorld{t, s.URL + "/kalypso/", func(repo, branch string, files map[string]string) { s.Push(repo, branch, files) }, s.Branch}
	w.onboard()
	promoted := s.Branch("kalypso/kalypso-control-plane", "main")
	t.Setenv("GITHUB_SERVER_URL", s.URL)
	t.Setenv("GITHUB_API_URL", s.URL+"/api/v3")
	t.Setenv("GITHUB_REPOSITORY", "kalypso/kalypso-control-plane")
	t.Setenv("GITHUB_TOKEN", os.Getenv("INIT_TOKEN"))
	t.Setenv("KALYPSO_FORGE", "")
	t.Setenv("GITEA_ACTIONS", "")
	if code, out, talk := call(t, "ci", "promote", "--environment", "dev", "--commit", promoted); code != cmdutil.ExitOK {
		t.Fatalf("exit code %d, %q, %q", code, out, talk)
	}
	if out := once(cmdutil.ExitChanges); !strings.Contains(out, "dev: opened ") {
		t.Errorf("it says %q", out)
	}
	pulls := s.Pulls(helloGitOps)
	if len(pulls) != 1 {
		t.Fatalf("pull requests %+v", pulls)
	}
	s.Merge(helloGitOps, pulls[0].Number)
	once(cmdutil.ExitOK)

	got := map[string]map[string]string{"dev": plainFiles(s.Files(helloGitOps, "dev"), w.prefix), "stage": plainFiles(s.Files(helloGitOps, "stage"), w.prefix)}
	if diff := cmp.Diff(fixturesOnGitea(t), got); diff != "" || got["dev"]["drone/hello-world-app-functional-test/reconciler.yaml"] == "" {
		t.Errorf("files (-on the sandbox's forge +on GitHub):\n%s", diff)
	}
}

// fixturesOnGitea plays the same with the fixtures as the sandbox renders them,
// without a server.
func fixturesOnGitea(t *testing.T) map[string]map[string]string {
	t.Helper()
	f := forgefake.New()
	prefix := strings.TrimSuffix(forgefake.URL("kalypso/"), ".git")
	content := workshoptest.Load(t, "hello-world", strings.TrimSuffix(prefix, "/"))
	w := helloWorld{t, prefix, func(repo, branch string, files map[string]string) { f.Push(repo, branch, files) }, f.Branch}
	for _, r := range content.Repositories {
		for _, b := range r.Branches {
			for name, data := range b.Files {
				w.write(txtar.File{Name: r.Name + "@" + b.Name + "/" + name, Data: data})
			}
		}
	}
	round := func() {
		t.Helper()
		mergedRound(t, f, prefix)
	}
	// stage is pinned as it begins: its workflow has not come to it yet
	base := content.Repositories[slices.IndexFunc(content.Repositories, func(r workshop.Repository) bool { return r.Name == "kalypso-control-plane" })]
	stage, _ := base.Branch("stage")
	pinned := strings.Replace(string(stage.Files["base-repo.yaml"]), "spec:\n", "spec:\n  commit: "+f.Branch("kalypso/kalypso-control-plane", "main")+"\n", 1)
	w.write(
		txtar.File{Name: "kalypso-control-plane@stage/base-repo.yaml", Data: []byte(pinned)},
		txtar.File{Name: "kalypso-gitops@stage/.github/tracking/Promoted_Commit_Id", Data: []byte(f.Branch("kalypso/kalypso-control-plane", "main") + "\n")},
	)
	round()
	w.onboard()
	round()
	return map[string]map[string]string{"dev": plainFiles(f.Files(helloGitOps, "dev"), prefix), "stage": plainFiles(f.Files(helloGitOps, "stage"), prefix)}
}
