package gitops

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/internal/testkit/kubefake"
	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"golang.org/x/crypto/bcrypt"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	secretPath  = "v1/namespaces/argocd/secrets/argocd-secret"
	initialPath = "v1/namespaces/argocd/secrets/argocd-initial-admin-secret"
)

// staged makes a staged component with the kinds of Argo CD.
func staged(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "crds"), 0o755); err != nil {
		t.Fatal(err)
	}
	for kind, plural := range map[string]string{"Application": "applications", "AppProject": "appprojects"} {
		definition := fmt.Sprintf("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: %s.argoproj.io}\nspec:\n  group: argoproj.io\n  names: {kind: %s, plural: %s}\n  versions: [{name: v1alpha1, served: true}]\n", plural, kind, plural)
		if err := os.WriteFile(filepath.Join(dir, "crds", plural+".yaml"), []byte(definition), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func testArgoCD(t *testing.T) ArgoCD {
	dir := staged(t)
	host := supervisor.Host{Staged: func(string) string { return dir }, Port: func(string) int { return 20001 }}
	return ArgoCD{Host: host, Cluster: "large", Listener: "argocd-large", Password: "correct-horse"}
}

func value(t *testing.T, api *kubefake.API, path, key string) string {
	t.Helper()
	v, err := secretValue(&unstructured.Unstructured{Object: api.Get(t, path)}, key)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestArgoCDIsInstalled(t *testing.T) {
	api := kubefake.New(t)
	client := api.Client(t)
	if err := testArgoCD(t).settings().Install(t.Context(), client); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		"v1/namespaces/argocd",
		"apiextensions.k8s.io/v1/customresourcedefinitions/applications.argoproj.io",
		"apiextensions.k8s.io/v1/customresourcedefinitions/appprojects.argoproj.io",
		"argoproj.io/v1alpha1/namespaces/argocd/appprojects/default",
	} {
		api.Get(t, path)
	}
	// Argo CD reads what has the label, and nothing else
	for _, path := range []string{"v1/namespaces/argocd/configmaps/argocd-cm", "v1/namespaces/argocd/configmaps/argocd-rbac-cm", secretPath} {
		labels := api.Get(t, path)["metadata"].(map[string]any)["labels"].(map[string]any)
		if labels["app.kubernetes.io/part-of"] != "argocd" {
			t.Errorf("%s has the labels %v", path, labels)
		}
	}
	settings := api.Get(t, "v1/namespaces/argocd/configmaps/argocd-cm")["data"].(map[string]any)
	if settings["url"] != "http://localhost:20001" {
		t.Errorf("url is %v", settings["url"])
	}
	if hash := value(t, api, secretPath, "admin.password"); bcrypt.CompareHashAndPassword([]byte(hash), []byte("correct-horse")) != nil {
		t.Errorf("hash %q is not the password's", hash)
	}
	if got := value(t, api, initialPath, "password"); got != "correct-horse" {
		t.Errorf("the initial password is %q", got)
	}
	if _, err := time.Parse(time.RFC3339, value(t, api, secretPath, "admin.passwordMtime")); err != nil {
		t.Error(err)
	}
}

func TestArgoCDIsInstalledAfterAnyInterruption(t *testing.T) {
	api := kubefake.New(t)
	client := api.Client(t)
	a := testArgoCD(t)
	if err := a.settings().Install(t.Context(), client); err != nil {
		t.Fatal(err)
	}
	for cut := range api.Writes {
		api := kubefake.New(t)
		client := api.Client(t)
		writes := 0
		api.Before = func(string, string) error {
			if writes++; writes == cut+1 {
				return errors.New("cut off")
			}
			return nil
		}
		if err := a.settings().Install(t.Context(), client); err == nil || !strings.Contains(err.Error(), "cut off") {
			t.Fatalf("write %d: error is %v", cut+1, err)
		}
		if err := a.settings().Install(t.Context(), client); err != nil {
			t.Fatalf("after write %d failed: %v", cut+1, err)
		}
		api.Get(t, "argoproj.io/v1alpha1/namespaces/argocd/appprojects/default")
		hash := value(t, api, secretPath, "admin.password")
		if bcrypt.CompareHashAndPassword([]byte(hash), []byte(value(t, api, initialPath, "password"))) != nil {
			t.Errorf("after write %d failed: the secrets do not match", cut+1)
		}
	}
}

func TestArgoCDInstalledAgainKeepsThePassword(t *testing.T) {
	api := kubefake.New(t)
	client := api.Client(t)
	a := testArgoCD(t)
	for range 2 {
		if err := a.settings().Install(t.Context(), client); err != nil {
			t.Fatal(err)
		}
	}
	writes := 0
	for _, w := range api.Writes {
		if w == secretPath {
			writes++
		}
	}
	// a second one would log all users out
	if writes != 1 {
		t.Errorf("the password was set %d times", writes)
	}
}

func TestPasswordManifests(t *testing.T) {
	for name, c := range map[string]struct {
		initial, hash string
		want          int // objects
	}{
		"nothing there":             {"", "", 2},
		"set before":                {"correct-horse", "hash", 0},
		"changed by a user since":   {"correct-horse", "another hash", 0},
		"cut off before the second": {"", "hash", 2},
		"of another sandbox":        {"other", "hash", 2},
		"hash lost":                 {"correct-horse", "", 2},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := passwordManifests("correct-horse", c.initial, c.hash, time.Unix(0, 0))
			if err != nil {
				t.Fatal(err)
			}
			objects, err := cluster.Decode(m)
			if err != nil || len(objects) != c.want {
				t.Errorf("%d objects, want %d, error %v", len(objects), c.want, err)
			}
			if c.want == 2 && objects[1].GetName() != argoCDInitialSecret {
				t.Errorf("the last is %s, and cannot vouch for the first", objects[1].GetName())
			}
		})
	}
	if _, err := passwordManifests(strings.Repeat("x", 73), "", "", time.Now()); err == nil {
		t.Error("a password that bcrypt cannot take was taken")
	}
}

func TestInstallKindsNeedsKinds(t *testing.T) {
	client := kubefake.New(t).Client(t)
	if err := InstallKinds(t.Context(), client, t.TempDir()); err == nil {
		t.Error("an empty folder was taken")
	}
}
