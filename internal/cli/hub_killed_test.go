package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/testkit/giteafake"
	"github.com/kalypso-dev/kalypso/internal/testkit/gitkit"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
)

// mainVariable has the test binary be kalypso.
const mainVariable = "KALYPSO_TEST_MAIN"

// TestMain lets the test binary be a kalypso that will be killed.
func TestMain(m *testing.M) {
	if os.Getenv(mainVariable) != "" {
		os.Exit(Run(context.Background(), testVersion, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// changingFleet is a cluster that is in another state each time it is asked.
type changingFleet struct {
	asked  atomic.Int64
	gitOps string
}

func (f *changingFleet) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	now := time.Now().UTC()
	s := fleet.Subscription{
		Kind: fleet.Kustomization, Ref: fleet.Ref{Namespace: "flux-system", Name: "dev"}, Repo: f.gitOps, Branch: "dev", Path: "small", State: fleet.Compliant, At: now,
	}
	if f.asked.Add(1)%2 == 0 {
		s.State, s.Reason = fleet.NonCompliant, "it does not start"
	}
	_ = json.NewEncoder(w).Encode(fleet.Snapshot{At: now, Clusters: []fleet.Cluster{{Name: "edge", LastSeen: now, Subscriptions: []fleet.Subscription{s}}}})
}

// TestKilledHub kills a hub 20 times while it reads a long history and writes what a fleet does.
// The next one begins where it was, and in the end the database has what git says.
func TestKilledHub(t *testing.T) {
	const kills, commits = 20, 1200
	forge := giteafake.Start(t)
	t.Setenv("KALYPSO_TEST_TOKEN", giteafake.Token)
	t.Setenv("KALYPSO_TEST_FLEET", "fleet")
	control, gitOps := forge.Create("acme/control", "main"), forge.Create("acme/gitops", "dev")
	control.Push("main", map[string]string{
		"environment.yaml": "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Environment\nmetadata: {name: dev}\nspec: {controlPlane: {repo: " + forge.URL + "/acme/control, branch: main, path: .}}\n",
		"gitops.yaml":      "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: GitOpsRepo\nmetadata: {name: dev}\nspec: {repo: " + forge.URL + "/acme/gitops, branch: dev, path: .}\n",
	})
	var stream strings.Builder
	for n := range commits {
		content := fmt.Sprintf("kind: Namespace\nmetadata: {name: n%d}\n", n)
		fmt.Fprintf(&stream, "commit refs/heads/dev\ncommitter ann <ann@example.com> %d +0000\ndata 6\nchange\nM 100644 inline small/target-%d/namespace.yaml\ndata %d\n%s\n", 1767225600+n, n%40, len(content), content)
	}
	if _, err := gitkit.Git(gitOps.Dir, stream.String(), "fast-import", "--quiet"); err != nil {
		t.Fatal(err)
	}
	changing := &changingFleet{gitOps: forge.URL + "/acme/gitops"}
	server := httptest.NewServer(changing)
	defer server.Close()
	dir := t.TempDir()
	config := filepath.Join(dir, "hub.yaml")
	writeFile(t, config, []byte("scheduler: {config: scheduler.yaml}\nlisten: 127.0.0.1:0\nstore: {sqlite: hub.db}\nobserve: [{endpoint: {url: '"+server.URL+"', tokenEnv: KALYPSO_TEST_FLEET}, interval: 1s}]\n"))
	writeFile(t, filepath.Join(dir, "scheduler.yaml"), []byte("forge: {type: gitea, url: '"+forge.URL+"', user: "+giteafake.User+", tokenEnv: KALYPSO_TEST_TOKEN}\ncontrolPlane: {repo: '"+forge.URL+"/acme/control'}\nwebhookSecret: s\n"))

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	start := func() (hub *exec.Cmd, said *strings.Builder) {
		said = &strings.Builder{}
		hub = exec.CommandContext(t.Context(), self, "hub", "run", "--config", config)
		hub.Env = append(os.Environ(), mainVariable+"=1", "KALYPSO_HOME="+filepath.Join(dir, "home"))
		hub.Stderr = said
		if err := hub.Start(); err != nil {
			t.Fatal(err)
		}
		return hub, said
	}
	// written is how much of the branch, and how many transitions, the database has
	written := func() (length int, last int64) {
		s, err := store.Open(t.Context(), store.Options{SQLite: filepath.Join(dir, "hub.db")})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		all, err := s.Histories(t.Context())
		if err == nil && len(all) > 0 {
			length = all[0].Length
		}
		if err == nil {
			last, err = s.LastMessage(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		return length, last
	}
	amid := 0
	for kill := range kills {
		asked := changing.asked.Load()
		hub, said := start()
		deadline := time.Now().Add(time.Minute)
		for changing.asked.Load() == asked { // it runs, and writes its first round in a moment
			if time.Now().After(deadline) {
				t.Fatalf("hub %d does not ask the fleet: %s", kill, said)
			}
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Duration(rand.IntN(400)) * time.Millisecond) // anywhere in what it does then
		_ = hub.Process.Kill()
		_ = hub.Wait()
		if length, _ := written(); length > 0 && length < commits {
			amid++
		}
	}
	hub, said := start()
	defer func() {
		_ = hub.Process.Kill()
		_ = hub.Wait()
	}()
	_, before := written()
	deadline := time.Now().Add(time.Minute)
	for {
		length, last := written()
		if length == commits && last > before {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d commits, message %d after %d: %s", length, commits, last, before, said)
		}
		time.Sleep(50 * time.Millisecond)
	}
	_ = hub.Process.Kill()
	_ = hub.Wait()
	if code, out, talk := call(t, "hub", "verify", "--config", config); code != cmdutil.ExitOK {
		t.Errorf("exit code %d: %s%s", code, out, talk)
	}
	t.Logf("%d of %d were killed with a part of the history", amid, kills)
}
