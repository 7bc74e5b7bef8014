package controller

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kalypso-dev/kalypso/internal/testkit/forgefake"
)

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
		r.tell("push", platform, "main")
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
