package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/testkit/kubefake"
)

// TestHubAgent reads a cluster by a kubeconfig, and posts what it follows with the token.
func TestHubAgent(t *testing.T) {
	dir := t.TempDir()
	api := kubefake.New(t, schema.GroupVersionKind{Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "GitRepository"}, schema.GroupVersionKind{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Kind: "Kustomization"})
	api.Put(t, `apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: dev, namespace: flux-system}
spec: {url: 'https://forge/gitops', ref: {branch: dev}, interval: 1m}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: dev, namespace: flux-system}
spec: {path: edge, sourceRef: {kind: GitRepository, name: dev}, interval: 1m}
`)
	kubeconfig, token := filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "token")
	writeFile(t, kubeconfig, []byte("apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: {server: '"+api.URL+"'}}]\nusers: [{name: u, user: {}}]\n"))
	writeFile(t, token, []byte("secret\n"))
	type report struct {
		Cluster         string
		IntervalSeconds int
		Labels          map[string]string
		Subscriptions   []struct{ Kind, Name, Repo, Branch, Path string }
	}
	reports := make(chan report, 1)
	hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var one report
		if err := json.NewDecoder(r.Body).Decode(&one); err != nil || r.Method != http.MethodPost || r.URL.Path != "/api/v1/reports" || r.Header.Get("Authorization") != "Bearer secret" {
			t.Errorf("%s %s %v: %v", r.Method, r.URL, r.Header, err)
		}
		select {
		case reports <- one:
		default:
		}
	}))
	t.Cleanup(hub.Close)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	var talk bytes.Buffer
	go func() {
		args := []string{"hub", "agent", "--hub", hub.URL, "--cluster", "store-17", "--token-file", token, "--kubeconfig", kubeconfig, "--label", "region=west"}
		ended <- Run(ctx, testVersion, args, strings.NewReader(""), &talk, &talk)
	}()
	select {
	case got := <-reports:
		if got.Cluster != "store-17" || got.IntervalSeconds != 60 || got.Labels["region"] != "west" || len(got.Subscriptions) != 1 || got.Subscriptions[0].Repo != "https://forge/gitops" ||
			got.Subscriptions[0].Branch != "dev" || got.Subscriptions[0].Path != "edge" {
			t.Errorf("%+v", got)
		}
	case code := <-ended:
		t.Fatalf("exit code %d: %s", code, talk.String())
	case <-time.After(time.Minute):
		t.Fatal("no report")
	}
	stop()
	<-ended

	for _, c := range []struct {
		args []string
		says string
	}{
		{nil, "--hub"},
		{[]string{"--hub", "http://hub.example.com", "--cluster", "c", "--token-file", token}, "unencrypted"},
		{[]string{"--hub", "https://u:p@hub.example.com", "--cluster", "c", "--token-file", token}, "credentials"},
		{[]string{"--hub", "https://hub.example.com", "--cluster", "c", "--token-file", token}, "--kubeconfig"},
		{[]string{"--hub", "https://hub.example.com", "--cluster", "c", "--token-file", token, "--context", "c"}, "--kubeconfig"},
	} {
		t.Setenv("KUBERNETES_SERVICE_HOST", "")
		if code, _, talk := call(t, append([]string{"hub", "agent"}, c.args...)...); code != cmdutil.ExitUsage || !strings.Contains(talk, c.says) {
			t.Errorf("%v: exit code %d: %s", c.args, code, talk)
		}
	}
}

// TestHubClusterToken makes the token of an agent.
func TestHubClusterToken(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "hub.yaml")
	writeFile(t, config, []byte("scheduler: {config: scheduler.yaml}\nstore: {sqlite: hub.db}\nobserve: [{agents: {}}]\n"))
	writeFile(t, filepath.Join(dir, "scheduler.yaml"), []byte("forge: {type: gitea, url: 'http://f', tokenEnv: T}\ncontrolPlane: {repo: 'http://f/o/c'}\nwebhookSecret: s\n"))
	code, out, talk := call(t, "hub", "token", "create", "--cluster", "store-17", "--config", config, "-o", "json")
	var made struct{ Name, Role, Cluster, Secret string }
	if err := json.Unmarshal([]byte(out), &made); code != cmdutil.ExitOK || err != nil || made.Name != "agent-store-17" || made.Role != "agent" || made.Cluster != "store-17" || made.Secret == "" {
		t.Errorf("exit code %d, %v: %s%s", code, err, out, talk)
	}
	for _, more := range [][]string{{"--role", "viewer"}, {"--environment", "dev"}} {
		if code, _, talk := call(t, append([]string{"hub", "token", "create", "--cluster", "store-18", "--config", config}, more...)...); code != cmdutil.ExitUsage {
			t.Errorf("%v: exit code %d: %s", more, code, talk)
		}
	}
	if code, _, talk := call(t, "hub", "token", "create", "--config", config); code != cmdutil.ExitUsage {
		t.Errorf("without a name: exit code %d: %s", code, talk)
	}
	if code, _, talk := call(t, "hub", "token", "create", "x", "--role", "agent", "--config", config); code != cmdutil.ExitUsage {
		t.Errorf("an agent of no cluster: exit code %d: %s", code, talk)
	}
}
