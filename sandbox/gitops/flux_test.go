package gitops

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
)

func TestSubscriptionIsWhatArcMakes(t *testing.T) {
	got, err := Subscription{
		Name: "platform-qa", URL: "http://localhost:3000/kalypso/kalypso-platform-gitops", Branch: "qa", Path: "west-us",
		User: "flux", Token: "t0ken", Interval: 10 * time.Second,
	}.Manifests()
	if err != nil {
		t.Fatal(err)
	}
	const want = `
apiVersion: v1
kind: Secret
metadata: {name: platform-qa-auth, namespace: flux-system}
type: Opaque
stringData: {username: flux, password: t0ken}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: platform-qa, namespace: flux-system}
spec:
  interval: 10s
  url: http://localhost:3000/kalypso/kalypso-platform-gitops
  ref: {branch: qa}
  secretRef: {name: platform-qa-auth}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: platform-qa-platform-qa, namespace: flux-system}
spec:
  interval: 10s
  retryInterval: 10s
  path: west-us
  prune: true
  sourceRef: {kind: GitRepository, name: platform-qa}
`
	decode := func(b []byte) []map[string]any {
		objects, err := cluster.Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		var all []map[string]any
		for _, o := range objects {
			all = append(all, o.Object)
		}
		return all
	}
	if diff := cmp.Diff(decode([]byte(want)), decode(got)); diff != "" {
		t.Error(diff)
	}
}

func TestFollows(t *testing.T) {
	for _, c := range []struct {
		spec, repository, branch string
		want                     bool
	}{
		{"url: http://localhost:1/kalypso/gitops\nref: {branch: dev}", "kalypso/gitops", "dev", true},
		{"url: http://127.0.0.1:1/kalypso/gitops.git\nref: {branch: dev}", "kalypso/gitops", "dev", true},
		{"url: http://localhost:1/kalypso/gitops/\nref: {branch: dev}", "kalypso/gitops", "dev", true},
		{"url: http://localhost:1/kalypso/gitops\nref: {branch: qa}", "kalypso/gitops", "dev", false},
		{"url: http://localhost:1/kalypso/gitops\nref: {tag: v1}", "kalypso/gitops", "dev", false},
		{"url: http://localhost:1/kalypso/other-gitops\nref: {branch: dev}", "kalypso/gitops", "dev", false},
		{"url: http://localhost:1/kalypso/gitops-2\nref: {branch: dev}", "kalypso/gitops", "dev", false},
	} {
		var spec map[string]any
		if err := yaml.Unmarshal([]byte(c.spec), &spec); err != nil {
			t.Fatal(err)
		}
		o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
		if got := follows(o, c.repository, c.branch); got != c.want {
			t.Errorf("%q follows %s@%s: %v", c.spec, c.repository, c.branch, got)
		}
	}
}

// definitions has one kind, whose names are accepted. It is established after
// a while, after a change, or never.
type definitions struct {
	dynamic.ResourceInterface
	after    time.Duration // 0: not by itself
	onChange bool
	began    time.Time
	patches  []string
}

func (d *definitions) Get(context.Context, string, metav1.GetOptions, ...string) (*unstructured.Unstructured, error) {
	status, reason := "False", "Installing"
	if d.onChange && len(d.patches) > 0 || d.after > 0 && time.Since(d.began) >= d.after {
		status, reason = "True", "InitialNamesAccepted"
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "buckets"},
		"status": map[string]any{"conditions": []any{map[string]any{
			"type": "Established", "status": status, "reason": reason, "message": "the initial names have been accepted",
		}}},
	}}, nil
}

func (d *definitions) Patch(_ context.Context, _ string, _ types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string) (*unstructured.Unstructured, error) {
	d.patches = append(d.patches, string(data))
	return nil, nil
}

func TestAKindThatIsBeingEstablishedIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &definitions{after: nudgeAfter / 2, began: time.Now()}
		if err := established(t.Context(), d, "buckets"); err != nil || len(d.patches) > 0 {
			t.Errorf("%v, changed %q", err, d.patches)
		}
	})
}

func TestAKindThatIsStuckIsNudged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &definitions{onChange: true, began: time.Now()}
		if err := established(t.Context(), d, "buckets"); err != nil {
			t.Error(err)
		}
		if len(d.patches) != 1 || !strings.Contains(d.patches[0], "kalypso.dev/nudged") {
			t.Errorf("changed %q", d.patches)
		}
		if took := time.Since(d.began); took > 2*nudgeAfter {
			t.Errorf("took %s", took)
		}
	})
}

func TestAKindThatIsNeverEstablishedIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &definitions{began: time.Now()}
		err := established(t.Context(), d, "buckets")
		if err == nil || !strings.Contains(err.Error(), "definition buckets") || !strings.Contains(err.Error(), "Installing") {
			t.Error(err)
		}
		// each change is another one, or the API server would not see it
		seen := map[string]bool{}
		for _, p := range d.patches {
			seen[p] = true
		}
		if len(d.patches) < 2 || len(seen) != len(d.patches) {
			t.Errorf("%d changes, %d different", len(d.patches), len(seen))
		}
	})
}
