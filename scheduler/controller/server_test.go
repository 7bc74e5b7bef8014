package controller

import (
	"encoding/json"
	"errors"
	"fmt"
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

func idle(t *testing.T, secret string) *Server {
	t.Helper()
	w, err := New(Options{Forge: forgefake.New(), ControlPlane: model.Reference{Repo: forgefake.URL(platform)}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return NewServer(ServerOptions{Controllers: []*Controller{w}, WebhookSecret: secret, Log: slog.New(slog.DiscardHandler)})
}

func TestWebhookSignature(t *testing.T) {
	body := []byte(`{"ref": "refs/heads/main"}`)
	for name, test := range map[string]struct {
		secret, signature string
		body              []byte
		want              int
	}{
		"right":            {secretly, sign(secretly, body), body, http.StatusAccepted},
		"missing":          {secretly, "", body, http.StatusForbidden},
		"of other secret":  {secretly, sign("guess", body), body, http.StatusForbidden},
		"of other body":    {secretly, sign(secretly, []byte("{}")), body, http.StatusForbidden},
		"cut":              {secretly, sign(secretly, body)[:62], body, http.StatusForbidden},
		"no hex":           {secretly, strings.Repeat("z", 64), body, http.StatusForbidden},
		"no secret at all": {"", sign("", body), body, http.StatusForbidden},
		"no JSON":          {secretly, sign(secretly, []byte("x")), []byte("x"), http.StatusBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			if got := post(idle(t, test.secret).Webhook(), "push", test.body, test.signature); got != test.want {
				t.Errorf("answered %d, want %d", got, test.want)
			}
		})
	}
}

func TestWebhookTakesGitHubsSignature(t *testing.T) {
	body := `{"ref": "refs/heads/main"}`
	r := httptest.NewRequest(http.MethodPost, "/webhook", strings.NewReader(body))
	r.Header.Set("X-GitHub-Event", "push")
	r.Header.Set("X-Hub-Signature-256", "sha256="+sign(secretly, []byte(body)))
	answer := httptest.NewRecorder()
	idle(t, secretly).Webhook().ServeHTTP(answer, r)
	if answer.Code != http.StatusAccepted {
		t.Errorf("answered %d", answer.Code)
	}
}

func TestWebhookAsAFormIsRefusedWithAdvice(t *testing.T) {
	r := signed("push", []byte("payload=x"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer := httptest.NewRecorder()
	idle(t, secretly).Webhook().ServeHTTP(answer, r)
	if answer.Code != http.StatusUnsupportedMediaType || !strings.Contains(answer.Body.String(), "application/json") {
		t.Errorf("answered %d %s", answer.Code, answer.Body)
	}
}

func TestWebhookIsPosted(t *testing.T) {
	answer := httptest.NewRecorder()
	idle(t, secretly).Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/webhook", nil))
	if answer.Code != http.StatusMethodNotAllowed {
		t.Errorf("answered %d", answer.Code)
	}
}

func TestStatusNeedsTheSecret(t *testing.T) {
	get := func(secret, authorization string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, "/status", nil)
		if authorization != "" {
			r.Header.Set("Authorization", authorization)
		}
		answer := httptest.NewRecorder()
		idle(t, secret).Handler().ServeHTTP(answer, r)
		return answer
	}
	for _, test := range []struct {
		secret, authorization string
		want                  int
	}{
		{secretly, "Bearer " + secretly, http.StatusOK},
		{secretly, "Bearer guess", http.StatusUnauthorized},
		{secretly, secretly, http.StatusUnauthorized},
		{secretly, "", http.StatusUnauthorized},
		{"", "Bearer ", http.StatusUnauthorized},
	} {
		answer := get(test.secret, test.authorization)
		if answer.Code != test.want {
			t.Errorf("secret %q, authorization %q: %d, want %d", test.secret, test.authorization, answer.Code, test.want)
		}
	}
	var s Status
	if err := json.Unmarshal(get(secretly, "Bearer "+secretly).Body.Bytes(), &s); err != nil {
		t.Fatal(err)
	}
	if s.ControlPlane.Branch != "main" || s.Environments == nil {
		t.Errorf("status %+v", s)
	}
}

func (r *running) wantReady(code int, says string) {
	r.Helper()
	got, body := get(r.Server, "/readyz")
	if got != code || !strings.Contains(body, says) {
		r.Errorf("readyz: %d %q, want %d %q", got, body, code, says)
	}
}

// TestReady: ready is who has planned every environment once and can reach the
// forge.
func TestReady(t *testing.T) {
	f := newPlatform("dev", "stage")
	synctest.Test(t, func(t *testing.T) {
		hold, release := make(chan struct{}), make(chan struct{})
		f.OnCall(func(c forgefake.Call) {
			switch {
			case c.Method == "Read" && c.Repo == forgefake.URL(platform):
				<-hold
			case c.Method == "PullRequests":
				<-release
			}
		})
		r, stop := start(t, f, func(o *Options) { o.Poll = time.Minute })
		synctest.Wait()
		r.wantReady(http.StatusServiceUnavailable, "acme/platform@main: the control plane has not been read yet")
		close(hold)
		synctest.Wait()
		r.wantReady(http.StatusServiceUnavailable, "not planned yet: dev, stage")
		close(release)
		synctest.Wait()
		r.wantReady(http.StatusOK, "ok")

		t.Log("a new environment, and one that fails, do not make it less ready")
		r.push(platform, "main", map[string]string{".environments/qa.yaml": environmentFile("qa")})
		r.notify("push", platform, "main")
		r.wantReady(http.StatusOK, "ok")

		t.Log("hours without events are no silence")
		r.pass(5 * time.Hour)
		r.wantReady(http.StatusOK, "ok")

		f.Down(func(forgefake.Call) error { return errors.New("no route to host") })
		r.pass(2 * time.Minute)
		r.wantReady(http.StatusOK, "ok")
		r.pass(3 * time.Minute)
		r.wantReady(http.StatusServiceUnavailable, "the forge has not answered for more than 3m30s")
		if code, _ := get(r.Server, "/healthz"); code != http.StatusOK {
			t.Errorf("healthz: %d", code)
		}
		f.Down(nil)
		r.pass(2 * time.Minute)
		r.wantReady(http.StatusOK, "ok")
		stop()
	})
}

// TestDeliveries: a webhook that is delivered twice makes one run.
func TestDeliveries(t *testing.T) {
	bubble(t, newPlatform("dev"), func(o *Options) { o.Poll = time.Hour }, func(r *running) {
		before := r.status("dev").Runs
		for _, id := range []string{"a", "a", "b", "a", ""} {
			body := webhook(t, "push", platform, "dev")
			request := signed("push", body)
			if id != "" {
				request.Header.Set("X-GitHub-Delivery", id)
			}
			if code := answered(r.Webhook(), request); code != http.StatusAccepted {
				t.Errorf("answered %d", code)
			}
			synctest.Wait()
		}
		if got := r.status("dev").Runs - before; got != 3 {
			t.Errorf("%d runs, want 3", got)
		}
	})
	s := NewServer(ServerOptions{})
	for i := range 3 * rememberedDeliveries {
		if id := fmt.Sprint(i); s.repeated(id) || !s.repeated(id) {
			t.Fatalf("delivery %d", i)
		}
	}
	if n := s.deliveries.Len(); n != rememberedDeliveries || s.repeated("0") {
		t.Errorf("%d are remembered", n)
	}
}

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
		notify := func(repo, branch string) {
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
			notify(step.repo, step.branch)
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
