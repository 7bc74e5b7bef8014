package controller

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kalypso-dev/kalypso/internal/testkit/forgefake"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

const (
	platform = "acme/platform"
	app      = "acme/app"
	gitOps   = "acme/gitops"
	secretly = "s3cret"
)

// object words a document of the platform model. spec is in YAML's flow style.
func object(kind, name, labels, spec string) string {
	return fmt.Sprintf("apiVersion: scheduler.kalypso.io/v1alpha1\nkind: %s\nmetadata: {name: %s, labels: {%s}}\nspec: %s\n---\n", kind, name, labels, spec)
}

func folder(repo, branch string) string {
	return fmt.Sprintf("repo: %q, branch: %s, path: .", forgefake.URL(repo), branch)
}

func environmentFile(name string) string {
	return object("Environment", name, "", "{controlPlane: {"+folder(platform, name)+"}}")
}

func workload(environments ...string) string {
	var targets []string
	for _, e := range environments {
		targets = append(targets, fmt.Sprintf("{name: %s, environment: %s, manifests: {%s}}", e, e, folder(app, e)))
	}
	return object("Workload", "web", "", "{deploymentTargets: ["+strings.Join(targets, ", ")+"]}")
}

func template(kind, body string) string {
	return "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Template\nmetadata: {name: " + kind + "}\nspec:\n  type: " + kind + "\n  manifests:\n  - |\n    " + body + "\n---\n"
}

// config is the platform configuration.
func config(region string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, labels: {platform-config: \"true\"}}\ndata: {region: " + region + "}\n"
}

// newPlatform is a platform with environments and one workload in each.
func newPlatform(environments ...string) *forgefake.Forge {
	f := forgefake.New()
	shared := map[string]string{
		"templates/t.yaml": template("reconciler", "name: {{ .DeploymentTargetName }}") +
			template("namespace", "name: {{ .Namespace }}") + template("config", "name: {{ .ConfigData.region }}"),
		"registrations/web.yaml": object("WorkloadRegistration", "web", "", "{workload: {"+folder(app, "main")+"}, workspace: team}"),
	}
	for _, e := range environments {
		shared[".environments/"+e+".yaml"] = environmentFile(e)
		f.Push(platform, e, map[string]string{
			"base-repo.yaml":   object("BaseRepo", "main", "", "{"+folder(platform, "main")+"}"),
			"gitops-repo.yaml": object("GitOpsRepo", "gitops", "", "{"+folder(gitOps, e)+"}"),
			"cluster.yaml":     object("ClusterType", "drone", "", "{reconciler: reconciler, namespaceService: namespace, configType: config}"),
			"policy.yaml":      object("SchedulingPolicy", "all", "", "{deploymentTargetSelector: {}, clusterTypeSelector: {}}"),
			"config.yaml":      config("east"),
		})
		f.Push(gitOps, e, map[string]string{"README.md": "x"})
	}
	f.Push(platform, "main", shared)
	f.Push(app, "main", map[string]string{"workload.yaml": workload(environments...)})
	return f
}

// running is a Controller in a synctest bubble.
type running struct {
	*testing.T
	*Controller
	*Server
	forge *forgefake.Forge
	log   *safeBuffer
}

// serverOf is the Server of a single Controller.
func serverOf(w *Controller) *Server {
	return NewServer(ServerOptions{Controllers: []*Controller{w}, WebhookSecret: secretly, Metrics: w.options.Metrics, Log: w.log})
}

// safeBuffer is a log that is read while it is written.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// bubble runs a Controller where time passes only while all wait, until test
// returns.
func bubble(t *testing.T, f *forgefake.Forge, change func(*Options), test func(*running)) {
	synctest.Test(t, func(t *testing.T) {
		r, stop := start(t, f, change)
		synctest.Wait()
		test(r)
		stop()
	})
}

// newRunning makes a Controller that is to be run.
func newRunning(t *testing.T, f *forgefake.Forge, change func(*Options)) *running {
	t.Helper()
	log := &safeBuffer{}
	options := Options{
		Forge: f, ControlPlane: model.Reference{Repo: forgefake.URL(platform)},
		Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelInfo})),
	}
	if change != nil {
		change(&options)
	}
	w, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	return &running{t, w, serverOf(w), f, log}
}

// start starts a Controller in a bubble. stop returns when it has ended.
func start(t *testing.T, f *forgefake.Forge, change func(*Options)) (r *running, stop func()) {
	r = newRunning(t, f, change)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Controller.Run(ctx) }()
	return r, func() {
		t.Helper()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Run ended with %v", err)
		}
	}
}

// push pushes as a user, without a webhook.
func (r *running) push(repo, branch string, files map[string]string) {
	r.forge.Push(repo, branch, files)
}

// tell sends a webhook and waits until all is quiet, without letting time
// pass.
func (r *running) notify(kind, repo, branch string) {
	r.Helper()
	body := webhook(r.T, kind, repo, branch)
	if code := post(r.Webhook(), kind, body, sign(secretly, body)); code != http.StatusAccepted {
		r.Fatalf("webhook answered %d", code)
	}
	synctest.Wait()
}

// webhook is the body of a webhook.
func webhook(t *testing.T, kind, repo, branch string) []byte {
	t.Helper()
	payload := map[string]any{
		"repository":   map[string]any{"clone_url": forgefake.URL(repo)},
		"pull_request": map[string]any{"base": map[string]any{"ref": branch}},
	}
	switch kind {
	case "push":
		payload["ref"] = "refs/heads/" + branch
	case "create", "delete":
		payload["ref"], payload["ref_type"] = branch, "branch"
	}
	body, err := json.Marshal(payload)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func sign(secret string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

func post(h http.Handler, kind string, body []byte, signature string) int {
	request := signed(kind, body)
	request.Header.Del("X-Gitea-Signature")
	if signature != "" {
		request.Header.Set("X-Gitea-Signature", signature)
	}
	return answered(h, request)
}

// signed is a webhook as a forge sends it.
func signed(kind string, body []byte) *http.Request {
	request := httptest.NewRequest(http.MethodPost, "/webhook", bytes.NewReader(body))
	request.Header.Set("X-Gitea-Event", kind)
	request.Header.Set("X-Gitea-Signature", sign(secretly, body))
	return request
}

func answered(h http.Handler, request *http.Request) int {
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, request)
	return answer.Code
}

// status returns an environment's status; a zero one when it is not followed.
func (r *running) status(name string) EnvironmentStatus {
	for _, s := range r.Status().Environments {
		if s.Name == name {
			return s
		}
	}
	return EnvironmentStatus{}
}

// pass lets time pass.
func (r *running) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
