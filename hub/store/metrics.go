package store

import (
	"context"
	"database/sql"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kalypso-dev/kalypso/scheduler/placement"
)

const (
	// metricsLimit is how long what is read for the metrics may take.
	metricsLimit = 5 * time.Second
	// clusterSeriesLimit is for how many clusters there are metrics by state.
	clusterSeriesLimit = 2000
)

// metrics are what is observed as it happens. What the database has is read when it is asked
// for, see Collect.
type metrics struct {
	durations, stages, restored *prometheus.HistogramVec
	changes, failures           *prometheus.CounterVec
	transitions                 *prometheus.CounterVec
	opened                      int64        // when the store was opened
	lastChange                  atomic.Int64 // the newest of the round before, 0 before the first
}

func newMetrics() *metrics {
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	}
	// of what takes from seconds to a day
	long := []float64{1, 5, 15, 30, 60, 120, 300, 600, 1800, 3600, 4 * 3600, 12 * 3600, 24 * 3600}
	return &metrics{
		durations: histogram("kalypso_hub_store_duration_seconds", "How long reads and writes of the database took.",
			[]float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5, 30}, "query"),
		stages: histogram("kalypso_change_stage_duration_seconds",
			"How long changes took: plan from the push to the plan, review from the pull request to its merge, fetch from there to the first cluster that has applied it, apply from there to all, total from the push to all.",
			long, "environment", "kind", "stage"),
		restored: histogram("kalypso_restore_duration_seconds", "How long placements were failing until they were ok.", long, "environment"),
		changes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kalypso_changes_total", Help: "Changes that have ended: applied on all clusters that follow, or closed.",
		}, []string{"environment", "kind", "outcome"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kalypso_change_failures_total", Help: "Changes that a cluster could not apply, or that were not healthy on it.",
		}, []string{"environment"}),
		transitions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kalypso_hub_transitions_total", Help: "What rounds have written that was not so before, by what it is about: of placements each transition, of changes each that looks otherwise, of pull requests and problems each environment in which any does.",
		}, []string{"kind"}),
		opened: time.Now().UnixMilli(),
	}
}

func (m *metrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.durations, m.stages, m.restored, m.changes, m.failures, m.transitions}
}

// measure begins to measure a query, and returns what ends it. Its name is that of the method of
// Store which calls read or write.
func (m *metrics) measure() (end func()) {
	began := time.Now()
	var callers [1]uintptr
	const skip = 4 // Callers, measure, transact, and read or write
	runtime.Callers(skip, callers[:])
	frame, _ := runtime.CallersFrames(callers[:]).Next()
	_, name, _ := strings.Cut(frame.Function, "(*Store).")
	name, _, _ = strings.Cut(name, ".")
	return func() { m.durations.WithLabelValues(name).Observe(time.Since(began).Seconds()) }
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

var (
	placementsDesc        = desc("kalypso_placements", "Placements by their state.", "environment", "state")
	clusterInfoDesc       = desc("kalypso_cluster_info", "1 for each cluster: what applies to it, and what it is known by.", "cluster", "reconciler", "source")
	clusterSeenDesc       = desc("kalypso_cluster_last_seen_timestamp_seconds", "When the cluster has answered last.", "cluster")
	clusterPlacementsDesc = desc("kalypso_cluster_placements", "Placements of a cluster by their state. Fleets of more than 2,000 clusters have none.", "cluster", "state")
	lagDesc               = desc("kalypso_subscription_lag_commits", "How many commits of the environment's GitOps branch the cluster has not fetched.", "cluster", "environment")
	pullRequestsDesc      = desc("kalypso_open_pull_requests", "Pull requests that are open.", "environment", "kind")
	modelDriftDesc        = desc("kalypso_model_drift", "What keeps an environment's branch from what its model says: errors of the model, held and failed plans.", "environment", "reason")
	sizeDesc              = desc("kalypso_hub_store_size_bytes", "Size of the database.")
)

// Describe implements prometheus.Collector.
func (s *Store) Describe(out chan<- *prometheus.Desc) {
	for _, c := range s.metrics.collectors() {
		c.Describe(out)
	}
	for _, d := range []*prometheus.Desc{
		placementsDesc, clusterInfoDesc, clusterSeenDesc, clusterPlacementsDesc, lagDesc, pullRequestsDesc, modelDriftDesc, sizeDesc,
	} {
		out <- d
	}
}

// Collect implements prometheus.Collector. What the database has is read from roll-ups and
// indexes, at most for metricsLimit: a database that does not answer leaves these metrics out.
func (s *Store) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), metricsLimit, fmt.Errorf("the database has not answered within %s", metricsLimit))
	defer cancel()
	var all []prometheus.Metric
	err := s.read(ctx, func(t tx) error {
		f := figures{tx: t}
		for _, step := range []func() error{f.placements, f.clusters, f.lag, f.pullRequests, f.modelDrift} {
			if err := step(); err != nil {
				return err
			}
		}
		all = f.all
		return nil
	})
	if err == nil {
		var size int64
		size, err = s.Size(ctx)
		all = append(all, prometheus.MustNewConstMetric(sizeDesc, prometheus.GaugeValue, float64(size)))
	}
	if err != nil {
		all = []prometheus.Metric{prometheus.NewInvalidMetric(placementsDesc, fmt.Errorf("the hub's database: %w", err))}
	}
	for _, m := range all {
		out <- m
	}
	for _, c := range s.metrics.collectors() {
		c.Collect(out)
	}
}

