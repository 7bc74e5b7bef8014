package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func ask(r *runner, method, path, body string, header ...string) *httptest.ResponseRecorder {
	q := httptest.NewRequest(method, path, strings.NewReader(body))
	for i := 0; i+1 < len(header); i += 2 {
		q.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	r.handler().ServeHTTP(w, q)
	return w
}

func TestHandler(t *testing.T) {
	f := newForge(t)
	c := runnerConfig(t, f)
	c.Poll = time.Hour // so that only a call wakes it
	r := newRunner(c, slog.New(slog.DiscardHandler))
	if w := ask(r, "GET", "/healthz", ""); w.Code != http.StatusServiceUnavailable || strings.Contains(w.Body.String(), "not been asked") {
		t.Errorf("before the start, to anybody: %d %s", w.Code, w.Body)
	}
	if w := ask(r, "GET", "/status", "", "Authorization", "Bearer hook"); !strings.Contains(w.Body.String(), "not been asked") {
		t.Errorf("before the start: %s", w.Body)
	}
	for _, secret := range []string{"", "Bearer guess"} {
		if w := ask(r, "POST", "/wake", "", "Authorization", secret); w.Code != http.StatusUnauthorized || len(r.poked) > 0 {
			t.Errorf("woken with %q: %d, %d", secret, w.Code, len(r.poked))
		}
	}
	r, _ = start(t, c)
	waitFor(t, "request for work", 10*time.Second, func() error {
		if f.questions() == 0 {
			return errors.New("none has come")
		}
		return nil
	})
	if w := ask(r, "GET", "/healthz", ""); w.Code != http.StatusOK {
		t.Errorf("after the start: %d %s", w.Code, w.Body)
	}
	f.give(1, "jobs: {j: {steps: [{run: 'echo begun; sleep 0.5'}]}}", nil)
	if w := ask(r, "POST", "/wake", "", "Authorization", "Bearer hook"); w.Code != http.StatusOK {
		t.Errorf("woken: %d", w.Code)
	}
	f.says(1, "begun")
	if w := ask(r, "GET", "/status", ""); w.Code != http.StatusUnauthorized {
		t.Errorf("the status without the secret: %d", w.Code)
	}
	var s status
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
		{"linux", "amd64", "ubuntu-latest"}, {"linux", "amd64", "self-hosted linux"}, {"linux", "amd64", "self-hosted Linux X64"},
		{"linux", "arm64", "self-hosted linux arm64"}, {"darwin", "arm64", "self-hosted macOS ARM64"}, {"darwin", "arm64", "macos ubuntu-latest"},
	} {
		for _, label := range strings.Fields(c.runsOn) {
			if all := labels(c.system, c.arch); !slices.Contains(all, label) {
				t.Errorf("%s on %s has no label %s: %q", c.system, c.arch, label, all)
			}
		}
	}
}

func TestLoadConfig(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.json")
	for content, want := range map[string]string{`{"url": "http://x", "poll": 3000000000, "env": {"A": "b"}}`: "", `{"typo": 1}`: `unknown field "typo"`} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := loadConfig(file)
		if want == "" && (err != nil || c.Poll != 3*time.Second || c.Env["A"] != "b") || want != "" && !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: %+v, %v", content, c, err)
		}
	}
}
