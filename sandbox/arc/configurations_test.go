package arc

import (
	"encoding/base64"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/internal/armapi"
	client "github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
	"sigs.k8s.io/yaml"
)

var drone = armapi.Cluster{ResourceGroup: group, Type: armapi.ConnectedClusters, Name: "drone"}

const (
	base1          = "/subscriptions/" + subscription + "/resourceGroups/" + group + "/providers/Microsoft.Kubernetes/connectedClusters/drone"
	configurations = base1 + "/providers/Microsoft.KubernetesConfiguration/fluxConfigurations"
	version        = "?api-version=2025-04-01"

	repositoryPath    = "source.toolkit.fluxcd.io/v1/namespaces/flux-system/gitrepositories/platform-qa"
	kustomizationPath = "kustomize.toolkit.fluxcd.io/v1/namespaces/flux-system/kustomizations/platform-qa-platform-qa"
	secretPath        = "v1/namespaces/flux-system/secrets/platform-qa-auth"
)

func ptr[T any](v T) *T { return &v }

// wanted is what the tutorial's command asks for.
func wanted() armapi.Properties {
	return armapi.Properties{
		Scope: "cluster", Namespace: "flux-system", SourceKind: "GitRepository",
		GitRepository: &armapi.GitRepository{
			URL: "http://localhost:1/kalypso/kalypso-platform-gitops", SyncIntervalInSeconds: ptr(int64(10)),
			RepositoryRef: armapi.RepositoryRef{Branch: ptr("qa")}, HTTPSUser: ptr("flux"),
		},
		Kustomizations: map[string]armapi.Kustomization{
			"platform-qa": {Path: "west-us", Prune: true, SyncIntervalInSeconds: ptr(int64(10))},
		},
		ProtectedSettings: map[string]string{"httpsKey": base64.StdEncoding.EncodeToString([]byte("s3cret"))},
	}
}

func TestPutMakesWhatArcsAgentMakes(t *testing.T) {
	w := newFixture(t)
	made, err := w.arm.Put(t.Context(), drone, "platform-qa", wanted(), true)
	if err != nil {
		t.Fatal(err)
	}
	if made.ID != configurations+"/platform-qa" || made.Properties.ProvisioningState != "Succeeded" || made.Properties.ComplianceState != "Pending" {
		t.Errorf("%+v", made)
	}
	for path, want := range map[string]string{
		secretPath: `
type: Opaque
data: {username: Zmx1eA==, password: czNjcmV0}`,
		repositoryPath: `
spec:
  url: http://localhost:1/kalypso/kalypso-platform-gitops
  interval: 10s
  timeout: 600s
  ref: {branch: qa}
  secretRef: {name: platform-qa-auth}
  suspend: false`,
		kustomizationPath: `
spec:
  interval: 10s
  retryInterval: 10s
  timeout: 600s
  path: west-us
  prune: true
  force: false
  suspend: false
  sourceRef: {kind: GitRepository, name: platform-qa}`,
	} {
		var m map[string]any
		if err := yaml.Unmarshal([]byte(want), &m); err != nil {
			t.Fatal(err)
		}
		for field, value := range m {
			if diff := cmp.Diff(value, w.api.Get(t, path)[field]); diff != "" {
				t.Errorf("%s: %s: %s", path, field, diff)
			}
		}
	}
	if !slices.Contains(w.api.Paths(), "v1/namespaces/flux-system") {
		t.Error("no namespace")
	}
}

// What ARM shows of a configuration is all on the cluster: an emulator that
// has just started shows the same.
func TestNothingIsLostWithTheEmulator(t *testing.T) {
	w := newFixture(t)
	made, err := w.arm.Put(t.Context(), drone, "platform-qa", wanted(), true)
	if err != nil {
		t.Fatal(err)
	}
	w.dir = t.TempDir()
	w.start(t)
	again, err := w.arm.Get(t.Context(), drone, "platform-qa")
	if err != nil {
		t.Fatal(err)
	}
	made.Properties.StatusUpdatedAt, again.Properties.StatusUpdatedAt = nil, nil
	if diff := cmp.Diff(made, again); diff != "" {
		t.Error(diff)
	}
	p := again.Properties
	if *p.GitRepository.HTTPSUser != "flux" || *p.GitRepository.TimeoutInSeconds != 600 || p.Kustomizations["platform-qa"].RetryIntervalInSeconds != nil || p.ProtectedSettings != nil {
		t.Errorf("%+v", p)
	}
}