// figures are the metrics that one state of the database has.
type figures struct {
	tx
	all []prometheus.Metric
}

func (f *figures) gauge(d *prometheus.Desc, value float64, labels ...string) error {
	m, err := prometheus.NewConstMetric(d, prometheus.GaugeValue, value, labels...)
	f.all = append(f.all, m)
	return err
}

// placements has every state of each environment: an alert ends with a 0, not with a gap.
func (f *figures) placements() error {
	counts := map[string]map[int64]int64{}
	if err := f.each(func(rows *sql.Rows) error {
		var name string
		var state, n int64
		err := rows.Scan(&name, &state, &n)
		if counts[name] == nil {
			counts[name] = map[int64]int64{}
		}
		counts[name][state] += n
		return err
	}, `SELECT e.name, COALESCE(r.state, 0), COALESCE(r.n, 0) FROM environment e LEFT JOIN
		(SELECT environment_id, state, CAST(sum(n) AS BIGINT) AS n FROM rollup GROUP BY environment_id, state) r ON r.environment_id = e.id WHERE e.gone_at = 0`); err != nil {
		return err
	}
	for environment, byState := range counts {
		for _, state := range placement.States() {
			if err := f.gauge(placementsDesc, float64(byState[stateNumber(state)]), environment, string(state)); err != nil {
				return err
			}
		}
	}
	return nil
}

// clusters counts the placements that are not ok, which are few, and takes them from all.
func (f *figures) clusters() error {
	names := map[int64]string{}
	if err := f.each(func(rows *sql.Rows) error {
		var id, seen int64
		var name, reconciler, source string
		if err := rows.Scan(&id, &name, &reconciler, &source, &seen); err != nil {
			return err
		}
		names[id] = name
		if seen > 0 {
			if err := f.gauge(clusterSeenDesc, float64(seen)/1000, name); err != nil {
				return err
			}
		}
		return f.gauge(clusterInfoDesc, 1, name, reconciler, source)
	}, `SELECT id, name, reconciler, source, last_seen FROM cluster WHERE gone_at = 0`); err != nil || len(names) > clusterSeriesLimit {
		return err
	}
	rest := map[int64]int64{}
	if err := f.each(func(rows *sql.Rows) error {
		var id, n int64
		err := rows.Scan(&id, &n)
		rest[id] = n
		return err
	}, `SELECT cluster_id, CAST(sum(n) AS BIGINT) FROM cluster_rollup GROUP BY cluster_id`); err != nil {
		return err
	}
	if err := f.each(func(rows *sql.Rows) error {
		var id, state, n int64
		if err := rows.Scan(&id, &state, &n); err != nil {
			return err
		}
		rest[id] -= n
		return f.gauge(clusterPlacementsDesc, float64(n), names[id], string(stateOf(state)))
	}, `SELECT cluster_id, state, count(*) FROM placement WHERE state < ? GROUP BY cluster_id, state`, stateNumber(placement.OK)); err != nil {
		return err
	}
	for id, name := range names {
		if err := f.gauge(clusterPlacementsDesc, float64(rest[id]), name, string(placement.OK)); err != nil {
			return err
		}
	}
	return nil
}

