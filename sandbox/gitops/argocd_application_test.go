package gitops

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kalypso-dev/kalypso/internal/testkit/kubefake"
	"github.com/kalypso-dev/kalypso/sandbox/cluster"
)

var largeSubscription = ArgoCDSubscription{
	Repositories: []ArgoCDRepository{{URL: "http://localhost:3000/kalypso/kalypso-gitops", User: "flux", Token: "t0ken"}},
	Applications: []ArgoCDApplication{{Name: "dev", URL: "http://localhost:3000/kalypso/kalypso-gitops", Branch: "dev", Path: "large"}},
}

func TestArgoCDSubscriptionIsWhatTheDeployScriptMakes(t *testing.T) {
	got, err := largeSubscription.Manifests()
	if err != nil {
		t.Fatal(err)
	}
	const want = `
apiVersion: v1
kind: Secret
metadata:
  name: kalypso-gitops
  namespace: argocd
  labels: {argocd.argoproj.io/secret-type: repository}
type: Opaque
stringData:
  type: git
  url: http://localhost:3000/kalypso/kalypso-gitops
  username: flux
  password: t0ken
  forceHttpBasicAuth: "true"
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: dev, namespace: argocd}
spec:
  destination: {server: https://kubernetes.default.svc, namespace: argocd}
  project: default
  source:
    path: large
    repoURL: http://localhost:3000/kalypso/kalypso-gitops
    targetRevision: dev
    directory: {recurse: true, include: '*.yaml'}
  syncPolicy:
    automated: {prune: true, selfHeal: true, allowEmpty: false}
    syncOptions: [CreateNamespace=true]
    retry: {limit: 5, refresh: true, backoff: {duration: 2s, factor: 2, maxDuration: 5s}}
`
	if diff := cmp.Diff(documents(t, want), documents(t, string(got))); diff != "" {
		t.Error(diff)
	}
}

func documents(t *testing.T, text string) []map[string]any {
	t.Helper()
	objects, err := cluster.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var all []map[string]any
	for _, o := range objects {
		all = append(all, o.Object)
	}
	return all
}

func TestRepositoryName(t *testing.T) {
	for url, want := range map[string]string{
		"http://localhost:3000/kalypso/app-gitops":      "app-gitops",
		"http://localhost:3000/kalypso/App-GitOps.git/": "app-gitops",
	} {
		if got := repositoryName(url); got != want {
			t.Errorf("%s is called %s, want %s", url, got, want)
		}
	}
}

func TestCompared(t *testing.T) {
	const spec = "spec: {source: {repoURL: u, path: large, targetRevision: dev}}\n"
	const now = "sync: {comparedTo: {source: {repoURL: u, path: large, targetRevision: dev}}}, reconciledAt: '2026-01-01T00:00:00Z'"
	for name, c := range map[string]struct{ object, reason string }{
		"new":            {spec, "not compared"},
		"compared":       {spec + "status: {" + now + "}", ""},
		"folder to come": {spec + "status: {" + now + ", conditions: [{type: ComparisonError, message: 'x: large: app path does not exist'}]}", ""},
		"no access":      {spec + "status: {" + now + ", conditions: [{type: ComparisonError, message: 'authentication required'}]}", "authentication required"},
		"bad spec":       {spec + "status: {conditions: [{type: InvalidSpecError, message: 'no project'}]}", "no project"},
		"only a warning": {spec + "status: {" + now + ", conditions: [{type: OrphanedResourceWarning, message: m}]}", ""},
		"other branch":   {"spec: {source: {repoURL: u, path: large, targetRevision: stage}}\nstatus: {" + now + "}", "not compared"},
	} {
		t.Run(name, func(t *testing.T) {
			var o map[string]any
			if err := yaml.Unmarshal([]byte(c.object), &o); err != nil {
				t.Fatal(err)
			}
			err := compared(&unstructured.Unstructured{Object: o})
			if c.reason == "" && err != nil || c.reason != "" && (err == nil || !strings.Contains(err.Error(), c.reason)) {
				t.Errorf("error is %v, want %q", err, c.reason)
			}
		})
	}
}

