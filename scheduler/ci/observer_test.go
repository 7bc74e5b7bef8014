package ci_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-dev/kalypso/scheduler/ci"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
)

const followed = "1111111111111111111111111111111111111111"

// answers serves bodies by path; what is not there is 404.
func answers(t *testing.T, bodies map[string]string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, ok := bodies[q.URL.Path]
		w.Header().Set("Content-Type", "application/json")
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			body = `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}`
		}
		if code, rest, isCode := strings.Cut(body, "|"); isCode {
			w.WriteHeader(map[string]int{"401": 401, "500": 500}[code])
			body = rest
		}
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func kubeconfig(t *testing.T, servers ...string) string {
	t.Helper()
	text := "apiVersion: v1\nkind: Config\nusers: [{name: u, user: {}}]\nclusters:\n"
	contexts := "contexts:\n"
	for i, server := range servers {
		name := string(rune('a' + i))
		text += "- {name: " + name + ", cluster: {server: \"" + server + "\"}}\n"
		contexts += "- {name: " + name + ", context: {cluster: " + name + ", user: u}}\n"
	}
	folder := t.TempDir()
	write(t, folder, map[string]string{"config": text + contexts})
	return filepath.Join(folder, "config")
}

// fluxLists are what an assignment brings: a source of the application's
// repository that a Kustomization has put on the cluster.
func fluxLists(ready string) map[string]string {
	meta := `"metadata": {"name": "shop", "namespace": "flux-system", "generation": 1, "labels": {"kustomize.toolkit.fluxcd.io/name": "platform", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}}`
	revision := "dev@sha1:" + followed
	list := func(kind, spec, status string) string {
		return `{"kind": "` + kind + `List", "apiVersion": "v1", "metadata": {}, "items": [{"apiVersion": "v1", "kind": "` + kind + `", ` + meta + `, "spec": ` + spec + `, "status": ` + status + `}]}`
	}
	condition := `"observedGeneration": 1, "conditions": [{"type": "Ready", "status": "` + ready + `", "reason": "X", "message": "why", "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z"}]`
	return map[string]string{
		"/apis/source.toolkit.fluxcd.io/v1/gitrepositories": list("GitRepository",
			`{"url": "http://forge/acme/gitops", "ref": {"branch": "dev"}}`,
			`{"artifact": {"revision": "`+revision+`"}, "observedGeneration": 1, "conditions": [{"type": "Ready", "status": "True", "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}`),
		"/apis/kustomize.toolkit.fluxcd.io/v1/kustomizations": list("Kustomization",
			`{"sourceRef": {"kind": "GitRepository", "name": "shop"}}`,
			`{"lastAppliedRevision": "`+revision+`", "lastAttemptedRevision": "`+revision+`", `+condition+`}`),
	}
}

var application = map[string]string{"/apis/argoproj.io/v1alpha1/applications": `{"kind": "ApplicationList", "apiVersion": "argoproj.io/v1alpha1", "metadata": {}, "items": [
	{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "shop", "namespace": "argocd"},
	 "spec": {"source": {"repoURL": "http://forge/acme/gitops", "targetRevision": "dev"}},
	 "status": {"sync": {"status": "Synced", "revision": "` + followed + `"}, "health": {"status": "Healthy"}}}]}`}

