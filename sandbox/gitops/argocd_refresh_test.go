package gitops

import (
	"context"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

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
func application(url string) map[string]any {
	return map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
		"metadata": map[string]any{"name": "dev", "namespace": "argocd"},
		"spec":     map[string]any{"source": map[string]any{"repoURL": url, "targetRevision": "dev"}},
	}
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
func comparing(t *testing.T, commits ...string) (*fakeAPI, func(ctx context.Context, commit string) error) {
	t.Helper()
	api, client := newFakeAPI(t)
	if err := testArgoCD(t).settings().Install(t.Context(), client); err != nil {
		t.Fatal(err)
	}
	api.put(devPath, application("http://localhost:1/kalypso/gitops"))
	api.writes = nil
	api.onWrite = comparedWith(commits...)
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
			if len(api.writes) != c.writes {
				t.Errorf("asked %d times, want %d", len(api.writes), c.writes)
			}
		})
	}
}

func TestRefreshArgoCDLeavesOthersAlone(t *testing.T) {
	api, refresh := comparing(t, "new")
	api.put(devPath, application("http://localhost:1/kalypso/other"))
	if err := refresh(t.Context(), "new"); err != nil {
		t.Fatal(err)
	}
	if len(api.writes) != 0 {
		t.Errorf("wrote %q", api.writes)
	}
}

func TestRefreshArgoCDEndsWithItsContext(t *testing.T) {
	_, refresh := comparing(t) // nobody compares
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := refresh(ctx, "new"); err == nil || !strings.Contains(err.Error(), "Application dev") {
		t.Errorf("error is %v", err)
	}
}
