package gitops

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
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

func TestNotifierTakesOnlySignedEvents(t *testing.T) {
	asked := make(chan bool, 10)
	n := &Notifier{Secret: "s", Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Followers: func() []Follower {
		asked <- true
		return nil
	}}
	handler := n.Handler()
	post := func(event, body, secret string) int {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(body))
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		r.Header.Set("X-Gitea-Event", event)
		r.Header.Set("X-Gitea-Signature", hex.EncodeToString(mac.Sum(nil)))
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w.Code
	}
	for _, c := range []struct {
		name, event, body, secret string
		want                      int
		pokes                     bool
	}{
		{"push", "push", `{"ref":"refs/heads/dev","repository":{"full_name":"a/b"}}`, "s", http.StatusAccepted, true},
		{"other secret", "push", `{"ref":"refs/heads/dev"}`, "x", http.StatusUnauthorized, false},
		{"other event", "issues", `{}`, "s", http.StatusNoContent, false},
		{"not JSON", "push", `{`, "s", http.StatusBadRequest, false},
		{"too large", "push", strings.Repeat(" ", forge.MaxWebhook+1), "s", http.StatusRequestEntityTooLarge, false},
	} {
		if got := post(c.event, c.body, c.secret); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
		if c.pokes {
			select {
			case <-asked:
			case <-time.After(10 * time.Second):
				t.Errorf("%s: no cluster was told", c.name)
			}
		}
	}
	if len(asked) > 0 {
		t.Error("a cluster was told of an event that was refused")
	}
}