const ready = `conditions: [{type: Ready, status: "True", reason: Succeeded, message: fine, observedGeneration: 0, lastTransitionTime: "2026-01-01T00:00:00Z"}]`

// apply has Flux do its work on the revision.
func (w *fixture) reconcile(t *testing.T, fetched, applied string) {
	w.api.Merge(t, repositoryPath, "status: {artifact: {revision: "+fetched+", lastUpdateTime: '2026-01-01T00:00:00Z'}, "+ready+"}")
	w.api.Merge(t, kustomizationPath, "status: {lastAppliedRevision: "+applied+", "+ready+"}")
}

func TestComplianceIsAboutTheFetchedCommit(t *testing.T) {
	w := newFixture(t)
	if _, err := w.arm.Put(t.Context(), drone, "platform-qa", wanted(), true); err != nil {
		t.Fatal(err)
	}
	state := func() string {
		t.Helper()
		c, err := w.arm.Get(t.Context(), drone, "platform-qa")
		if err != nil {
			t.Fatal(err)
		}
		return c.Properties.ComplianceState
	}
	w.reconcile(t, "qa@sha1:aaaa", "qa@sha1:aaaa")
	if got := state(); got != "Compliant" {
		t.Error(got)
	}
	w.reconcile(t, "qa@sha1:bbbb", "qa@sha1:aaaa")
	if got := state(); got != "Pending" {
		t.Error(got)
	}
	w.reconcile(t, "qa@sha1:bbbb", "qa@sha1:bbbb")
	w.api.Put(t, `
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: app, namespace: flux-system, labels: {kustomize.toolkit.fluxcd.io/name: platform-qa-platform-qa, kustomize.toolkit.fluxcd.io/namespace: flux-system}}
spec: {sourceRef: {kind: GitRepository, name: app}}
status: {conditions: [{type: Ready, status: "False", reason: ArtifactFailed, message: no such folder, lastTransitionTime: "2026-01-01T00:00:00Z"}]}`)
	if got := state(); got != "Non-Compliant" {
		t.Error(got)
	}
	c, err := w.arm.Get(t.Context(), drone, "platform-qa")
	if err != nil {
		t.Fatal(err)
	}
	last := c.Properties.Statuses[len(c.Properties.Statuses)-1]
	if last.Name != "app" || last.AppliedBy == nil || last.AppliedBy.Name != "platform-qa-platform-qa" || last.StatusConditions[0].Message != "no such folder" {
		t.Errorf("%+v", last)
	}
	if *c.Properties.SourceSyncedCommitID != "qa@sha1:bbbb" || c.Properties.SourceUpdatedAt == nil {
		t.Errorf("%+v", c.Properties)
	}
}

func TestPatchChangesOnlyWhatItNames(t *testing.T) {
	w := newFixture(t)
	if _, err := w.arm.Put(t.Context(), drone, "platform-qa", wanted(), true); err != nil {
		t.Fatal(err)
	}
	changed, err := w.arm.Patch(t.Context(), drone, "platform-qa", map[string]any{
		"suspend":       true,
		"gitRepository": map[string]any{"repositoryRef": map[string]any{"branch": nil, "tag": "v1"}},
		"kustomizations": map[string]any{
			"platform-qa": nil, "other": map[string]any{"path": "east-us"},
		},
	}, true)
	if err != nil {
		t.Fatal(err)
	}
	p := changed.Properties
	if p.ComplianceState != "Suspended" || *p.GitRepository.RepositoryRef.Tag != "v1" || p.GitRepository.RepositoryRef.Branch != nil || *p.GitRepository.SyncIntervalInSeconds != 10 {
		t.Errorf("%+v", p)
	}
	if diff := cmp.Diff([]string{
		"kustomize.toolkit.fluxcd.io/v1/namespaces/flux-system/kustomizations/platform-qa-other",
		repositoryPath, "v1/namespaces/flux-system", secretPath,
	}, w.api.Paths()); diff != "" {
		t.Error(diff)
	}
	if data := w.api.Get(t, secretPath)["data"].(map[string]any); data["password"] != "czNjcmV0" {
		t.Errorf("the credentials changed: %v", data)
	}
}

