package collect

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
	"github.com/kalypso-dev/kalypso/scheduler/forge/github"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// metrics are those of the sources and of the writer.
type metrics struct {
	took    *prometheus.HistogramVec
	failed  *prometheus.CounterVec
	commits prometheus.Counter
}

func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "kalypso_hub_observe_duration_seconds", Help: "How long a look at a source took.", Buckets: prometheus.ExponentialBuckets(0.01, 3, 10),
		}, []string{"source"}),
		failed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kalypso_hub_observe_errors_total", Help: "Looks at a source that failed, by why: timeout, unreachable, denied, not-found, limited or other.",
		}, []string{"source", "reason"}),
		commits: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "kalypso_hub_backfill_commits_total", Help: "Commits of followed branches that were read.",
		}),
	}
	if r != nil {
		r.MustRegister(m.took, m.failed, m.commits)
	}
	return m
}

func (m *metrics) observed(source string, took time.Duration, err error) {
	m.took.WithLabelValues(source).Observe(took.Seconds())
	for _, reason := range failures {
		m.failed.WithLabelValues(source, reason) // it is there before it counts
	}
	if err != nil {
		m.failed.WithLabelValues(source, failureOf(err)).Inc()
	}
}

// The reasons why a look fails.
const (
	failureTimeout     = "timeout"
	failureUnreachable = "unreachable"
	failureDenied      = "denied"
	failureNotFound    = "not-found"
	failureLimited     = "limited" // it asks to be asked less often
	failureOther       = "other"
)

var failures = []string{failureTimeout, failureUnreachable, failureDenied, failureNotFound, failureLimited, failureOther}

// failureOf is the kind of an error.
func failureOf(err error) string {
	var network net.Error
	status := statusOf(err)
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout(), status == http.StatusGatewayTimeout:
		return failureTimeout
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return failureDenied
	case status == http.StatusTooManyRequests, errors.As(err, new(*github.LimitError)), errors.As(err, new(*arc.LimitError)):
		return failureLimited
	case status == http.StatusNotFound, errors.Is(err, model.ErrNotFound):
		return failureNotFound
	case errors.As(err, new(*net.OpError)), errors.As(err, new(*arc.NoAnswerError)), status >= http.StatusInternalServerError:
		return failureUnreachable
	}
	return failureOther
}

// statusOf is the HTTP status that an error was made of, 0 where there is none.
func statusOf(err error) int {
	var cluster apierrors.APIStatus
	var azure *arc.Error
	var hub *github.Error
	switch {
	case errors.As(err, &cluster):
		return int(cluster.Status().Code)
	case errors.As(err, &azure):
		return azure.Status
	case errors.As(err, &hub):
		return hub.Status
	}
	return 0
}
