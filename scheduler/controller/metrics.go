package controller

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
	"github.com/kalypso-dev/kalypso/scheduler/forge/github"
	"github.com/kalypso-dev/kalypso/scheduler/publish"
)

// Metrics are what Prometheus may ask of the Controllers that share them, all of
// them on one forge. What
// happens is counted here; what is, is looked up when it is asked for, see
// state.
type Metrics struct {
	registry *prometheus.Registry
	runs     *prometheus.CounterVec
	steps    *prometheus.HistogramVec
	pulls    *prometheus.CounterVec
	errors   *prometheus.CounterVec
	webhooks *prometheus.CounterVec
	waits    prometheus.Counter

	mu          sync.Mutex
	controllers []*Controller
}

// NewMetrics returns Metrics that have counted nothing.
func NewMetrics() *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		runs: counter("kalypso_plans_total", "Runs of an environment: load, plan, publish.",
			"control_plane", "environment", "result"),
		steps: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "kalypso_plan_duration_seconds", Help: "How long the steps of a run took.",
			Buckets: []float64{.01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300},
		}, []string{"control_plane", "environment", "step"}),
		pulls: counter("kalypso_pull_requests_total", "Pull requests that were opened, updated or closed.",
			"control_plane", "environment", "action"),
		errors: counter("kalypso_forge_errors_total", "What went wrong with the forge, by reason.",
			"control_plane", "reason"),
		webhooks: counter("kalypso_webhooks_total", "Webhooks that came: taken, ignored, repeated, refused, forwarded or lost.",
			"outcome"),
		waits: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "kalypso_forge_waits_total", Help: "Requests that a rate limit of the forge has held back.",
		}),
	}
	m.registry.MustRegister(m.runs, m.steps, m.pulls, m.errors, m.webhooks, m.waits, (*state)(m))
	return m
}

// Process adds what is known of the process itself: memory, files, goroutines.
func (m *Metrics) Process() {
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
}

// Handler serves the metrics. They have the names of repositories and
// environments, and no secrets.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

func (m *Metrics) follow(w *Controller) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.controllers = append(m.controllers, w)
}

// forget drops what was counted of an environment that is gone.
func (m *Metrics) forget(plane, environment string) {
	gone := prometheus.Labels{"control_plane": plane, "environment": environment}
	m.runs.DeletePartialMatch(gone)
	m.steps.DeletePartialMatch(gone)
	m.pulls.DeletePartialMatch(gone)
}

var pullActions = map[publish.Action]string{publish.Opened: "opened", publish.Updated: "updated", publish.Withdrawn: "closed"}

// run counts a run.
func (m *Metrics) run(plane, environment string, o outcome, err error) {
	result := "ok"
	if err != nil {
		result = "error"
		m.forgeError(plane, err)
	}
	m.runs.WithLabelValues(plane, environment, result).Inc()
	if action, ok := pullActions[o.published.Action]; ok {
		m.pulls.WithLabelValues(plane, environment, action).Inc()
	}
	for step, took := range map[string]Milliseconds{
		"promote": o.took.Promote, "load": o.took.Load, "plan": o.took.Plan, "publish": o.took.Publish, "total": o.took.Total,
	} {
		if took > 0 { // a step that was not reached took nothing
			m.steps.WithLabelValues(plane, environment, step).Observe(took.Duration().Seconds())
		}
	}
}

func (m *Metrics) forgeError(plane string, err error) {
	m.errors.WithLabelValues(plane, reason(err)).Inc()
}

// webhook counts a webhook. Nil metrics count nothing.
func (m *Metrics) webhook(outcome string) {
	if m != nil {
		m.webhooks.WithLabelValues(outcome).Inc()
	}
}

// reason is an error in a word, for alerts to tell apart what people must do
// something about from what passes.
func reason(err error) string {
	var limit *github.LimitError
	var refused *github.Error
	switch {
	case errors.As(err, &limit):
		return "rate limit"
	case errors.Is(err, gitclient.ErrDenied):
		return "denied"
	case errors.Is(err, forge.ErrNotFound):
		return "not found"
	case errors.Is(err, forge.ErrMoved):
		return "moved"
	case errors.Is(err, gitclient.ErrNetwork), errors.Is(err, context.DeadlineExceeded):
		return "network"
	case errors.As(err, &refused) && refused.Status >= http.StatusInternalServerError:
		return "server"
	}
	return "other"
}