// TestClustersAreAsked: a cluster has Flux or Argo CD, or neither, and follows
// an application's repository because an assignment has brought that there.
func TestClustersAreAsked(t *testing.T) {
	e := ci.Environment{Kubeconfig: kubeconfig(t, answers(t, fluxLists("True")), answers(t, application), answers(t, nil))}
	o, err := e.Observer()
	if err != nil {
		t.Fatal(err)
	}
	source := fleet.Source{Repo: "http://forge/acme/gitops.git", Branch: "dev"}
	got, err := o.Observe(t.Context(), source)
	want := []fleet.Configuration{
		{Cluster: "a", Name: "shop", Commit: followed, State: fleet.Compliant},
		{Cluster: "b", Name: "shop", Commit: followed, State: fleet.Compliant},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	source.Branch = "qa"
	if got, err := o.Observe(t.Context(), source); len(got) > 0 || err != nil {
		t.Errorf("another branch: %v, %v", got, err)
	}
	e.Kubeconfig = kubeconfig(t, answers(t, fluxLists("False")))
	if o, err = e.Observer(); err != nil {
		t.Fatal(err)
	}
	source.Branch = "dev"
	if got, err = o.Observe(t.Context(), source); err != nil || len(got) != 1 || got[0].State != fleet.NonCompliant || !strings.Contains(got[0].Reason, "why") {
		t.Errorf("not ready: %+v, %v", got, err)
	}
	// a cluster that cannot be asked is not one that follows nothing
	e.Kubeconfig = kubeconfig(t, answers(t, map[string]string{"/apis/source.toolkit.fluxcd.io/v1/gitrepositories": `500|{}`}))
	if o, err = e.Observer(); err != nil {
		t.Fatal(err)
	}
	if got, err := o.Observe(t.Context(), source); err == nil {
		t.Errorf("a broken cluster: %v", got)
	}
}

func TestAzureIsAsked(t *testing.T) {
	row := `{"id": "/subscriptions/s/resourceGroups/g/providers/Microsoft.Kubernetes/connectedClusters/drone/providers/Microsoft.KubernetesConfiguration/fluxConfigurations/platform-dev",
		"name": "platform-dev", "properties": {"complianceState": "Compliant", "sourceSyncedCommitId": "dev@sha1:` + followed + `",
		"gitRepository": {"url": "http://forge/acme/gitops", "repositoryRef": {"branch": "dev"}}}}`
	const graph = "/providers/Microsoft.ResourceGraph/resources"
	source := fleet.Source{Repo: "http://forge/acme/gitops", Branch: "dev"}
	observe := func(body string) ([]fleet.Configuration, error) {
		t.Helper()
		o, err := ci.Environment{Arc: ci.Arc{Endpoint: answers(t, map[string]string{graph: body}), Token: "t", Subscription: "s"}}.Observer()
		if err != nil {
			t.Fatal(err)
		}
		return o.Observe(t.Context(), source)
	}
	got, err := observe(`{"totalRecords": 1, "count": 1, "data": [` + row + `], "resultTruncated": "false"}`)
	want := []fleet.Configuration{{Cluster: "drone", Name: "platform-dev", Commit: followed, State: fleet.Compliant}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	_, err = observe(`401|{"error": {"code": "InvalidAuthenticationToken", "message": "expired"}}`)
	if !errors.Is(err, ci.ErrDenied) || !strings.Contains(err.Error(), "(InvalidAuthenticationToken) expired") || !strings.Contains(ci.Hint(err), "KALYPSO_ARM_TOKEN") {
		t.Errorf("%v, hint %q", err, ci.Hint(err))
	}
}

func TestObserverSaysWhatIsMissing(t *testing.T) {
	empty := t.TempDir()
	write(t, empty, map[string]string{"config": "apiVersion: v1\nkind: Config\n"})
	for want, e := range map[string]ci.Environment{
		"KALYPSO_ARM_SUBSCRIPTION": {Arc: ci.Arc{ConfigDir: empty}},
		"KALYPSO_ARM_TOKEN":        {Arc: ci.Arc{Subscription: "s", Endpoint: "http://127.0.0.1:1"}},
		"KALYPSO_ARM_ENDPOINT":     {Arc: ci.Arc{Subscription: "s", Token: "t"}},
		"there is no cloud":        {Arc: ci.Arc{Subscription: "s", Cloud: "AzureMoon"}},
		"has no context":           {Kubeconfig: filepath.Join(empty, "config")},
		"KALYPSO_CI_KUBECONFIG":    {Kubeconfig: filepath.Join(empty, "nope")},
	} {
		if _, err := e.Observer(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", e, err, want)
		}
	}
}
