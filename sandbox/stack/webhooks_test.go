package stack

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/gitops"
	"github.com/kalypso-dev/kalypso/sandbox/state"
)

// sign is what Gitea makes of a body.
func sign(body, secret string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	return hex.EncodeToString(mac.Sum(nil))
}

func TestWebhooksAreHandedOn(t *testing.T) {
	received := make(chan string, 10)
	listen := func(name, header string) int {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			received <- strings.Join([]string{name, r.Method, r.URL.Path, r.Header.Get(header), string(body)}, " ")
			w.WriteHeader(http.StatusOK)
		}))
		t.Cleanup(server.Close)
		return server.Listener.Addr().(*net.TCPAddr).Port
	}
	const body = `{"ref":"refs/heads/dev","repository":{"full_name":"a/b"}}`
	s := &state.State{WebhookSecret: "s", Ports: map[string]int{"scheduler": listen("scheduler", "X-Gitea-Signature"), "runner": listen("runner", "Authorization"), "hub": listen("hub", "X-Gitea-Signature")}}
	st := &Stack{state: s, log: slog.New(slog.DiscardHandler)}
	handler := st.webhooks(&gitops.Notifier{Log: st.log, Followers: func() []gitops.Follower {
		received <- "reconcilers"
		return nil
	}})
	runner, scheduler := "runner POST /wake Bearer s ", "scheduler POST /webhook "+sign(body, "s")+" "+body
	hub := "hub POST /hooks/forge " + sign(body, "s") + " " + body
	for _, c := range []struct {
		name, event, secret string
		down                bool // the scheduler is
		code                int
		want                []string
	}{
		{"push", "push", "s", false, http.StatusOK, []string{"reconcilers", runner, hub, scheduler}},
		{"other event", "issues", "s", false, http.StatusOK, []string{runner, hub, scheduler}},
		{"other secret", "push", "x", false, http.StatusForbidden, nil},
		{"no scheduler", "push", "s", true, http.StatusBadGateway, []string{"reconcilers", runner, hub}},
	} {
		if c.down {
			s.Ports["scheduler"] = 1
		}
		r := httptest.NewRequest(http.MethodPost, webhookPath, strings.NewReader(body))
		r.Header.Set("X-Gitea-Event", c.event)
		r.Header.Set("X-Gitea-Signature", sign(body, c.secret))
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != c.code {
			t.Errorf("%s: %d, want %d", c.name, w.Code, c.code)
		}
		missing := map[string]bool{}
		for _, one := range c.want {
			missing[one] = true
		}
		for range c.want {
			select {
			case one := <-received:
				if !missing[one] {
					t.Errorf("%s: %q", c.name, one)
				}
				delete(missing, one)
			case <-time.After(10 * time.Second):
				t.Fatalf("%s: not received: %v", c.name, missing)
			}
		}
		if len(received) > 0 {
			t.Errorf("%s: %q, too", c.name, <-received)
		}
	}
}
