package actions

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/internal/retry"
)

func ask(r *Runner, method, path, body string, header ...string) *httptest.ResponseRecorder {
	q := httptest.NewRequest(method, path, strings.NewReader(body))
	for i := 0; i+1 < len(header); i += 2 {
		q.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, q)
	return w
}

func TestHandler(t *testing.T) {
	f := newForge(t)
	c := runnerConfig(t, f)
	c.Poll = Duration(time.Hour) // only the webhook can tell of work
	r, err := New(c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if w := ask(r, "GET", "/healthz", ""); w.Code != http.StatusServiceUnavailable || strings.Contains(w.Body.String(), "not been asked") {
		t.Errorf("before the start, to anybody: %d %s", w.Code, w.Body)
	}
	if w := ask(r, "GET", "/status", "", "Authorization", "Bearer hook"); !strings.Contains(w.Body.String(), "not been asked") {
		t.Errorf("before the start: %s", w.Body)
	}
	if w := ask(r, "POST", "/webhook", "{}", "X-Gitea-Signature", "abc"); w.Code != http.StatusUnauthorized {
		t.Errorf("a stranger's webhook: %d", w.Code)
	}
	if len(r.poked) > 0 {
		t.Error("a stranger's webhook wakes the runner")
	}
	r, _ = start(t, c)
	err = retry.Until(t.Context(), "the first question for work", 10*time.Second, func(context.Context) error {
		if f.questions() == 0 {
			return errors.New("none has come")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if w := ask(r, "GET", "/healthz", ""); w.Code != http.StatusOK {
		t.Errorf("after the start: %d %s", w.Code, w.Body)
	}
	f.give(1, "jobs: {j: {steps: [{run: 'echo begun; sleep 0.5'}]}}", nil)
	sign := hmac.New(sha256.New, []byte("hook"))
	sign.Write([]byte("{}"))
	if w := ask(r, "POST", "/webhook", "{}", "X-Gitea-Signature", hex.EncodeToString(sign.Sum(nil))); w.Code != http.StatusNoContent {
		t.Errorf("a webhook: %d", w.Code)
	}
	f.says(1, "begun")
	if w := ask(r, "GET", "/status", ""); w.Code != http.StatusUnauthorized {
		t.Errorf("a stranger's question: %d", w.Code)
	}
	var s Status
	w := ask(r, "GET", "/status", "", "Authorization", "Bearer hook")
	if err := json.Unmarshal(w.Body.Bytes(), &s); err != nil || !s.Ready || len(s.Running) != 1 || s.Running[0].Job != "org/app/ci.yaml/" {
		t.Errorf("%s, %v", w.Body, err)
	}
	f.ended(1)
}

func (f *forge) questions() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked
}

// Gitea gives a job to a runner that has each of its labels, letter by letter.
func TestLabels(t *testing.T) {
	for _, c := range []struct{ system, arch, runsOn string }{
		{"Linux", "X64", "ubuntu-latest"}, {"Linux", "X64", "self-hosted linux"}, {"Linux", "X64", "self-hosted Linux X64"},
		{"Linux", "ARM64", "self-hosted linux arm64"}, {"macOS", "ARM64", "self-hosted macOS ARM64"}, {"macOS", "ARM64", "macos ubuntu-latest"},
	} {
		for _, label := range strings.Fields(c.runsOn) {
			if all := labels(c.system, c.arch); !slices.Contains(all, label) {
				t.Errorf("%s on %s has no label %s: %q", c.system, c.arch, label, all)
			}
		}
	}
	if got, want := DefaultLabels(), labels(runnerOS(), runnerArch()); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestLoadConfig(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "config.yaml")
	for content, want := range map[string]string{
		"url: http://x\ndir: d\nprogram: /p\nenv: {A: b}\n":           "",
		"url: http://x\ndir: d\nprogram: /p\nenv: {A: b}\npoll: 2s\n": "",
		"url: http://x\n":                      "url and dir are needed",
		"url: http://x\ndir: d\nlisten: :1\n":  "webhookSecret is needed",
		"url: http://x\ndir: d\ntypo: 1\n":     `unknown field "typo"`,
		"url: http://x\ndir: d\npoll: often\n": "often",
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := LoadConfig(file)
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v, want an error with %q", content, err, want)
			}
			continue
		}
		expected := Config{
			URL: "http://x", Dir: filepath.Join(dir, "d"), Program: "/p", Keeper: []string{"/p", "actions", "keep"}, Name: "kalypso",
			Env: map[string]string{"A": "b"}, Labels: DefaultLabels(), Capacity: 4, Poll: Duration(2 * time.Second),
		}
		if d := cmp.Diff(expected, got); err != nil || d != "" {
			t.Errorf("%q: %v %s", content, err, d)
		}
	}
}
