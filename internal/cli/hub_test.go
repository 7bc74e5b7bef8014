package cli

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/testkit/giteafake"
)

// TestHubTokens makes a token, lists it without its secret, and revokes it.
func TestHubTokens(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "hub.yaml")
	for file, text := range map[string]string{
		config:                               "scheduler: {config: scheduler.yaml}\nstore: {sqlite: hub.db}\nobserve: [{kubeconfig: k}]\n",
		filepath.Join(dir, "scheduler.yaml"): "forge: {type: gitea, url: 'http://f', tokenEnv: T}\ncontrolPlane: {repo: 'http://f/o/c'}\nwebhookSecret: s\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	code, out, talk := call(t, "hub", "token", "create", "team", "--config", config, "--expires", "1d", "--environment", "dev", "-o", "json")
	var created struct{ Name, Role, Secret string }
	if err := json.Unmarshal([]byte(out), &created); code != cmdutil.ExitOK || err != nil || created.Name != "team" || created.Role != "viewer" || !strings.HasPrefix(created.Secret, "kht_") {
		t.Fatalf("exit code %d, %v: %s%s", code, err, out, talk)
	}
	if code, _, talk := call(t, "hub", "token", "create", "team", "--config", config); code == cmdutil.ExitOK {
		t.Errorf("a name is taken twice: %s", talk)
	}
	code, out, _ = call(t, "hub", "token", "list", "--config", config)
	if fields := strings.Fields(out); code != cmdutil.ExitOK || len(fields) != 11 || fields[5] != "team" || fields[8] != "dev" || strings.Contains(out, created.Secret) {
		t.Errorf("exit code %d: %q", code, out)
	}
	if code, _, talk := call(t, "hub", "token", "revoke", "team", "--config", config); code != cmdutil.ExitOK {
		t.Errorf("exit code %d: %s", code, talk)
	}
	if code, _, talk := call(t, "hub", "token", "revoke", "taem", "--config", config); code == cmdutil.ExitOK {
		t.Errorf("one that there is not is revoked: %s", talk)
	}
	if info, err := os.Stat(filepath.Join(dir, "hub.db")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// TestHubHistory reads what git says into a hub's database, and compares the two.
func TestHubHistory(t *testing.T) {
	forge := giteafake.Start(t)
	t.Setenv("KALYPSO_TEST_TOKEN", giteafake.Token)
	control, gitOps := forge.Create("acme/control", "main"), forge.Create("acme/gitops", "dev")
	control.Push("main", map[string]string{
		"environment.yaml": "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Environment\nmetadata: {name: dev}\nspec: {controlPlane: {repo: " + forge.URL + "/acme/control, branch: main, path: .}}\n",
		"gitops.yaml":      "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: GitOpsRepo\nmetadata: {name: dev}\nspec: {repo: " + forge.URL + "/acme/gitops, branch: dev, path: .}\n",
	})
	gitOps.Push("dev", map[string]string{"small/shop-test/namespace.yaml": "kind: Namespace\n"})
	dir := t.TempDir()
	config := filepath.Join(dir, "hub.yaml")
	writeFile(t, config, []byte("scheduler: {config: scheduler.yaml}\nstore: {sqlite: hub.db}\nobserve: [{kubeconfig: k}]\n"))
	writeFile(t, filepath.Join(dir, "scheduler.yaml"), []byte("forge: {type: gitea, url: '"+forge.URL+"', user: "+giteafake.User+", tokenEnv: KALYPSO_TEST_TOKEN}\ncontrolPlane: {repo: '"+forge.URL+"/acme/control'}\nwebhookSecret: s\n"))

	verify := func() (code int, found struct {
		Commits, Assignments int
		Differences          []struct{ Branch, What, Store, Git string }
	}) {
		t.Helper()
		code, out, talk := call(t, "hub", "verify", "--config", config, "-o", "json")
		if err := json.Unmarshal([]byte(out), &found); err != nil {
			t.Fatalf("%v: %s%s", err, out, talk)
		}
		return code, found
	}
	if code, found := verify(); code != cmdutil.ExitFailure || len(found.Differences) != 1 || found.Differences[0].Store != "" || found.Differences[0].Git != "1" {
		t.Errorf("before it was read: exit code %d, %+v", code, found)
	}
	code, out, talk := call(t, "hub", "backfill", "--config", config)
	if fields := strings.Fields(out); code != cmdutil.ExitOK || len(fields) != 10 || fields[5] != forge.URL+"/acme/gitops" || fields[6] != "dev" || fields[8] != "1" || fields[9] != "1" {
		t.Errorf("exit code %d: %s%s", code, out, talk)
	}
	if code, found := verify(); code != cmdutil.ExitOK || found.Commits != 1 || found.Assignments != 1 || found.Differences == nil {
		t.Errorf("exit code %d, %+v", code, found)
	}
	if _, err := os.Stat(filepath.Join(dir, "mirrors")); err != nil {
		t.Error(err)
	}
	gitOps.Push("dev", map[string]string{"large/shop-test/namespace.yaml": "kind: Namespace\n"})
	var results []struct{ Commits, New int }
	code, out, talk = call(t, "hub", "backfill", "--config", config, "-o", "json")
	if err := json.Unmarshal([]byte(out), &results); code != cmdutil.ExitOK || err != nil || len(results) != 1 || results[0].Commits != 2 || results[0].New != 1 {
		t.Errorf("exit code %d, %v: %s%s", code, err, out, talk)
	}
	for _, file := range []string{"hub.db", "hub.db-wal", "hub.db-shm"} { // a cache: it is made again
		if err := os.Remove(filepath.Join(dir, file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	if code, _, talk := call(t, "hub", "backfill", "--config", config); code != cmdutil.ExitOK {
		t.Errorf("exit code %d: %s", code, talk)
	}
	code, out, talk = call(t, "hub", "verify", "--config", config)
	if code != cmdutil.ExitOK || out != "" || !strings.Contains(talk, "2 commits") {
		t.Errorf("exit code %d: %s%s", code, out, talk)
	}
	if err := os.Rename(gitOps.Dir, gitOps.Dir+".gone"); err != nil {
		t.Fatal(err)
	}
	if code, _, talk := call(t, "hub", "backfill", "--config", config); code != cmdutil.ExitFailure || !strings.Contains(talk, "/acme/gitops") {
		t.Errorf("exit code %d: %s", code, talk)
	}
}

// TestHubThatOthersReach is refused as it is called wrongly, in one line.
func TestHubThatOthersReach(t *testing.T) {
	config := filepath.Join(t.TempDir(), "hub.yaml")
	if err := os.WriteFile(config, []byte("listen: 0.0.0.0:8080\nscheduler: {config: s}\nstore: {sqlite: hub.db}\nobserve: [{kubeconfig: k}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, talk := call(t, "hub", "run", "--config", config)
	if code != cmdutil.ExitUsage || out != "" || strings.Count(talk, "\n") != 1 || !strings.Contains(talk, config+":1: ") {
		t.Errorf("exit code %d: %q", code, talk)
	}
}
