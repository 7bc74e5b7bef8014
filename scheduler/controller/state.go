package controller

import (
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kalypso-dev/kalypso/scheduler/forge/github"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// state is the part of Metrics that is looked up when it is asked for, so that
// it never tells of an environment that is gone.
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

// Describe implements prometheus.Collector. What there will be is not known
// ahead.
func (*state) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
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
	own, reached := maps.Clone(c.severities), c.reached
	c.mu.Unlock()
	count(own, "")
	if c.lease != nil {
		leads := 1.
		if _, standsBy := c.standsBy(); standsBy {
			leads = 0
		}
		gauge(out, leadsDesc, leads, c.name)
	}
	if !reached.IsZero() {
		gauge(out, reachedDesc, float64(reached.Unix()), c.name)
	}
	for _, e := range c.followed() {
		e.mu.Lock()
		status, found := e.status, maps.Clone(e.severities)
		e.mu.Unlock()
		if status.LastRun == nil {
			continue
		}
		failing := 0.
		if status.Error != "" {
			failing = 1
		}
		count(found, e.name)
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
