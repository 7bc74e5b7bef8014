// Command flux is Flux's source-controller and kustomize-controller in one
// process: the upstream reconcilers of GitRepository and Kustomization on one
// manager, one cache and one connection to the API server.
//
// It runs outside the cluster, so what a pod would get from its environment
// comes from flags. The artifact address is written into objects' status and
// must therefore stay the same across restarts, and so must the token of the
// artifacts, in $KALYPSO_ARTIFACT_TOKEN. Events are posted to $KALYPSO_EVENTS_ADDR,
// which holds a secret.
//
//	flux source-controller [flag ...]
//	flux kustomize-controller [flag ...]
//
// is one of them alone, as upstream has them: in a pod, with the flags that
// upstream's deployments pass.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	kustomize "github.com/fluxcd/kustomize-controller/embed"
	source "github.com/fluxcd/source-controller/embed"

	artifactconfig "github.com/fluxcd/pkg/artifact/config"
	artifactstorage "github.com/fluxcd/pkg/artifact/storage"
	helper "github.com/fluxcd/pkg/runtime/controller"
	"github.com/fluxcd/pkg/runtime/logger"
	"github.com/fluxcd/pkg/runtime/metrics"
	"github.com/fluxcd/pkg/runtime/probes"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// shutdownLimit is shorter than upstream's: everything is on this machine, and
// a supervisor waits for the process.
const shutdownLimit = 5 * time.Second

// Retries start soon and stay frequent: the forge and the cluster are on the
// same machine, and a user is waiting.
var retry = helper.RateLimiterOptions{MinRetryDelay: 250 * time.Millisecond, MaxRetryDelay: 30 * time.Second}

const dependencyRetry = 2 * time.Second

type options struct {
	kubeconfig  string
	storagePath string
	storageAddr string
	healthAddr  string
	concurrent  int
	logLevel    string
}

func main() {
	if len(os.Args) > 1 {
		if a, ok := controllerAlone(os.Args[1]); ok {
			_ = a.flags().Parse(os.Args[2:])
			logger.SetLogger(logger.NewLogger(a.log))
			end(a.run(ctrl.SetupSignalHandler()))
			return
		}
	}
	var o options
	// controller-runtime registers --kubeconfig on the global flag set, so this has its own
	fs := flag.NewFlagSet("flux", flag.ExitOnError)
	fs.StringVar(&o.kubeconfig, "kubeconfig", os.Getenv("KUBECONFIG"), "kubeconfig `file` of the cluster")
	fs.StringVar(&o.storagePath, "storage-path", "", "`folder` of the artifacts; a folder beside it is used for temporary files")
	fs.StringVar(&o.storageAddr, "storage-addr", "", "`host:port` of the artifact server; keep it the same across restarts")
	fs.StringVar(&o.healthAddr, "health-addr", "", "`host:port` of /healthz and /readyz; none when empty")
	fs.IntVar(&o.concurrent, "concurrent", 8, "reconciles at one time, per controller")
	fs.StringVar(&o.logLevel, "log-level", "info", "debug, info or error")
	_ = fs.Parse(os.Args[1:])

	logger.SetLogger(logger.NewLogger(logger.Options{LogEncoding: "json", LogLevel: o.logLevel}))
	end(run(ctrl.SetupSignalHandler(), o))
}

func end(err error) {
	if err != nil {
		ctrl.Log.Error(err, "flux ended")
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	storage, serve, err := setUpStorage(o)
	if err != nil {
		return err
	}
	mgr, err := newManager(o)
	if err != nil {
		return err
	}
	probes.SetupChecks(mgr, ctrl.Log)
	recorder, events := metrics.MustMakeRecorder(), os.Getenv("KALYPSO_EVENTS_ADDR")
	if err := source.SetUp(mgr, storage, recorder, source.Options{EventsAddr: events, EventsOnce: true, Retry: retry, DependencyRetry: dependencyRetry}); err != nil {
		return fmt.Errorf("set up source-controller: %w", err)
	}
	// a health check in progress never keeps a fix from what it fixes
	err = kustomize.SetUp(ctx, mgr, recorder, kustomize.Options{EventsAddr: events, EventsOnce: true, Retry: retry, DependencyRetry: dependencyRetry, CancelHealthChecks: true})
	if err != nil {
		return fmt.Errorf("set up kustomize-controller: %w", err)
	}
	if err := mgr.Add(manager.RunnableFunc(serve)); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// setUpStorage makes the folders and returns the store of artifacts with the
// function that serves it.
func setUpStorage(o options) (*artifactstorage.Storage, func(context.Context) error, error) {
	if o.storagePath == "" || o.storageAddr == "" {
		return nil, nil, errors.New("--storage-path and --storage-addr are required")
	}
	if _, port, err := net.SplitHostPort(o.storageAddr); err != nil {
		return nil, nil, fmt.Errorf("--storage-addr: %w", err)
	} else if port == "0" {
		return nil, nil, errors.New("--storage-addr: the port must be fixed, it is kept in the status of objects")
	}
	path, err := filepath.Abs(o.storagePath)
	if err != nil {
		return nil, nil, err
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, nil, err
	}
	// Working copies left by a killed process would pile up in the machine's
	// temporary folder; in one of our own they can go without harm to others.
	tmp := path + ".tmp"
	if err := os.RemoveAll(tmp); err != nil {
		return nil, nil, err
	}
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		return nil, nil, err
	}
	if err := os.Setenv("TMPDIR", tmp); err != nil {
		return nil, nil, err
	}
	server, err := newArtifactServer(path, o.storageAddr)
	if err != nil {
		return nil, nil, err
	}
	opts := &artifactconfig.Options{
		StoragePath:              path,
		StorageAddress:           o.storageAddr,
		StorageAdvAddress:        server.advertised(),
		ArtifactRetentionTTL:     time.Minute,
		ArtifactRetentionRecords: 2,
		ArtifactDigestAlgo:       "sha256",
	}
	storage, err := artifactstorage.New(opts)
	if err != nil {
		return nil, nil, fmt.Errorf("artifact storage: %w", err)
	}
	return storage, server.serve, nil
}

func newManager(o options) (ctrl.Manager, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return nil, err
	}
	// the API server is on this machine and serves nobody else
	cfg.QPS = -1
	health := o.healthAddr
	if health == "" {
		health = "0"
	}
	limit, recoverPanic := shutdownLimit, true
	return ctrl.NewManager(cfg, ctrl.Options{
		Scheme:                  scheme,
		Logger:                  ctrl.Log,
		HealthProbeBindAddress:  health,
		Metrics:                 metricsserver.Options{BindAddress: "0"},
		GracefulShutdownTimeout: &limit,
		Controller:              config.Controller{MaxConcurrentReconciles: o.concurrent, RecoverPanic: &recoverPanic},
		Client:                  clientOptions(),
	})
}
