package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
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
