package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	kustomize "github.com/fluxcd/kustomize-controller/embed"
	source "github.com/fluxcd/source-controller/embed"

	artifactconfig "github.com/fluxcd/pkg/artifact/config"
	artifactdigest "github.com/fluxcd/pkg/artifact/digest"
	artifactserver "github.com/fluxcd/pkg/artifact/server"
	artifactstorage "github.com/fluxcd/pkg/artifact/storage"
	runtimeclient "github.com/fluxcd/pkg/runtime/client"
	helper "github.com/fluxcd/pkg/runtime/controller"
	"github.com/fluxcd/pkg/runtime/features"
	"github.com/fluxcd/pkg/runtime/leaderelection"
	"github.com/fluxcd/pkg/runtime/logger"
	"github.com/fluxcd/pkg/runtime/metrics"
	"github.com/fluxcd/pkg/runtime/probes"
	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// The controllers that can run alone, by the names that their pods have.
const (
	sourceController    = "source-controller"
	kustomizeController = "kustomize-controller"
)

// alone is one controller in a pod. Its flags are those that upstream's
// deployments pass, and those of upstream's main for how soon things are done,
// with the same defaults.
type alone struct {
	name string

	metricsAddr string
	healthAddr  string
	eventsAddr  string
	concurrent  int
	dependency  time.Duration
	artifacts   artifactconfig.Options
	client      runtimeclient.Options
	log         logger.Options
	election    leaderelection.Options
	retry       helper.RateLimiterOptions
	gates       features.FeatureGates
	watch       helper.WatchOptions
}

// controllerAlone returns the controller of that name.
func controllerAlone(name string) (*alone, bool) {
	switch name {
	case sourceController, kustomizeController:
		return &alone{name: name}, true
	}
	return nil, false
}

func (a *alone) flags() *pflag.FlagSet {
	fs := pflag.NewFlagSet(a.name, pflag.ExitOnError)
	concurrent := map[string]int{sourceController: 2, kustomizeController: 4}
	fs.StringVar(&a.metricsAddr, "metrics-addr", ":8080", "`address` of the metrics")
	fs.StringVar(&a.healthAddr, "health-addr", ":9440", "`address` of /healthz and /readyz")
	fs.StringVar(&a.eventsAddr, "events-addr", "", "`address` of the events' receiver")
	fs.IntVar(&a.concurrent, "concurrent", concurrent[a.name], "reconciles at one time")
	fs.DurationVar(&a.dependency, "requeue-dependency", 30*time.Second, "how soon an object is looked at again that waits for another")
	a.client.BindFlags(fs)
	a.log.BindFlags(fs)
	a.election.BindFlags(fs)
	a.retry.BindFlags(fs)
	a.gates.BindFlags(fs)
	a.watch.BindFlags(fs)
	if a.name == sourceController {
		a.artifacts.BindFlags(fs)
	}
	return fs
}

func (a *alone) run(ctx context.Context) error {
	mgr, err := a.newManager()
	if err != nil {
		return err
	}
	probes.SetupChecks(mgr, ctrl.Log)
	recorder := metrics.MustMakeRecorder()
	if a.name == kustomizeController {
		err = a.setUpKustomize(ctx, mgr, recorder)
	} else {
		err = a.setUpSource(mgr, recorder)
	}
	if err != nil {
		return fmt.Errorf("set up %s: %w", a.name, err)
	}
	return mgr.Start(ctx)
}

func (a *alone) setUpKustomize(ctx context.Context, mgr ctrl.Manager, recorder *metrics.Recorder) error {
	if err := kustomize.PurgeTempDirs(ctx); err != nil {
		return err
	}
	return kustomize.SetUp(ctx, mgr, recorder, kustomize.Options{
		EventsAddr: a.eventsAddr, Gates: a.gates, Retry: a.retry, DependencyRetry: a.dependency,
		WatchConfigs: a.watch.ConfigsLabelSelector,
	})
}

func (a *alone) setUpSource(mgr ctrl.Manager, recorder *metrics.Recorder) error {
	algorithm, err := artifactdigest.AlgorithmForName(a.artifacts.ArtifactDigestAlgo)
	if err != nil {
		return err
	}
	artifactdigest.Canonical = algorithm
	storage, err := artifactstorage.New(&a.artifacts)
	if err != nil {
		return fmt.Errorf("artifact storage: %w", err)
	}
	// as a runnable it starts with the election, as upstream's does
	if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		if err := artifactserver.Start(ctx, &a.artifacts); err != nil {
			return fmt.Errorf("artifact server: %w", err)
		}
		return nil
	})); err != nil {
		return err
	}
	return source.SetUp(mgr, storage, recorder, source.Options{
		EventsAddr: a.eventsAddr, Gates: a.gates, Retry: a.retry, DependencyRetry: a.dependency,
	})
}

func (a *alone) newManager() (ctrl.Manager, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	selector, err := helper.GetWatchSelector(a.watch)
	if err != nil {
		return nil, err
	}
	election := a.name + "-leader-election"
	if a.watch.LabelSelector != "" {
		election = leaderelection.GenerateID(election, a.watch.LabelSelector)
	}
	recoverPanic := true
	o := ctrl.Options{
		Scheme:                        scheme,
		Logger:                        ctrl.Log,
		HealthProbeBindAddress:        a.healthAddr,
		Metrics:                       metricsserver.Options{BindAddress: a.metricsAddr},
		LeaderElection:                a.election.Enable,
		LeaderElectionID:              election,
		LeaderElectionReleaseOnCancel: a.election.ReleaseOnCancel,
		LeaseDuration:                 &a.election.LeaseDuration,
		RenewDeadline:                 &a.election.RenewDeadline,
		RetryPeriod:                   &a.election.RetryPeriod,
		Controller:                    config.Controller{MaxConcurrentReconciles: a.concurrent, RecoverPanic: &recoverPanic},
		Cache:                         cache.Options{ByObject: selected(a.name, selector)},
		Client:                        clientOptions(),
	}
	if !a.watch.AllNamespaces {
		namespace := os.Getenv(helper.EnvRuntimeNamespace)
		if namespace == "" {
			return nil, errors.New("--watch-all-namespaces=false needs the pod's namespace in " + helper.EnvRuntimeNamespace)
		}
		o.Cache.DefaultNamespaces = map[string]cache.Config{namespace: {}}
	}
	return ctrl.NewManager(runtimeclient.GetConfigOrDie(a.client), o)
}
