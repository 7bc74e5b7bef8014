// Package hub runs the hub: the pages, the API and the history of what runs where.
//
// It is one process beside the scheduler. Package collect reads git, the clusters, the
// scheduler and the forge, and writes what changes to the database of package store; package
// api serves that over HTTP, with the pages of package web. Git says what is desired and
// the clusters what is actual: the database is a cache of both, and the history of what was
// observed.
package hub

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/errgroup"

	"github.com/kalypso-dev/kalypso/hub/api"
	"github.com/kalypso-dev/kalypso/hub/auth"
	"github.com/kalypso-dev/kalypso/hub/collect"
	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/hub/telemetry"
	"github.com/kalypso-dev/kalypso/hub/web"
	"github.com/kalypso-dev/kalypso/internal/httpserver"
	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/controller"
)

const (
	// memoryLimit is where the garbage collector begins to work for memory instead of
	// time, in bytes.
	memoryLimit = 512 << 20
	// gcPercent has the garbage collector run when the heap has grown by half: a hub does little,
	// and what it has thrown away is most of its memory.
	gcPercent = 50
	// webhookPath is where the forge's webhooks go.
	webhookPath = "/hooks/forge"
)

// Options are what Run needs besides the configuration.
type Options struct {
	Config  Config
	Sandbox api.Sandbox // nil outside of one
	// Workshop is the scenarios of the sandbox; nil outside of one.
	Workshop api.Workshop
	Share    *Share            // nil for none
	Version  string            // the program's, in traces
	Links    map[string]string // pages of others, by name, besides that of the forge
	Log      *slog.Logger
}

// Share is a second address of the hub, for those on a network who have its link: they may
// look, and see the workshop. They reach neither the sandbox nor anybody's account.
type Share struct {
	Address     string // host:port; the host is one address of this machine
	Certificate TLSConfig
	Token       string // in the link
}

// Run runs a hub until ctx ends. It returns nil when it stopped because ctx ended.
func Run(ctx context.Context, o Options) (err error) {
	log := redact.Logger(o.Log)
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	s, err := o.Config.OpenStore(ctx)
	if err != nil {
		return fmt.Errorf("hub: %w", err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := o.Config.reachable(ctx, s); err != nil {
		return err
	}
	signIn, err := o.Config.ways()
	if err != nil {
		return fmt.Errorf("hub: %w", err)
	}
	clusterTokens, reporting, err := o.Config.agents()
	if err != nil {
		return fmt.Errorf("hub: %w", err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(s, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	collector, err := collect.New(collect.Options{
		Store: s, Scheduler: o.Config.scheduler, SchedulerURL: o.Config.Scheduler.URL, Fleet: o.Config.fleet(s, clusterTokens), Chain: o.Config.Chain, Mirrors: o.Config.Mirrors,
		Poll: o.Config.Poll, Retention: store.Retention{Events: time.Duration(o.Config.Retention.Events), Audit: time.Duration(o.Config.Retention.Audit)},
		Log: log, Registry: registry,
	})
	if err != nil {
		return fmt.Errorf("hub: %w", err)
	}
	forge := o.Config.scheduler.Forge
	links := map[string]string{"forge": forge.Address(), "forgeFiles": forge.Files()}
	for name, url := range o.Links {
		links[name] = url
	}
	served := api.Options{
		Store: s, Model: collector, Sandbox: o.Sandbox, Workshop: o.Workshop, Hosts: o.Config.hosts(), Secure: o.Config.TLS != nil || o.Config.BehindProxy, BehindProxy: o.Config.BehindProxy,
		SignIn: signIn, ClusterTokens: clusterTokens, Web: web.Handler(), Links: links, Log: log, Registry: registry,
		Proposals: &api.Proposals{
			Platform: collector, Forge: collector.Forge(), Repositories: collector.Repositories, Key: collector.Key(), UserForge: auth.UserForge,
			Connect: func(token, login string) (controller.Repositories, error) {
				return o.Config.scheduler.ConnectAs(token, login, log)
			},
		},
	}
	if reporting {
		served.Reported = func() { collector.Wake(agentsPart) }
	}
	handler, err := api.New(served)
	if err != nil {
		return fmt.Errorf("hub: %w", err)
	}
	traces, err := telemetry.New(telemetry.Options{Store: s, ClusterSpans: o.Config.Traces.ClusterSpans, Version: o.Version, Log: log, Registry: registry}, os.Getenv)
	if err != nil {
		return fmt.Errorf("hub: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("POST "+webhookPath, collector.Webhook())
	mux.Handle(collect.HooksPath, collector.Events()) // with all methods: its paths have secrets, which the API would audit
	mux.Handle("/", handler)
	group, running := errgroup.WithContext(ctx)
	if err := serve(running, group, o.Config.Listen, mux, (*httpserver.Certificate)(o.Config.TLS), log.With("serves", "pages and API")); err != nil {
		return err
	}
	if o.Share != nil {
		if err := o.Share.serve(running, group, served); err != nil {
			return err
		}
	}
	if o.Config.MetricsListen != "" {
		metrics := http.NewServeMux()
		metrics.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{
			// without the database there is still what the process knows
			ErrorHandling: promhttp.ContinueOnError, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		}))
		if err := serve(running, group, o.Config.MetricsListen, metrics, nil, log.With("serves", "metrics")); err != nil {
			return err
		}
	}
	group.Go(func() error { return collector.Run(running) })
	if traces != nil {
		group.Go(func() error { return traces.Run(running) })
	}
	if err := group.Wait(); ctx.Err() == nil {
		return err
	}
	return nil
}

// serve serves the shared pages. An address that is not this machine's any more, as after a
// change of networks, ends the share and not the hub.
func (s *Share) serve(ctx context.Context, group *errgroup.Group, o api.Options) error {
	if s.Certificate.CertFile == "" || s.Certificate.KeyFile == "" || s.Token == "" {
		return fmt.Errorf("hub: the share at %s needs a certificate and a token: others reach it", s.Address)
	}
	o.Share, o.Hosts, o.Secure = &api.Share{Token: s.Token}, []string{s.Address}, true
	// the sandbox's own servers are out of reach there, and the metrics have what the hub's users do
	o.Sandbox, o.Links, o.Registry = nil, nil, nil
	o.Proposals, o.SignIn, o.ClusterTokens, o.Reported, o.BehindProxy = nil, nil, nil, nil, false
	handler, err := api.New(o)
	if err != nil {
		return fmt.Errorf("hub: %w", err)
	}
	log := o.Log.With("serves", "the share")
	if err := serve(ctx, group, s.Address, handler, (*httpserver.Certificate)(&s.Certificate), log); err != nil {
		log.Error("the hub is not shared", "address", s.Address, "error", err)
	}
	return nil
}

// serve listens, and serves in the group until ctx ends. What is open then, as a stream of
// events, ends.
func serve(ctx context.Context, group *errgroup.Group, address string, handler http.Handler, certificate *httpserver.Certificate, log *slog.Logger) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("hub: %w", err)
	}
	log.Info("hub listens", "address", listener.Addr().String())
	server := &http.Server{
		// a limit for whole requests would end streams of events
		Handler: handler, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	group.Go(func() error {
		if err := httpserver.Run(ctx, server, listener, certificate); err != nil {
			return fmt.Errorf("hub: %w", err)
		}
		return nil
	})
	return nil
}