// lag is of the clusters that have placements in the environment. Nothing is said of a commit
// that is none of the branch, or of a branch whose history was not read.
func (f *figures) lag() error {
	return f.each(func(rows *sql.Rows) error {
		var cluster, environment string
		var lag int64
		if err := rows.Scan(&cluster, &environment, &lag); err != nil {
			return err
		}
		return f.gauge(lagDesc, float64(lag), cluster, environment)
	}, `SELECT c.name, e.name, max(h.length - bc.seq)
		FROM environment e
		JOIN branch b ON b.repo = e.gitops_repo AND b.name = e.gitops_branch
		JOIN branch_history h ON h.branch_id = b.id AND h.epoch = (SELECT max(epoch) FROM branch_history WHERE branch_id = b.id)
		JOIN subscription s ON s.branch_id = b.id
		JOIN cluster c ON c.id = s.cluster_id
		JOIN branch_commit bc ON bc.branch_id = b.id AND bc.epoch = h.epoch AND bc.sha = s.sha
		WHERE e.gone_at = 0 AND c.gone_at = 0 AND EXISTS (SELECT 1 FROM cluster_rollup r WHERE r.cluster_id = c.id AND r.environment_id = e.id)
		GROUP BY c.name, e.name`)
}

// pullRequests has every kind of each environment, as placements has every state.
func (f *figures) pullRequests() error {
	return f.each(func(rows *sql.Rows) error {
		var environment, kind string
		var n int64
		if err := rows.Scan(&environment, &kind, &n); err != nil {
			return err
		}
		return f.gauge(pullRequestsDesc, float64(n), environment, kind)
	}, `SELECT e.name, k.kind, count(p.number) FROM environment e
		CROSS JOIN (SELECT 'platform' AS kind UNION ALL SELECT 'application' UNION ALL SELECT 'promotion' UNION ALL SELECT 'control-plane') k
		LEFT JOIN pull_request p ON p.environment = e.name AND p.kind = k.kind AND p.state = 'open'
		WHERE e.gone_at = 0 GROUP BY e.name, k.kind`)
}

func (f *figures) modelDrift() error {
	return f.each(func(rows *sql.Rows) error {
		var environment string
		var problems, held, failed int64
		if err := rows.Scan(&environment, &problems, &held, &failed); err != nil {
			return err
		}
		for reason, n := range map[string]int64{"error": problems, "held": held, "failed": failed} {
			if err := f.gauge(modelDriftDesc, float64(n), environment, reason); err != nil {
				return err
			}
		}
		return nil
	}, `SELECT e.name, (SELECT count(*) FROM problem p WHERE p.environment = e.name AND p.gone_at = 0 AND p.severity = 'error'),
		(SELECT count(*) FROM pull_request p WHERE p.environment = e.name AND p.state = 'open' AND p.held = 1), CASE WHEN e.plan = 'error' THEN 1 ELSE 0 END
		FROM environment e WHERE e.gone_at = 0`)
}

