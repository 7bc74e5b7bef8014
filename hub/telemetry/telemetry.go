// Package telemetry exports a trace of each change that has arrived: from its first commit to the
// last cluster, with the times that the forge and the clusters have said.
//
// Nothing is passed along with a change to make that one trace. The IDs are digests of names: the
// trace's of the repository and the pull request, a span's of its path in the trace. A program that
// takes part, such as a build of the source repository, finds the trace by the same names, and what
// is exported again is the same again.
package telemetry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/slim/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/slim/otlp/trace/v1"

	"github.com/kalypso-dev/kalypso/hub/store"
)

const (
	// exportEach is how often changes are looked for that have arrived.
	exportEach = 10 * time.Second
	// exportMost is how many are exported then.
	exportMost = 20
	// settle is how long after its merge a change that no cluster follows stays one.
	settle = 10 * time.Minute
	// late is after what time a change is exported as it is, though not all clusters have it.
	late = 24 * time.Hour
	// oldest is how old a change is at most: a hub that begins to export leaves history out.
	oldest = 7 * 24 * time.Hour
	scope  = "github.com/kalypso-dev/kalypso/hub/telemetry"
)

// Options configure an Exporter.
type Options struct {
	Store        *store.Store
	ClusterSpans string // SlowestClusters when empty
	Version      string // the program's
	Log          *slog.Logger
	Registry     prometheus.Registerer
}

// Exporter exports traces of changes.
type Exporter struct {
	Options
	receiver *receiver
	service  string
	exports  *prometheus.CounterVec
}

// New makes an Exporter by OpenTelemetry's environment variables: nil where
// OTEL_EXPORTER_OTLP_ENDPOINT does not name a receiver.
func New(o Options, env func(string) string) (*Exporter, error) {
	r, err := newReceiver(env)
	if r == nil || err != nil {
		return nil, err
	}
	e := &Exporter{Options: o, receiver: r, service: cmp.Or(env("OTEL_SERVICE_NAME"), "kalypso-hub"), exports: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "kalypso_hub_trace_exports_total", Help: "Traces of changes: exported, rejected by the receiver, or failed and to be tried again.",
	}, []string{"result"})}
	e.Log = cmp.Or(o.Log, slog.Default())
	if o.Registry != nil {
		o.Registry.MustRegister(e.exports)
	}
	return e, nil
}

// Run exports until ctx ends.
func (e *Exporter) Run(ctx context.Context) error {
	e.Log.Info("traces of changes are exported", "to", e.receiver.address)
	failing := false
	for {
		err := e.Export(ctx, time.Now())
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && !failing:
			e.Log.Warn("traces cannot be exported, and are kept for later", "reason", err)
		case err == nil && failing:
			e.Log.Info("traces are exported again")
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(exportEach):
		}
	}
}

// Export exports the changes that have arrived and were not exported yet.
func (e *Exporter) Export(ctx context.Context, now time.Time) error {
	found, err := e.Store.UnexportedChanges(ctx, store.UnexportedQuery{Since: now.Add(-oldest), Settled: now.Add(-settle), Late: now.Add(-late), Now: now, Most: exportMost})
	if err != nil {
		return err
	}
	for _, id := range found {
		// of several hubs on a database one exports it
		claimed, err := e.Store.ClaimExport(ctx, id, now)
		if err != nil {
			return err
		}
		if !claimed {
			continue
		}
		err = e.export(ctx, id)
		after, cancel := context.WithTimeout(context.WithoutCancel(ctx), receiverLimit)
		switch {
		case err == nil:
			e.exports.WithLabelValues("exported").Inc()
			err = e.Store.Exported(after, id)
		case errors.Is(err, errRejected):
			e.exports.WithLabelValues("rejected").Inc()
			e.Log.Warn("the trace of a change was rejected", "change", id, "reason", err)
			err = e.Store.Exported(after, id)
		default:
			e.exports.WithLabelValues("failed").Inc()
			err = errors.Join(err, e.Store.UndoExport(after, id))
		}
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *Exporter) export(ctx context.Context, id int64) error {
	c, err := e.read(ctx, id)
	if err != nil {
		return fmt.Errorf("change %d: %w", id, err)
	}
	spans := spansOf(c, e.ClusterSpans)
	if len(spans) == 0 {
		return nil
	}
	return e.receiver.send(ctx, &collectorpb.ExportTraceServiceRequest{ResourceSpans: []*tracepb.ResourceSpans{{
		Resource:   &resourcepb.Resource{Attributes: attributes("service.name", e.service, "service.version", e.Version)},
		ScopeSpans: []*tracepb.ScopeSpans{{Scope: &commonpb.InstrumentationScope{Name: scope, Version: e.Version}, Spans: spans}},
	}}})
}

// read is a change with all of its clusters.
func (e *Exporter) read(ctx context.Context, id int64) (c change, err error) {
	if c.ChangeDetail, err = e.Store.Change(ctx, store.Scope{}, id); err != nil {
		return c, err
	}
	page := store.Page{Limit: 500}
	for {
		list, err := e.Store.ChangeClusters(ctx, store.Scope{}, id, nil, page)
		if err != nil {
			return c, err
		}
		c.clusters = append(c.clusters, list.Items...)
		if page.After = list.Next; page.After == "" {
			return c, nil
		}
	}
}
