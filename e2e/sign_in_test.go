//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/internal/testkit/giteafake"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
)

// TestSignIn signs in to a hub of the built binary at a real OpenID provider, in a browser. One
// user sees one environment, the other all. The fleet is one cluster that follows each environment.
func TestSignIn(t *testing.T) {
	m := newMachine(t)
	b := newBrowser(t, m)
	environments := []string{"dev", "prod"}
	forge := giteafake.Start(t)
	control := forge.Create("acme/control", "main")
	files := map[string]string{}
	cluster := fleet.Cluster{Name: "edge"}
	for _, name := range environments {
		const object = "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: %s\nmetadata: {name: %s}\nspec: %s\n"
		files[name+".yaml"] = fmt.Sprintf(object, "Environment", name, "{controlPlane: {repo: "+forge.URL+"/acme/control, branch: "+name+", path: .}}")
		gitOps := forge.Create("acme/gitops-"+name, name)
		head := gitOps.Push(name, map[string]string{"small/target-" + name + "/namespace.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: target-" + name + "}\n"})
		control.Push(name, map[string]string{
			"gitops.yaml": fmt.Sprintf(object, "GitOpsRepo", name, "{repo: "+forge.URL+"/acme/gitops-"+name+", branch: "+name+", path: .}"),
		})
		cluster.Subscriptions = append(cluster.Subscriptions, fleet.Subscription{
			Kind: fleet.Kustomization, Ref: fleet.Ref{Namespace: "flux-system", Name: name}, Repo: forge.URL + "/acme/gitops-" + name, Branch: name, Path: "small",
			Commit: head, Applied: head, State: fleet.Compliant, At: time.Now().UTC(),
		})
	}
	control.Push("main", files)
	clusters := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		now := time.Now().UTC()
		one := cluster
		one.LastSeen = now
		_ = json.NewEncoder(w).Encode(fleet.Snapshot{At: now, Clusters: []fleet.Cluster{one}})
	}))
	t.Cleanup(clusters.Close)

	address := freeAddress(t)
	const secret = "the hub's secret"
	issuer := provider(t, "http://"+address+"/signin/oidc/callback", secret)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"hub.yaml": "scheduler: {config: scheduler.yaml}\nlisten: " + address + "\nstore: {sqlite: hub.db}\n" +
			"observe: [{endpoint: {url: '" + clusters.URL + "', tokenEnv: FLEET}, interval: 1s}]\nchain: [dev, prod]\n" +
			"signIn: {oidc: {issuer: '" + issuer + "', clientID: hub, secretEnv: OIDC}}\n" +
			"roles:\n- {group: platform, role: operator}\n- {group: kaizen-app, role: proposer, environments: [dev]}\n",
		"scheduler.yaml": "forge: {type: gitea, url: '" + forge.URL + "', user: " + giteafake.User + ", tokenEnv: FORGE}\n" +
			"controlPlane: {repo: '" + forge.URL + "/acme/control'}\nwebhookSecret: s\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	config := filepath.Join(dir, "hub.yaml")
	m.env = append(m.env, "FORGE="+giteafake.Token, "FLEET=fleet", "OIDC="+secret)
	token := strings.TrimSpace(m.run("hub", "token", "create", "test", "--role", "viewer", "--config", config).stdout)
	hub := m.command(ctx, "hub", "run", "--config", config)
	said := &taught{}
	hub.Stdout, hub.Stderr = said, said
	if err := hub.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = hub.Wait()
		if t.Failed() {
			t.Logf("the hub says:\n%s", said)
		}
	})
	waitFor(t, "the hub knows a placement of each environment", time.Minute, func() error {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/api/v1/placements", nil)
		if err != nil {
			return err
		}
		r.Header.Set("Authorization", "Bearer "+token)
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			return err
		}
		var list struct {
			Items []struct{ Environment string }
		}
		if err := json.Unmarshal(body, &list); err != nil || len(list.Items) != len(environments) {
			return fmt.Errorf("%s: %s", response.Status, body)
		}
		return nil
	})

	type user struct {
		Name         string   `json:"name"`
		Password     string   `json:"password"`
		Role         string   `json:"role"`
		Environments []string `json:"environments"`
	}
	users, err := json.Marshal([]user{{"ben", "verysecure", "proposer", environments[:1]}, {"ann", "verysecure", "operator", environments}})
	if err != nil {
		t.Fatal(err)
	}
	all, err := json.Marshal(environments)
	if err != nil {
		t.Fatal(err)
	}
	b.check(t, filepath.Join(b.dir, "sign-in.mjs"), "HUB_URL=http://"+address, "PROVIDER_URL="+issuer, "USERS="+string(users), "ENVIRONMENTS="+string(all))
}

// provider runs the OpenID provider of internal/testkit for a hub that is called back there, and
// returns its issuer.
func provider(t *testing.T, callback, secret string) (issuer string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "oidcserver")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-C", filepath.Join("..", "internal", "testkit", "oidcserver"), "-o", file, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c := exec.Command(file, "-client", "hub", "-secret", secret, "-redirect", callback)
	c.Stderr = t.Output()
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close() // which ends it
		_ = c.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// freeAddress is one of the loopback that nobody listened on a moment ago.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
