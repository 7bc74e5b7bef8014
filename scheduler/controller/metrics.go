package controller

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
	"github.com/kalypso-dev/kalypso/scheduler/forge/github"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/publish"
)

// Metrics are what Prometheus reads of the Controllers that share them, all of
// them on one forge. Events are counted as they happen; states are looked up
// when they are read, see state.
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
		webhooks: counter("kalypso_webhooks_total", "Webhooks that came: taken, ignored, repeated, refused, or lost at a scheduler that stands by.",
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

// reason is the class of an error, so that alerts can leave out what passes by
// itself.
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

// state is the part of Metrics that is looked up when it is read, so that it
// has no environment that is gone.
type state Metrics

var (
	problemsDesc = prometheus.NewDesc("kalypso_problems", "Problems that the last plan has found. Those of the control plane itself have no environment.",
		[]string{"control_plane", "environment", "severity"}, nil)
	failingDesc = prometheus.NewDesc("kalypso_environment_failing", "1 when the environment's last run has failed.",
		[]string{"control_plane", "environment"}, nil)
	lastRunDesc = prometheus.NewDesc("kalypso_environment_last_run_timestamp_seconds", "When the environment's last run has ended.",
		[]string{"control_plane", "environment"}, nil)
	assignmentsDesc = prometheus.NewDesc("kalypso_assignments", "Assignments of deployment targets to cluster types in the last plan.",
		[]string{"control_plane", "environment"}, nil)
	leadsDesc = prometheus.NewDesc("kalypso_leads", "1 when this scheduler works, 0 when it stands by.",
		[]string{"control_plane"}, nil)
	reachedDesc = prometheus.NewDesc("kalypso_forge_reached_timestamp_seconds", "When the forge has answered last.",
		[]string{"control_plane"}, nil)

	requestsDesc  = prometheus.NewDesc("kalypso_forge_api_requests_total", "Requests to the forge's API.", nil, nil)
	unchangedDesc = prometheus.NewDesc("kalypso_forge_api_unchanged_total", "Of these, those whose answer had not changed, which GitHub does not count.", nil, nil)
	limitDesc     = prometheus.NewDesc("kalypso_forge_api_limit", "Requests that the forge allows in an hour.", nil, nil)
	leftDesc      = prometheus.NewDesc("kalypso_forge_api_remaining", "Requests that are left of it.", nil, nil)
	resetDesc     = prometheus.NewDesc("kalypso_forge_api_reset_timestamp_seconds", "When the hour ends.", nil, nil)
)

// Describe names nothing: which metrics there will be is not known ahead.
func (*state) Describe(chan<- *prometheus.Desc) {}

func (s *state) Collect(out chan<- prometheus.Metric) {
	s.mu.Lock()
	controllers := slices.Clone(s.controllers)
	s.mu.Unlock()
	for _, w := range controllers {
		w.collect(out)
	}
	if len(controllers) == 0 {
		return
	}
	// those that share metrics share a forge
	if b, ok := controllers[0].options.Forge.(interface{ Budget() github.Budget }); ok {
		collectBudget(out, b.Budget())
	}
}

func gauge(out chan<- prometheus.Metric, desc *prometheus.Desc, value float64, labels ...string) {
	out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
}

func (c *Controller) collect(out chan<- prometheus.Metric) {
	count := func(s severities, environment string) {
		for _, severity := range []model.Severity{model.Error, model.Warning} {
			gauge(out, problemsDesc, float64(s[severity]), c.name, environment, string(severity))
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	count(c.severities, "")
	if c.options.Election != nil {
		leads := 1.
		if _, standsBy := c.standsBy(); standsBy {
			leads = 0
		}
		gauge(out, leadsDesc, leads, c.name)
	}
	if !c.reached.IsZero() {
		gauge(out, reachedDesc, float64(c.reached.Unix()), c.name)
	}
	for e := range c.all() {
		status := e.status
		if status.LastRun == nil {
			continue
		}
		failing := 0.
		if status.Error != "" {
			failing = 1
		}
		count(e.severities, e.name)
		gauge(out, failingDesc, failing, c.name, e.name)
		gauge(out, lastRunDesc, float64(status.LastRun.Unix()), c.name, e.name)
		gauge(out, assignmentsDesc, float64(status.Assignments), c.name, e.name)
	}
}

func collectBudget(out chan<- prometheus.Metric, b github.Budget) {
	out <- prometheus.MustNewConstMetric(requestsDesc, prometheus.CounterValue, float64(b.Requests))
	out <- prometheus.MustNewConstMetric(unchangedDesc, prometheus.CounterValue, float64(b.Unchanged))
	if b.Limit > 0 {
		gauge(out, limitDesc, float64(b.Limit))
		gauge(out, leftDesc, float64(b.Remaining))
		gauge(out, resetDesc, float64(b.Reset.Unix()))
	}
}
