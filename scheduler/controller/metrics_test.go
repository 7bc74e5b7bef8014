package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/kalypso-dev/kalypso/internal/testkit/forgefake"
	"github.com/kalypso-dev/kalypso/internal/testkit/githubfake"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
	"github.com/kalypso-dev/kalypso/scheduler/forge/github"
)

// metrics are the lines of what /metrics answers that hold a text.
func (r *running) metrics(text string) string {
	r.Helper()
	code, body := get(r.Server, "/metrics")
	if code != http.StatusOK {
		r.Fatalf("metrics: %d %s", code, body)
	}
	return lines(body, text)
}

func lines(body, text string) string {
	var found []string
	for line := range strings.Lines(body) {
		if !strings.HasPrefix(line, "#") && strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return strings.Join(found, "")
}

func TestMetrics(t *testing.T) {
	f := newPlatform("dev", "stage")
	bubble(t, f, func(o *Options) { o.Poll = time.Hour }, func(r *running) {
		want := func(text, lines string) {
			t.Helper()
			if diff := cmp.Diff(lines, r.metrics(text)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", text, diff)
			}
		}
		want("kalypso_plans_total", `kalypso_plans_total{control_plane="acme/platform@main",environment="dev",result="ok"} 1
kalypso_plans_total{control_plane="acme/platform@main",environment="stage",result="ok"} 1
`)
		want(`action="opened",control_plane="acme/platform@main",environment="dev"`, `kalypso_pull_requests_total{action="opened",control_plane="acme/platform@main",environment="dev"} 1
`)
		if n := strings.Count(r.metrics("kalypso_plan_duration_seconds_count"), "\n"); n == 0 && r.status("dev").Durations.Total > 0 {
			t.Error("no durations")
		}

		t.Log("a change, a problem, and nothing left")
		r.push(platform, "dev", map[string]string{"config.yaml": config("west")})
		r.notify("push", platform, "dev")
		want(`action="updated"`, "kalypso_pull_requests_total{action=\"updated\",control_plane=\"acme/platform@main\",environment=\"dev\"} 1\n")
		r.push(platform, "dev", map[string]string{"config.yaml": strings.ReplaceAll(config("west"), "region", "area")})
		r.notify("push", platform, "dev")
		want(`kalypso_problems{control_plane="acme/platform@main",environment="dev"`, `kalypso_problems{control_plane="acme/platform@main",environment="dev",severity="error"} 1
kalypso_problems{control_plane="acme/platform@main",environment="dev",severity="warning"} 0
`)
		want("webhooks_total", "kalypso_webhooks_total{outcome=\"taken\"} 2\n")
		post(r.Webhook(), "push", []byte("{}"), sign("guess", []byte("{}")))
		want(`outcome="refused"`, "kalypso_webhooks_total{outcome=\"refused\"} 1\n")

		t.Log("the forge refuses")
		f.Down(func(forgefake.Call) error { return fmt.Errorf("no: %w", gitclient.ErrDenied) })
		r.notify("push", platform, "stage")
		want("kalypso_forge_errors_total", "kalypso_forge_errors_total{control_plane=\"acme/platform@main\",reason=\"denied\"} 1\n")
		want(`failing{control_plane="acme/platform@main",environment="stage"`, "kalypso_environment_failing{control_plane=\"acme/platform@main\",environment=\"stage\"} 1\n")
		f.Down(nil)

		t.Log("an environment that is gone has no metrics")
		r.push(platform, "main", map[string]string{".environments/stage.yaml": ""})
		r.notify("push", platform, "main")
		want(`environment="stage"`, "")
		problems, err := testutil.GatherAndLint(r.options.Metrics.registry)
		if err != nil || len(problems) > 0 {
			t.Errorf("%v, %v", problems, err)
		}
	})
}

// TestBudget is about the metrics of a forge that counts its requests.
func TestBudget(t *testing.T) {
	s := githubfake.Start(t)
	s.Repo("acme/platform")
	t.Setenv("FORGE_TOKEN", s.User("bot").Token)
	c := Config{
		Forge:         ForgeConfig{Type: GitHub, URL: s.URL, TokenEnv: "FORGE_TOKEN"},
		ControlPlane:  ControlPlaneConfig{Repo: s.URL + "/acme/platform"},
		WebhookSecret: secretly,
	}
	d, err := c.server(nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s.Push("acme/platform", "main", map[string]string{"README.md": "x"})
	if _, err := d.controllers[0].RunOnce(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if _, err := d.controllers[0].options.Forge.Issues(t.Context(), "acme/platform"); err != nil {
		t.Fatal(err)
	}
	_, body := get(d, "/metrics")
	for _, want := range []string{"kalypso_forge_api_limit 5000\n", "kalypso_forge_api_remaining 49", "kalypso_forge_api_reset_timestamp_seconds 1", "kalypso_forge_api_requests_total", "go_goroutines", "process_open_fds"} {
		if lines(body, want) == "" && !strings.Contains(body, "\n"+want) {
			t.Errorf("metrics have no %s:\n%s", want, lines(body, "kalypso_forge"))
		}
	}
}

// Who may reach a scheduler is not always who may read its metrics.
func TestMetricsAreTurnedOff(t *testing.T) {
	t.Setenv("FORGE_TOKEN", "t")
	const rest = "forge: {type: github, tokenEnv: FORGE_TOKEN}\ncontrolPlane: {repo: https://github.com/acme/platform}\nwebhookSecret: s\n"
	for config, want := range map[string]int{"": http.StatusOK, "metrics: true\n": http.StatusOK, "metrics: false\n": http.StatusNotFound} {
		c, err := ParseConfig("c.yaml", []byte(rest+config))
		if err != nil {
			t.Fatal(err)
		}
		d, err := c.server(nil, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if got, body := get(d, "/metrics"); got != want {
			t.Errorf("%q: %d %s", config, got, body)
		}
		// they are counted all the same
		if got := post(d.Webhook(), "push", []byte("{}"), ""); got != http.StatusForbidden {
			t.Errorf("%q: a webhook without a signature: %d", config, got)
		}
	}
}

func TestReasons(t *testing.T) {
	for want, err := range map[string]error{
		"rate limit": &github.LimitError{},
		"denied":     fmt.Errorf("a: %w", gitclient.ErrDenied),
		"not found":  fmt.Errorf("a: %w", forge.ErrNotFound),
		"moved":      errors.Join(errors.New("a"), forge.ErrMoved),
		"network":    context.DeadlineExceeded,
		"server":     &github.Error{Status: http.StatusBadGateway},
		"other":      &github.Error{Status: http.StatusUnprocessableEntity},
	} {
		if got := reason(err); got != want {
			t.Errorf("%v: %s, want %s", err, got, want)
		}
	}
}