// TestPatchKeepsCredentialsThatNothingShows keeps a key next to a certificate
// that is shown, and a key of which nothing is.
func TestPatchKeepsCredentialsThatNothingShows(t *testing.T) {
	encode := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	for key, set := range map[string]func(*armapi.Properties){
		"password": func(p *armapi.Properties) { p.GitRepository.HTTPSCACert = ptr(encode("CERT")) },
		"identity": func(p *armapi.Properties) {
			p.GitRepository.URL, p.GitRepository.HTTPSUser = "ssh://git@example.com/a/b", nil
			p.ProtectedSettings = map[string]string{"sshPrivateKey": encode("KEY")}
		},
	} {
		w := newFixture(t)
		p := wanted()
		set(&p)
		if _, err := w.arm.Put(t.Context(), drone, "platform-qa", p, true); err != nil {
			t.Fatal(err)
		}
		before := w.api.Get(t, secretPath)["data"].(map[string]any)
		if _, err := w.arm.Patch(t.Context(), drone, "platform-qa", map[string]any{"suspend": true}, true); err != nil {
			t.Fatal(err)
		}
		after, _ := w.api.Get(t, secretPath)["data"].(map[string]any)
		if diff := cmp.Diff(before, after); diff != "" || after[key] == nil {
			t.Errorf("%s: %s", key, diff)
		}
		if spec := w.api.Get(t, repositoryPath)["spec"].(map[string]any); spec["secretRef"] == nil {
			t.Errorf("%s: the repository is without its secret: %v", key, spec)
		}
	}
}

func TestDeleteWaitsForTheCleanup(t *testing.T) {
	w := newFixture(t)
	if _, err := w.arm.Put(t.Context(), drone, "platform-qa", wanted(), true); err != nil {
		t.Fatal(err)
	}
	w.api.Merge(t, kustomizationPath, "metadata: {finalizers: [finalizers.fluxcd.io]}")
	response, _ := w.request(t, http.MethodDelete, configurations+"/platform-qa"+version, "")
	operation := response.Header.Get("Azure-AsyncOperation")
	if response.StatusCode != http.StatusAccepted || operation == "" || response.Header.Get("Location") == "" {
		t.Fatalf("%s %v", response.Status, response.Header)
	}
	status := func() any {
		_, body := w.request(t, http.MethodGet, strings.TrimPrefix(operation, w.url), "")
		return body["status"]
	}
	if got := status(); got != "InProgress" {
		t.Error(got)
	}
	w.start(t) // the operation goes on without the emulator that began it
	operation = w.url + operation[strings.Index(operation, "/subscriptions"):]
	w.api.Merge(t, kustomizationPath, "metadata: {finalizers: null}")
	if got := status(); got != "Succeeded" {
		t.Error(got)
	}
	if diff := cmp.Diff([]string{"v1/namespaces/flux-system"}, w.api.Paths()); diff != "" {
		t.Error(diff)
	}
	if err := w.arm.Delete(t.Context(), drone, "platform-qa", false, true); err != nil {
		t.Errorf("deleted twice: %v", err)
	}
}

func TestDeleteByForceDoesNotWait(t *testing.T) {
	w := newFixture(t)
	if _, err := w.arm.Put(t.Context(), drone, "platform-qa", wanted(), true); err != nil {
		t.Fatal(err)
	}
	w.api.Merge(t, kustomizationPath, "metadata: {finalizers: [finalizers.fluxcd.io]}")
	if err := w.arm.Delete(t.Context(), drone, "platform-qa", true, true); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"v1/namespaces/flux-system"}, w.api.Paths()); diff != "" {
		t.Error(diff)
	}
}

// A configuration that came by other ways, as the sandbox's first ones do.
const foreign = `
apiVersion: v1
kind: Secret
metadata: {name: platform-dev-auth, namespace: flux-system}
data: {username: Zmx1eA==, password: czNjcmV0}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: platform-dev, namespace: flux-system, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {url: "http://localhost:1/kalypso/gitops", interval: 10s, ref: {branch: dev}, secretRef: {name: platform-dev-auth}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: platform-dev-platform-dev, namespace: flux-system}
spec: {sourceRef: {kind: GitRepository, name: platform-dev}, path: dev, interval: 10s, prune: true}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: mine, namespace: flux-system}
spec: {url: "http://localhost:1/kalypso/gitops", interval: 10s, ref: {branch: dev}}
`