// endings are what a round has brought to an end, to be counted when it is written.
type endings struct {
	restored []restoration
	failures []string // environments
	changes  []endedChange
	last     int64 // identity of the newest change
}

// restoration is of a placement that was failing, and is ok.
type restoration struct {
	environment string
	took        time.Duration
}

type endedChange struct {
	environment, kind, outcome string
	Stages
}

// findEndings finds changes that have failed, or have ended. What has happened before the store
// was opened is not counted, for a hub that has not seen it reads it now.
func (w *round) findEndings(r Round) error {
	w.ended.last = w.metrics.lastChange.Load()
	if len(r.Changes) == 0 {
		return nil
	}
	names := map[int64]string{}
	for name, e := range w.environments {
		names[e.id] = name
	}
	if err := w.row(`SELECT value FROM counter WHERE name = 'change'`).Scan(&w.ended.last); err != nil {
		return err
	}
	if err := w.each(func(rows *sql.Rows) error {
		var id, environment, began int64
		err := rows.Scan(&id, &environment, &began)
		if id <= w.metrics.lastChange.Load() || began >= w.metrics.opened {
			w.ended.failures = append(w.ended.failures, names[environment])
		}
		return err
	}, `UPDATE change SET failure_counted = 1 WHERE failing > 0 AND failure_counted = 0 RETURNING id, environment_id, began_at`); err != nil {
		return err
	}
	return w.each(func(rows *sql.Rows) error {
		var environment int64
		c, err := scanChange(rows.Scan, &environment)
		one := endedChange{names[environment], c.Kind, "closed", c.Stages}
		isNew := c.ID <= w.metrics.lastChange.Load()
		if !c.Applied.IsZero() {
			one.outcome, isNew = "applied", millis(c.Applied) >= w.metrics.opened
		}
		if isNew {
			w.ended.changes = append(w.ended.changes, one)
		}
		return err
	}, `UPDATE change SET end_counted = 1 WHERE end_counted = 0 AND (applied_at > 0 OR state = ?) RETURNING `+strings.ReplaceAll(changeColumns, "c.", "")+`, environment_id`, ChangeClosed)
}

// transitionKinds are the topics of messages that are counted.
var transitionKinds = []string{"placement", "change", "pull-request", "problem"}

// countTransitions counts what a round has written.
func (m *metrics) countTransitions(n map[string]int) {
	for _, kind := range transitionKinds {
		m.transitions.WithLabelValues(kind).Add(float64(n[kind]))
	}
}

// count counts what a round has brought to an end. What there is to count of an environment is
// there before it counts, so that the first is not lost.
func (m *metrics) count(e endings, environments []Environment) {
	for _, one := range environments {
		m.failures.WithLabelValues(one.Name)
		m.restored.WithLabelValues(one.Name)
		for _, kind := range changeKinds {
			m.changes.WithLabelValues(one.Name, kind, "applied")
			m.changes.WithLabelValues(one.Name, kind, "closed")
		}
	}
	for _, one := range e.restored {
		m.restored.WithLabelValues(one.environment).Observe(one.took.Seconds())
	}
	for _, environment := range e.failures {
		m.failures.WithLabelValues(environment).Inc()
	}
	for _, c := range e.changes {
		m.changes.WithLabelValues(c.environment, c.kind, c.outcome).Inc()
		for stage, times := range map[string][2]time.Time{
			"plan": {c.Pushed, c.Planned}, "review": {c.Opened, c.Merged}, "fetch": {c.Merged, c.FirstApplied}, "apply": {c.FirstApplied, c.Applied}, "total": {c.Pushed, c.Applied},
		} {
			if !times[0].IsZero() && !times[1].IsZero() {
				m.stages.WithLabelValues(c.environment, c.kind, stage).Observe(max(0, times[1].Sub(times[0])).Seconds())
			}
		}
	}
	m.lastChange.Store(e.last)
}

var changeKinds = []string{"platform", "application", "promotion"}
