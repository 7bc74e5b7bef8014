//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// deletedNamespaces: somebody deletes an application's namespace on a cluster of
// each reconciler. Both put it back with what was in it, and until then the
// environment is not said to be synced.
func deletedNamespaces(t *testing.T, m *machine) {
	namespaces := map[string]string{
		"drone": "dev-kaizen-app-team-hello-world-app-functional-test",
		"large": "dev-kaizen-app-team-hello-world-app-performance-test",
	}
	before := map[string]string{}
	uid := func(cluster string) (string, error) {
		out, err := m.try("kubectl", "--context", cluster, "get", "namespace", namespaces[cluster], "-o", "jsonpath={.metadata.uid} {.status.phase}")
		return out.stdout, err
	}
	for cluster, namespace := range namespaces {
		var err error
		if before[cluster], err = uid(cluster); err != nil {
			t.Fatal(err)
		}
		m.run("kubectl", "--context", cluster, "delete", "namespace", namespace, "--wait=false")
	}
	waitFor(t, "status that shows what is missing", 30*time.Second, func() error {
		seen := map[string]bool{}
		for _, p := range m.status().Problems {
			seen[p.Cluster] = true
		}
		if !seen["large"] && !seen["drone"] {
			return errors.New("it names no cluster")
		}
		return nil
	})
	for cluster, namespace := range namespaces {
		began := time.Now()
		waitFor(t, "namespace "+namespace+" on "+cluster, 3*time.Minute, func() error {
			now, err := uid(cluster)
			if err != nil {
				return err
			}
			if now == before[cluster] || !strings.HasSuffix(now, " Active") {
				return fmt.Errorf("it is %q, and was %q", now, before[cluster])
			}
			out, err := m.try("kubectl", "--context", cluster, "--namespace", namespace, "get", "deployment,configmap", "-o", "name")
			for _, wanted := range []string{"deployment.apps/", "configmap/platform-config"} {
				if err == nil && !strings.Contains(out.stdout, wanted) {
					err = fmt.Errorf("it has %q", out.stdout)
				}
			}
			return err
		})
		t.Logf("namespace on %s is back: %.1f s", cluster, time.Since(began).Seconds())
	}
	waitFor(t, "an environment that is synced", time.Minute, func() error {
		for _, p := range m.status().Problems {
			if p.Cluster != "" {
				return fmt.Errorf("%s: %s: %s", p.Cluster, p.Object, p.Reason)
			}
		}
		return nil
	})
}

// mendedCommit: an Application that a user has made by hand, without settings for
// retries, follows a commit that cannot be applied. The commit that mends it is
// applied at once all the same.
func mendedCommit(t *testing.T, m *machine) {
	const branch, limit = "by-hand", 5 * time.Second
	m.push(m.platform(), branch, map[string]string{"made/settings.yaml": settingsIn("nowhere", "broken")})
	file := filepath.Join(m.dir, "by-hand.yaml")
	application := fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: by-hand, namespace: argocd, finalizers: [resources-finalizer.argocd.argoproj.io]}
spec:
  project: default
  destination: {server: https://kubernetes.default.svc, namespace: default}
  source: {repoURL: %s, targetRevision: %s, path: made, directory: {recurse: true}}
  syncPolicy: {automated: {prune: true, selfHeal: true}}
`, m.credentials().OrgURL+"/"+m.platform(), branch)
	if err := os.WriteFile(file, []byte(application), 0o600); err != nil {
		t.Fatal(err)
	}
	m.run("kubectl", "--context", "large", "apply", "--filename", file)
	defer m.run("kubectl", "--context", "large", "delete", "--filename", file)
	state := func(path string) string {
		return m.run("kubectl", "--context", "large", "--namespace", "argocd", "get", "application", "by-hand", "-o", "jsonpath="+path).stdout
	}
	waitFor(t, "a sync that fails and is tried again", time.Minute, func() error {
		if n := state("{.status.operationState.retryCount}"); n == "" || n == "0" {
			return fmt.Errorf("%s %s", state("{.status.operationState.phase}"), state("{.status.operationState.message}"))
		}
		return nil
	})
	m.push(m.platform(), branch, map[string]string{"made/settings.yaml": settingsIn("default", "mended")})
	pushed := time.Now()
	waitFor(t, "the commit that mends it", limit, func() error {
		out, err := m.try("kubectl", "--context", "large", "--namespace", "default", "get", "configmap", "by-hand", "-o", "jsonpath={.data.is}")
		if err == nil && out.stdout != "mended" {
			err = fmt.Errorf("it is %q", out.stdout)
		}
		return err
	})
	t.Logf("push -> applied: %.2f s", time.Since(pushed).Seconds())
}

func settingsIn(namespace, is string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: by-hand, namespace: %s}\ndata: {is: %s}\n", namespace, is)
}