func TestSubscribeArgoCDWaits(t *testing.T) {
	api := kubefake.New(t)
	client := api.Client(t)
	if err := testArgoCD(t).settings().Install(t.Context(), client); err != nil {
		t.Fatal(err)
	}
	err := SubscribeArgoCD(t.Context(), client, largeSubscription, 100*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "Application dev") {
		t.Fatalf("error is %v", err)
	}
	api.Written = func(path string, o map[string]any) {
		if strings.HasSuffix(path, "/applications/dev") {
			source := o["spec"].(map[string]any)["source"]
			o["status"] = map[string]any{"reconciledAt": "now", "sync": map[string]any{"comparedTo": map[string]any{"source": source}}}
		}
	}
	if err := SubscribeArgoCD(t.Context(), client, largeSubscription, 10*time.Second); err != nil {
		t.Error(err)
	}
}

const devPath = "argoproj.io/v1alpha1/namespaces/argocd/applications/dev"

func TestAppFollows(t *testing.T) {
	for _, c := range []struct {
		spec, repository, branch string
		want                     bool
	}{
		{"source: {repoURL: 'http://localhost:1/kalypso/gitops', targetRevision: dev}", "kalypso/gitops", "dev", true},
		{"source: {repoURL: 'http://127.0.0.1:1/kalypso/gitops.git', targetRevision: dev}", "kalypso/gitops", "dev", true},
		{"source: {repoURL: 'http://localhost:1/kalypso/gitops/', targetRevision: refs/heads/dev}", "kalypso/gitops", "dev", true},
		{"source: {repoURL: 'http://localhost:1/kalypso/gitops', targetRevision: HEAD}", "kalypso/gitops", "dev", true},
		{"source: {repoURL: 'http://localhost:1/kalypso/gitops'}", "kalypso/gitops", "dev", true},
		{"sources: [{repoURL: 'http://x/y', targetRevision: dev}, {repoURL: 'http://localhost:1/kalypso/gitops', targetRevision: dev}]", "kalypso/gitops", "dev", true},
		{"source: {repoURL: 'http://localhost:1/kalypso/gitops', targetRevision: stage}", "kalypso/gitops", "dev", false},
		{"source: {repoURL: 'http://localhost:1/kalypso/other-gitops', targetRevision: dev}", "kalypso/gitops", "dev", false},
		{"source: {repoURL: 'http://localhost:1/kalypso/gitops-2', targetRevision: dev}", "kalypso/gitops", "dev", false},
		{"project: default", "kalypso/gitops", "dev", false},
	} {
		var spec map[string]any
		if err := yaml.Unmarshal([]byte(c.spec), &spec); err != nil {
			t.Fatal(err)
		}
		o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
		if got := appFollows(o, c.repository, c.branch); got != c.want {
			t.Errorf("%q follows %s@%s: %v", c.spec, c.repository, c.branch, got)
		}
	}
}

// application is one that follows a repository's branch dev.
func application(repository string) string {
	return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: dev, namespace: argocd}\n" +
		"spec: {source: {repoURL: 'http://localhost:1/kalypso/" + repository + "', targetRevision: dev}}\n"
}

// comparedWith is an Argo CD that compares the application at each request,
// and sees the next of the commits.
func comparedWith(commits ...string) func(path string, o map[string]any) {
	return func(path string, o map[string]any) {
		if path != devPath || len(commits) == 0 {
			return
		}
		o["status"] = map[string]any{"sync": map[string]any{"revision": commits[0]}}
		delete(o["metadata"].(map[string]any), "annotations")
		commits = commits[1:]
	}
}

