package api

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are what Prometheus reads of the API. Routes are patterns, so that names of clusters
// and targets make no series.
type metrics struct {
	requests       *prometheus.HistogramVec
	clients        prometheus.Gauge
	signInFailures *prometheus.CounterVec
}

func newMetrics(registry *prometheus.Registry) *metrics {
	m := &metrics{
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "kalypso_hub_http_request_duration_seconds", Help: "How long requests took, without live events and logs.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"route", "method", "code"}),
		clients: prometheus.NewGauge(prometheus.GaugeOpts{Name: "kalypso_hub_sse_clients", Help: "Readers of live events."}),
		signInFailures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kalypso_hub_auth_failures_total", Help: "Requests that nobody was signed in for: with a token, session or ticket that is not valid, or missing.",
		}, []string{"reason"}),
	}
	if registry != nil {
		registry.MustRegister(m.requests, m.clients, m.signInFailures)
	}
	return m
}

func (m *metrics) observe(r *http.Request, status int, took time.Duration) {
	if streams(r) && status == http.StatusOK {
		return
	}
	method := r.Method
	if !slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions}, method) {
		method = "other" // clients may send any word
	}
	m.requests.WithLabelValues(pattern(r), method, strconv.Itoa(status)).Observe(took.Seconds())
}
