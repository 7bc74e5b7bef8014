package attached

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kalypso-dev/kalypso/internal/testkit/kubefake"
	"github.com/kalypso-dev/kalypso/sandbox/cluster"
)

const name = "drone"

// Demands as a workshop has them.
const subscription = `apiVersion: v1
kind: Secret
metadata: {name: dev-auth, namespace: flux-system}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: dev, namespace: flux-system}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: dev-dev, namespace: flux-system}
`

// definitions are Flux's, as far as they are needed.
const definitions = `apiVersion: v1
kind: Namespace
metadata: {name: flux-system}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gitrepositories.source.toolkit.fluxcd.io}
spec:
  group: source.toolkit.fluxcd.io
  names: {kind: GitRepository, plural: gitrepositories}
  versions: [{name: v1, served: true}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: kustomizations.kustomize.toolkit.fluxcd.io}
spec:
  group: kustomize.toolkit.fluxcd.io
  names: {kind: Kustomization, plural: kustomizations}
  versions: [{name: v1, served: true}]
`

// argo is Argo CD's definition, as far as it is needed.
const argo = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: applications.argoproj.io}
spec:
  group: argoproj.io
  names: {kind: Application, plural: applications}
  versions: [{name: v1alpha1, served: true}]
`

type object = kubefake.Object

// harness is a sandbox that uses one cluster.
type harness struct {
	*Provider
	api *kubefake.API
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	api := kubefake.New(t)
	api.Put(t, `apiVersion: v1
kind: Namespace
metadata: {name: kube-system}
---
apiVersion: v1
kind: Namespace
metadata: {name: default}
---
apiVersion: v1
kind: Node
metadata: {name: one}
status: {conditions: [{type: Ready, status: 'True'}]}
`)
	source := Source{Files: []string{writeKubeconfig(t, t.TempDir(), api.URL)}, Context: "mine"}
	return &harness{api: api, Provider: &Provider{ID: "5a5a", Dir: t.TempDir(), Sources: map[string]Source{name: source}, Requirements: requirementsOf(t, Flux)}}
}

func writeKubeconfig(t *testing.T, dir, server string) string {
	t.Helper()
	file := filepath.Join(dir, "kubeconfig")
	config := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: other
contexts:
- {name: mine, context: {cluster: c, user: u, namespace: elsewhere}}
- {name: other, context: {cluster: c, user: u}}
clusters: [{name: c, cluster: {server: %q}}]
users: [{name: u, user: {token: secret}}]
`, server)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// again is the same sandbox in another process.
func (w *harness) again() {
	w.Provider = &Provider{ID: w.ID, Dir: w.Dir, Sources: w.Sources, Requirements: w.Requirements}
}

func requirementsOf(t *testing.T, r Reconciler) func(string) (Requirements, error) {
	t.Helper()
	text, settings, namespace := subscription, "", "flux-system"
	if r == ArgoCD {
		namespace = "argocd"
		text = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: dev, namespace: argocd}\n"
		settings = "apiVersion: v1\nkind: Namespace\nmetadata: {name: argocd}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-cm, namespace: argocd}\n"
	}
	own, err := cluster.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	beside, err := cluster.Decode([]byte(settings))
	if err != nil {
		t.Fatal(err)
	}
	return func(string) (Requirements, error) {
		return Requirements{Reconciler: r, Namespace: namespace, Subscription: own, Settings: beside}, nil
	}
}

// enter does what the unit does when it has looked at the cluster.
func (w *harness) enter(t *testing.T) *cluster.Client {
	t.Helper()
	system := w.api.Get(t, "v1/namespaces/kube-system")["metadata"].(object)
	v := attachment{w.Provider, name, w.Sources[name]}
	if err := v.attach(Facts{UID: types.UID(system["uid"].(string))}); err != nil {
		t.Fatal(err)
	}
	return w.client(t)
}

func (w *harness) client(t *testing.T) *cluster.Client {
	t.Helper()
	c, err := cluster.NewClient(w.Kubeconfig(name), "")
	if err != nil {
		t.Fatal(err)
	}
	c.Inventory = w.Inventory(name)
	return c
}

func apply(t *testing.T, c *cluster.Client, manifests string) {
	t.Helper()
	if err := c.Apply(t.Context(), []byte(manifests)); err != nil {
		t.Fatal(err)
	}
}

// install is what a sandbox puts on a cluster, with what Flux makes of it.
func (w *harness) install(t *testing.T) *cluster.Client {
	t.Helper()
	c := w.enter(t)
	apply(t, c, definitions)
	apply(t, c, subscription)
	apply(t, c, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kalypso-subscribed, namespace: kube-system}\n")
	w.follow(t, "dev-dev", "_app__Namespace", "app_settings__ConfigMap", "flux-system_app_source.toolkit.fluxcd.io_GitRepository", "flux-system_app_kustomize.toolkit.fluxcd.io_Kustomization")
	w.api.Put(t, `apiVersion: v1
kind: Namespace
metadata: {name: app, labels: &dev {kustomize.toolkit.fluxcd.io/name: dev-dev, kustomize.toolkit.fluxcd.io/namespace: flux-system}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: app, labels: {kustomize.toolkit.fluxcd.io/name: dev-dev, kustomize.toolkit.fluxcd.io/namespace: flux-system}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: app, namespace: flux-system, finalizers: [finalizers.fluxcd.io], labels: {kustomize.toolkit.fluxcd.io/name: dev-dev, kustomize.toolkit.fluxcd.io/namespace: flux-system}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: app, namespace: flux-system, finalizers: [finalizers.fluxcd.io], labels: {kustomize.toolkit.fluxcd.io/name: dev-dev, kustomize.toolkit.fluxcd.io/namespace: flux-system}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: app, labels: {kustomize.toolkit.fluxcd.io/name: app, kustomize.toolkit.fluxcd.io/namespace: flux-system}}
`)
	w.follow(t, "app", "app_web_apps_Deployment")
	return c
}

const kustomizations = "kustomize.toolkit.fluxcd.io/v1/namespaces/flux-system/kustomizations/"

// follow is what Flux notes about what it has applied.
func (w *harness) follow(t *testing.T, kustomization string, ids ...string) {
	t.Helper()
	w.api.Change(t, kustomizations+kustomization, func(o object) {
		var entries []any
		for _, id := range ids {
			entries = append(entries, object{"id": id, "v": "v1"})
		}
		o["metadata"].(object)["finalizers"] = []any{"finalizers.fluxcd.io"}
		o["status"] = object{"inventory": object{"entries": entries}}
	})
}

func (w *harness) record(t *testing.T) *record {
	t.Helper()
	r, err := readRecord(RecordFile(w.Dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (w *harness) recordIsGone() bool {
	_, err := os.Stat(filepath.Join(w.Dir, name, "made.json"))
	return os.IsNotExist(err)
}

func (w *harness) take(ctx context.Context) ([]string, error) {
	return Remove(ctx, RecordFile(w.Dir, name), nil)
}

// quickly is for waits that are to fail.
const quickly = 2 * time.Second

func dirOf(file string) string { return filepath.Dir(file) }

func edit(t *testing.T, file, old, new string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(b), old, new)), 0o600); err != nil {
		t.Fatal(err)
	}
}
