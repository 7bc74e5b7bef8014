package collect

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are those of the sources and of the writer.
type metrics struct {
	took        *prometheus.HistogramVec
	failed      *prometheus.CounterVec
	transitions prometheus.Counter
	commits     prometheus.Counter
}

func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "kalypso_hub_observe_duration_seconds", Help: "How long a look at a source took.", Buckets: prometheus.ExponentialBuckets(0.01, 3, 10),
		}, []string{"source"}),
		failed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kalypso_hub_observe_errors_total", Help: "Looks at a source that failed.",
		}, []string{"source"}),
		transitions: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "kalypso_hub_transitions_total", Help: "Changes that were written to the store.",
		}),
		commits: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "kalypso_hub_backfill_commits_total", Help: "Commits of followed branches that were read.",
		}),
	}
	if r != nil {
		r.MustRegister(m.took, m.failed, m.transitions, m.commits)
	}
	return m
}

func (m *metrics) observed(source string, took time.Duration, err error) {
	m.took.WithLabelValues(source).Observe(took.Seconds())
	failed := m.failed.WithLabelValues(source) // it is there before it counts
	if err != nil {
		failed.Inc()
	}
}
