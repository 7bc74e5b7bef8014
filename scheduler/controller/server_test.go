package controller

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

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
		"missing":          {secretly, "", body, http.StatusUnauthorized},
		"of other secret":  {secretly, sign("guess", body), body, http.StatusUnauthorized},
		"of other body":    {secretly, sign(secretly, []byte("{}")), body, http.StatusUnauthorized},
		"cut":              {secretly, sign(secretly, body)[:62], body, http.StatusUnauthorized},
		"no hex":           {secretly, strings.Repeat("z", 64), body, http.StatusUnauthorized},
		"no secret at all": {"", sign("", body), body, http.StatusUnauthorized},
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
