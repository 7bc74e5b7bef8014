package controller

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/internal/testkit/forgefake"
	"github.com/kalypso-dev/kalypso/internal/testkit/githubfake"
)

// TestServeOnGitHub runs a scheduler as its configuration file says, as a GitHub
// App, and takes one change from the push to the merge by webhooks alone.
func TestServeOnGitHub(t *testing.T) {
	s := githubfake.Start(t)
	offline := newPlatform("dev", "stage")
	here := func(files map[string]string) map[string]string {
		moved := map[string]string{}
		for name, content := range files {
			moved[name] = strings.ReplaceAll(content, strings.TrimSuffix(forgefake.URL("acme/"), ".git"), s.URL+"/acme/")
		}
		return moved
	}
	for repo, branches := range map[string][]string{platform: {"main", "dev", "stage"}, app: {"main"}, gitOps: {"dev", "stage"}} {
		for _, branch := range branches {
			s.Push(repo, branch, here(offline.Files(repo, branch)))
		}
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "scheduler.yaml")
	for name, content := range map[string]string{
		"app.pem": string(s.App("kalypso", 7, 8)), "secret": secretly + "\n",
		"scheduler.yaml": fmt.Sprintf(`forge: {type: github, url: %q, app: {id: 7, installation: 8, keyFile: app.pem}}
controlPlanes: [{repo: %q, promoteTo: dev}]
webhookSecretFile: secret
listen: 127.0.0.1:0
poll: 1h
`, s.URL, s.CloneURL(platform)),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	loaded, err := LoadConfig(file)
	if err != nil {
		t.Fatal(err)
	}
	log := &safeBuffer{}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, loaded, slog.New(slog.NewTextHandler(log, nil))) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Serve ended with %v", err)
		}
		if t.Failed() {
			t.Log(log.String())
		}
	}()
	until := func(what string, done func() bool) {
		t.Helper()
		for start := time.Now(); !done(); time.Sleep(5 * time.Millisecond) {
			if time.Since(start) > 20*time.Second {
				t.Fatalf("waited 20 s until %s\n%s", what, log.String())
			}
		}
	}
	var address string
	until("it listens", func() bool {
		if m := regexp.MustCompile(`address=(\S+)`).FindStringSubmatch(log.String()); m != nil {
			address = "http://" + m[1]
		}
		return address != ""
	})
	ask := func(method, path, event string, body []byte) int {
		q, err := http.NewRequestWithContext(ctx, method, address+path, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if event != "" {
			q.Header.Set("X-GitHub-Event", event)
			q.Header.Set("X-GitHub-Delivery", event+time.Now().String())
			q.Header.Set("X-Hub-Signature-256", "sha256="+sign(secretly, body))
		}
		answer, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		return answer.StatusCode
	}
	until("it is ready", func() bool { return ask(http.MethodGet, "/readyz", "", nil) == http.StatusOK })
	pull := func() githubfake.Pull {
		for _, p := range s.Pulls(gitOps) {
			if p.Base == "dev" {
				return p
			}
		}
		return githubfake.Pull{}
	}
	number := pull().Number
	if p := pull(); p.State != "open" || p.Author != "kalypso[bot]" || strings.Join(p.Labels, "") != "promoted" {
		t.Fatalf("pull request %+v", p)
	}
	pushed := func() {
		body, err := json.Marshal(map[string]any{"ref": "refs/heads/dev", "repository": map[string]any{"clone_url": s.CloneURL(platform)}})
		if err != nil {
			t.Fatal(err)
		}
		if code := ask(http.MethodPost, "/webhook", "push", body); code != http.StatusAccepted {
			t.Errorf("webhook: %d", code)
		}
	}
	s.Push(platform, "dev", map[string]string{"config.yaml": config("west")})
	pushed()
	until("the pull request has the change", func() bool {
		return strings.Contains(s.Files(gitOps, "kalypso/dev")["drone/web-dev/platform-config.yaml"], "west") && pull().Number == number
	})
	s.Merge(gitOps, number)
	s.Push(platform, "dev", map[string]string{"config.yaml": strings.ReplaceAll(config("west"), "region", "area")})
	pushed()
	until("the bad change has an issue", func() bool {
		issues := s.Issues(gitOps)
		return len(issues) == 1 && issues[0].State == "open" && issues[0].Author == "kalypso[bot]"
	})
	if strings.Contains(log.String(), "level=ERROR") {
		t.Error("errors were logged")
	}
}