// comparing makes the fake API server have one application and an Argo CD
// that compares it at each request and then sees the next of the commits.
func comparing(t *testing.T, commits ...string) (*kubefake.API, func(ctx context.Context, commit string) error) {
	t.Helper()
	api := kubefake.New(t)
	client := api.Client(t)
	if err := testArgoCD(t).settings().Install(t.Context(), client); err != nil {
		t.Fatal(err)
	}
	api.Put(t, application("gitops"))
	api.Writes = nil
	api.Written = comparedWith(commits...)
	return api, func(ctx context.Context, commit string) error {
		return RefreshArgoCD(ctx, client, "kalypso/gitops", "dev", commit)
	}
}

func TestRefreshArgoCD(t *testing.T) {
	for name, c := range map[string]struct {
		seen   []string
		writes int
	}{
		"seen at once":                      {[]string{"new"}, 1},
		"the comparison had begun before":   {[]string{"old", "new"}, 2},
		"a later commit is there, for good": {[]string{"newer", "newer", "newer", "newer"}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			api, refresh := comparing(t, c.seen...)
			if err := refresh(t.Context(), "new"); err != nil {
				t.Fatal(err)
			}
			if len(api.Writes) != c.writes {
				t.Errorf("asked %d times, want %d", len(api.Writes), c.writes)
			}
		})
	}
}

func TestRefreshArgoCDLeavesOthersAlone(t *testing.T) {
	api, refresh := comparing(t, "new")
	api.Put(t, application("other"))
	if err := refresh(t.Context(), "new"); err != nil {
		t.Fatal(err)
	}
	if len(api.Writes) != 0 {
		t.Errorf("wrote %q", api.Writes)
	}
}

func TestRefreshArgoCDEndsWithItsContext(t *testing.T) {
	_, refresh := comparing(t) // nothing compares
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := refresh(ctx, "new"); err == nil || !strings.Contains(err.Error(), "Application dev") {
		t.Errorf("error is %v", err)
	}
}

// TestSubscribedClusterStaysInItsWave, also when the sandbox starts again, and no other branch stays.
func TestSubscribedClusterStaysInItsWave(t *testing.T) {
	const wave = "kalypso-rollout/dev/large/canary"
	api := kubefake.New(t, gitRepository, kustomizationKind, applicationKind)
	api.Written = func(path string, o map[string]any) {
		switch {
		case strings.Contains(path, "/applications/"):
			o["status"] = map[string]any{"reconciledAt": "now", "sync": map[string]any{"comparedTo": map[string]any{"source": o["spec"].(map[string]any)["source"]}}}
		case strings.Contains(path, "/gitrepositories/"):
			o["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}}
		}
	}
	client := api.Client(t)
	api.Put(t, "{apiVersion: v1, kind: Namespace, metadata: {name: argocd}}\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: flux-system}}\n")
	flux := Subscription{Name: "dev", URL: largeSubscription.Repositories[0].URL, Branch: "dev", Path: "large", User: "flux", Token: "t0ken", Interval: time.Minute}
	for name, c := range map[string]struct {
		path, patch string
		field       []string
		subscribe   func() error
	}{
		"Flux": {
			"source.toolkit.fluxcd.io/v1/namespaces/flux-system/gitrepositories/dev", "spec: {ref: {branch: %s}}", []string{"spec", "ref", "branch"},
			func() error { return Subscribe(t.Context(), client, flux, 10*time.Second) },
		},
		"Argo CD": {
			devPath, "spec: {source: {targetRevision: %s}}", []string{"spec", "source", "targetRevision"},
			func() error { return SubscribeArgoCD(t.Context(), client, largeSubscription, 10*time.Second) },
		},
	} {
		for _, branch := range [][2]string{{"", "dev"}, {wave, wave}, {"other", "dev"}} {
			if branch[0] != "" {
				api.Merge(t, c.path, fmt.Sprintf(c.patch, branch[0]))
			}
			if err := c.subscribe(); err != nil {
				t.Fatal(err)
			}
			if now, _, _ := unstructured.NestedString(api.Get(t, c.path), c.field...); now != branch[1] {
				t.Errorf("%s: set to %q it follows %q, want %q", name, branch[0], now, branch[1])
			}
		}
	}
}
