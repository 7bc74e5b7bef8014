package controller

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kalypso-dev/kalypso/internal/testkit/forgefake"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// planes are two control planes behind one server, on one forge.
func planes(t *testing.T, f *forgefake.Forge, test func(d *Server, first, second *Controller)) {
	synctest.Test(t, func(t *testing.T) {
		metrics := NewMetrics()
		var all []*Controller
		for _, repo := range []string{platform, "acme/other"} {
			w, err := New(Options{
				Forge: f, ControlPlane: model.Reference{Repo: forgefake.URL(repo)}, Log: slog.New(slog.DiscardHandler), Metrics: metrics, Poll: time.Hour,
			})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, w)
			ended := make(chan struct{})
			go func() { defer close(ended); _ = w.Run(t.Context()) }()
			t.Cleanup(func() { <-ended })
		}
		synctest.Wait()
		test(NewServer(ServerOptions{Controllers: all, WebhookSecret: secretly, Metrics: metrics, Log: slog.New(slog.DiscardHandler)}), all[0], all[1])
	})
}

// newPlanes has two control planes that share a workload and a base.
func newPlanes() *forgefake.Forge {
	f := newPlatform("dev")
	other := map[string]string{}
	for name, content := range f.Files(platform, "dev") {
		other[name] = strings.NewReplacer("dev", "blue", gitOps, "acme/other-gitops").Replace(content)
	}
	f.Push("acme/other", "main", map[string]string{
		".environments/blue.yaml": object("Environment", "blue", "", "{controlPlane: {"+folder("acme/other", "blue")+"}}"),
	})
	f.Push("acme/other", "blue", other)
	f.Push("acme/other-gitops", "blue", map[string]string{"README.md": "x"})
	f.Push(app, "main", map[string]string{"workload.yaml": workload("dev", "blue")})
	return f
}

// TestSeveralControlPlanes: a webhook goes to those that it concerns.
func TestSeveralControlPlanes(t *testing.T) {
	f := newPlanes()
	planes(t, f, func(d *Server, first, second *Controller) {
		if len(f.AllPullRequests(gitOps)) != 1 || len(f.AllPullRequests("acme/other-gitops")) != 1 {
			t.Fatalf("%+v %+v", first.Status(), second.Status())
		}
		runs := func() [2]int {
			return [2]int{first.Status().Environments[0].Runs, second.Status().Environments[0].Runs}
		}
		tell := func(repo, branch string) {
			t.Helper()
			body := webhook(t, "push", repo, branch)
			if code := post(d.Webhook(), "push", body, sign(secretly, body)); code != http.StatusAccepted {
				t.Errorf("answered %d", code)
			}
			synctest.Wait()
		}
		before := runs()
		for _, step := range []struct {
			repo, branch  string
			first, second int
		}{
			{platform, "dev", 1, 0},
			{"acme/other", "blue", 0, 1},
			{app, "main", 1, 1},
			{platform, "main", 1, 1}, // the base of both
			{"acme/nobody", "main", 0, 0},
		} {
			tell(step.repo, step.branch)
			after := runs()
			if got := [2]int{after[0] - before[0], after[1] - before[1]}; got != [2]int{step.first, step.second} {
				t.Errorf("a push to %s@%s: runs %v", step.repo, step.branch, got)
			}
			before = after
		}
		code, body := get(d, "/status")
		var s Statuses
		if err := json.Unmarshal([]byte(body), &s); code != http.StatusOK || err != nil || len(s.ControlPlanes) != 2 || s.ControlPlanes[1].Environments[0].Name != "blue" {
			t.Errorf("status %d %s", code, body)
		}
		_, body = get(d, "/metrics")
		for _, want := range []string{`control_plane="acme/platform@main",environment="dev"`, `control_plane="acme/other@main",environment="blue"`} {
			if !strings.Contains(body, want) {
				t.Errorf("metrics have no %s", want)
			}
		}
	})
}

// get asks a server, with the secret.
func get(d *Server, path string) (int, string) {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Header.Set("Authorization", "Bearer "+secretly)
	answer := httptest.NewRecorder()
	d.Handler().ServeHTTP(answer, r)
	return answer.Code, answer.Body.String()
}