func TestListHasWhatLooksLikeAConfiguration(t *testing.T) {
	w := newFixture(t)
	w.api.Put(t, foreign)
	if _, err := w.arm.Put(t.Context(), armapi.Cluster{ResourceGroup: group, Type: armapi.ManagedClusters, Name: "drone"}, "managed", wanted(), true); err != nil {
		t.Fatal(err)
	}
	all, err := w.arm.List(t.Context(), drone)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 1 || all[0].Name != "platform-dev" || *all[0].Properties.GitRepository.HTTPSUser != "flux" || !all[0].Properties.Kustomizations["platform-dev"].Prune {
		t.Errorf("%+v", all)
	}
	managed, err := w.arm.List(t.Context(), armapi.Cluster{ResourceGroup: strings.ToUpper(group), Type: armapi.ManagedClusters, Name: "DRONE"})
	if err != nil {
		t.Fatal(err)
	}
	if len(managed) != 1 || !strings.Contains(managed[0].ID, "/Microsoft.ContainerService/managedClusters/drone/") {
		t.Errorf("%+v", managed)
	}
	if _, err := w.arm.Put(t.Context(), drone, "managed", wanted(), true); err == nil || !strings.Contains(client.Message(err), "(Conflict)") {
		t.Errorf("one name in two roles: %v", err)
	}
}

func TestAStoppedClusterIsShownAsItWas(t *testing.T) {
	w := newFixture(t)
	w.api.Put(t, "apiVersion: v1\nkind: Node\nmetadata: {name: drone}\nstatus: {nodeInfo: {kubeletVersion: v1.35.4}, capacity: {cpu: '2'}}")
	if _, err := w.arm.Put(t.Context(), drone, "platform-qa", wanted(), true); err != nil {
		t.Fatal(err)
	}
	w.reconcile(t, "qa@sha1:aaaa", "qa@sha1:aaaa")
	before, err := w.arm.List(t.Context(), drone)
	if err != nil {
		t.Fatal(err)
	}
	here, err := w.arm.ConnectedCluster(t.Context(), group, "drone")
	if err != nil || here.Properties.ConnectivityStatus != "Connected" || here.Properties.KubernetesVersion != "1.35.4" || here.Properties.TotalCoreCount != 2 {
		t.Fatalf("%+v %v", here, err)
	}

	w.clusters.clients = nil
	w.start(t)
	after, err := w.arm.List(t.Context(), drone)
	if err != nil {
		t.Fatal(err)
	}
	if after[0].Properties.ComplianceState != "Compliant" {
		t.Errorf("%+v", after[0].Properties)
	}
	for _, all := range [][]armapi.Configuration{before, after} {
		all[0].Properties.StatusUpdatedAt = nil
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Error(diff)
	}
	clusters, err := w.arm.ListConnectedClusters(t.Context(), "")
	if err != nil || len(clusters) != 1 || clusters[0].Properties.ConnectivityStatus != "Offline" || clusters[0].Properties.LastConnectivity == nil {
		t.Errorf("%+v %v", clusters, err)
	}
	if _, err := w.arm.Put(t.Context(), drone, "platform-qa", wanted(), true); err == nil || !strings.Contains(client.Message(err), "(ClusterOffline)") {
		t.Errorf("written to a cluster that is stopped: %v", err)
	}
}

// Not knowing a cluster is not the same as knowing that it has nothing.
func TestAClusterThatWasNeverSeenIsAnError(t *testing.T) {
	w := newFixture(t)
	w.clusters.clients = nil
	w.start(t)
	if all, err := w.arm.List(t.Context(), drone); err == nil {
		t.Errorf("%+v", all)
	}
}

func TestAnAPIServerThatDoesNotAnswerIsOffline(t *testing.T) {
	w := newFixture(t)
	w.api.Put(t, foreign)
	if _, err := w.arm.List(t.Context(), drone); err != nil {
		t.Fatal(err)
	}
	w.api.CloseClientConnections()
	w.api.Close()
	c, err := w.arm.ConnectedCluster(t.Context(), group, "drone")
	if err != nil || c.Properties.ConnectivityStatus != "Offline" {
		t.Errorf("%+v %v", c, err)
	}
	if all, err := w.arm.List(t.Context(), drone); err != nil || len(all) != 1 {
		t.Errorf("%+v %v", all, err)
	}
	files, err := os.ReadDir(w.dir)
	if err != nil || len(files) != 1 || files[0].Name() != "drone.json" {
		t.Errorf("%v %v", files, err)
	}
}
