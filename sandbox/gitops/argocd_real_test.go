package gitops

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kalypso-dev/kalypso/internal/retry"
	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/loopback"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

const realLimit = time.Minute

// TestArgoCDForReal runs the program on a cluster. KALYPSO_TEST_ARGOCD is the
// folder of the staged component and the kubeconfig of a cluster that may be
// written to, with a colon between them.
func TestArgoCDForReal(t *testing.T) {
	folder, kubeconfig, ok := strings.Cut(os.Getenv("KALYPSO_TEST_ARGOCD"), ":")
	if !ok {
		t.Skip("KALYPSO_TEST_ARGOCD does not name a folder:kubeconfig")
	}
	client, err := cluster.NewClient(kubeconfig, "")
	if err != nil {
		t.Fatal(err)
	}
	a := startReal(t, folder, kubeconfig)
	logIn(t, a)

	repository := newRealRepository(t)
	s := ArgoCDSubscription{Applications: []ArgoCDApplication{{Name: "kalypso-test", URL: "file://" + repository.dir, Branch: "dev", Path: "large"}}}
	t.Cleanup(func() { removeReal(t, client) })
	if err := SubscribeArgoCD(t.Context(), client, s, realLimit); err != nil {
		t.Fatal(err)
	}
	repository.applied(t, client, "one")

	// what was pushed is there long before the next compare that is due
	commit := repository.commit(t, "two")
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), pokeLimit)
	defer cancel()
	name := strings.TrimPrefix(repository.dir, "/")
	if err := RefreshArgoCD(ctx, client, name, "dev", commit); err != nil {
		t.Error(err)
	}
	repository.applied(t, client, "two")
	t.Logf("push -> applied %s", time.Since(began).Round(time.Millisecond))
	browseArgoCD(t, a, "kalypso-test")
}

// startReal runs the unit until the test ends.
func startReal(t *testing.T, folder, kubeconfig string) ArgoCD {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	dir := t.TempDir()
	a := ArgoCD{
		Host: supervisor.Host{
			Staged: func(string) string { return folder }, Registry: filepath.Join(dir, "children"),
			Log: func(string) string { return filepath.Join(dir, "log") }, Env: []string{"PATH=" + os.Getenv("PATH")},
			Port: func(string) int { return port }, PortFree: func(string) error { return nil },
		},
		Cluster: "test", Listener: "argocd", Kubeconfig: kubeconfig, Dir: filepath.Join(dir, "argocd"), Password: "correct-horse",
	}
	c := a.Unit().Component
	t.Cleanup(func() {
		if t.Failed() {
			b, _ := os.ReadFile(a.Log(""))
			t.Logf("%s", b)
		}
		if err := c.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	began := time.Now()
	if err := c.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
	installed := time.Now()
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := retry.Until(t.Context(), "Argo CD", realLimit, c.Ready); err != nil {
		t.Fatal(err)
	}
	t.Logf("installed in %s, ready %s later", installed.Sub(began).Round(time.Millisecond), time.Since(installed).Round(time.Millisecond))
	return a
}

// logIn checks that the password is the one that was set, and that the pages
// are there.
func logIn(t *testing.T, a ArgoCD) {
	t.Helper()
	for password, want := range map[string]int{a.Password: http.StatusOK, "wrong": http.StatusUnauthorized} {
		body, err := json.Marshal(map[string]string{"username": ArgoCDUser, "password": password})
		if err != nil {
			t.Fatal(err)
		}
		r, err := loopback.Client.Post(a.URL()+"/api/v1/session", "application/json", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if r.StatusCode != want {
			t.Errorf("log in with %q: %d, want %d", password, r.StatusCode, want)
		}
	}
	page, err := loopback.Call(t.Context(), http.MethodGet, a.URL()+"/", "")
	if err != nil || !bytes.Contains(page, []byte("<script")) {
		t.Errorf("the start page is %q, error %v", page, err)
	}
}

type realRepository struct{ dir string }

func newRealRepository(t *testing.T) realRepository {
	t.Helper()
	r := realRepository{dir: filepath.Join(t.TempDir(), "gitops")}
	if err := os.MkdirAll(filepath.Join(r.dir, "large"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.git(t, "init", "--quiet", "--initial-branch=dev")
	r.commit(t, "one")
	return r
}

func (r realRepository) git(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@t", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@t")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit makes the application be one ConfigMap with that value.
func (r realRepository) commit(t *testing.T, value string) string {
	t.Helper()
	manifest := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kalypso-test, namespace: kalypso-test}\ndata: {value: " + value + "}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: kalypso-test}\n"
	if err := os.WriteFile(filepath.Join(r.dir, "large", "config.yaml"), []byte(manifest), 0o644); err != nil {
		t.Fatal(err)
	}
	r.git(t, "add", "--all")
	r.git(t, "commit", "--quiet", "--message="+value)
	return r.git(t, "rev-parse", "HEAD")
}

func (r realRepository) applied(t *testing.T, client *cluster.Client, value string) {
	t.Helper()
	configMaps, err := client.Resource(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, "kalypso-test")
	if err != nil {
		t.Fatal(err)
	}
	err = retry.Until(t.Context(), "value "+value, realLimit, func(ctx context.Context) error {
		o, err := configMaps.Get(ctx, "kalypso-test", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if got := o.Object["data"].(map[string]any)["value"]; got != value {
			return fmt.Errorf("value is %v", got)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// removeReal leaves the cluster's Argo CD, and takes away what the test has
// put beside it.
func removeReal(t *testing.T, client *cluster.Client) {
	for _, o := range []struct {
		kind      schema.GroupVersionKind
		namespace string
	}{{applicationKind, ArgoCDNamespace}, {schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, ""}} {
		all, err := client.Resource(o.kind, o.namespace)
		if err == nil {
			err = all.Delete(context.Background(), "kalypso-test", metav1.DeleteOptions{})
		}
		if err != nil {
			t.Errorf("%s: %v", o.kind.Kind, err)
		}
	}
}

// browseArgoCD looks at the pages in a real browser, when
// KALYPSO_TEST_BROWSER is a folder in which npm has installed playwright-core.
// Screenshots go to the folder KALYPSO_SCREENSHOTS.
func browseArgoCD(t *testing.T, a ArgoCD, application string) {
	t.Helper()
	modules := os.Getenv("KALYPSO_TEST_BROWSER")
	chromium, err := exec.LookPath("chromium")
	if modules == "" || err != nil {
		t.Log("the pages were not looked at: no KALYPSO_TEST_BROWSER, or no chromium")
		return
	}
	screenshots := os.Getenv("KALYPSO_SCREENSHOTS")
	if screenshots == "" {
		screenshots = t.TempDir()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", filepath.Join("testdata", "argocd.mjs"))
	cmd.Env = append(os.Environ(), "MODULES="+modules, "CHROMIUM="+chromium, "SCREENSHOTS="+screenshots,
		"ARGOCD_URL="+a.URL(), "ARGOCD_USER="+ArgoCDUser, "ARGOCD_PASSWORD="+a.Password, "ARGOCD_APPLICATIONS="+application)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
}
